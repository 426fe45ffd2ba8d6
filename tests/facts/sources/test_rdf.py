"""Quads in dated graphs and annotated triples."""

import bz2

import pytest

from small_tables import ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions

E = "http://example.org/"
FACTS = [(f"{E}{s[:3]}", f"{E}{r}", f"{E}{o[:3]}", t) for s, r, o, t in ROWS]
PREFIXES = (
    f"@prefix e: <{E}> . @prefix d: <http://dates.org/> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)


def quads(graph: str) -> str:
    return "".join(f"<{s}> <{r}> <{o}> <{graph.format(t)}> .\n" for s, r, o, t in FACTS)


def annotated(pattern: str) -> str:
    return PREFIXES + "".join(
        pattern.format(s=f"<{s}>", r=f"<{r}>", o=f"<{o}>", t=t) + "\n" for s, r, o, t in FACTS
    )


@pytest.mark.parametrize(
    "graph",
    [
        "http://example.org/graph/{}",
        "http://example.org/facts#{}",
        "http://example.org/{}/",
        "urn:date:{}",
        "http://example.org/graph/date:{}",
    ],
)
@pytest.mark.parametrize("name", ["x.nq", "x.nq.bz2"])
def test_quads_of_dated_graphs(tmp_path, name, graph):
    content = quads(graph).encode()
    path = write_file(tmp_path, name, bz2.compress(content) if name.endswith("2") else content)
    assert read_table(path).rows() == FACTS


def test_a_graph_may_be_named_after_a_moment(tmp_path):
    path = write_file(tmp_path, "x.nq", quads("urn:graph:{}T08:30:00Z"))
    assert open_dataset(path).timeline.first == "2014-01-01T08:30"


def test_trig(tmp_path):
    graphs = "".join(f"<{E}{t}> {{ <{s}> <{r}> <{o}> }}\n" for s, r, o, t in FACTS)
    assert read_table(write_file(tmp_path, "x.trig", graphs)).rows() == FACTS


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("x.ttl", '{s} {r} {o} {{| e:date "{t}"^^xsd:date |}} .'),
        ("x.ttl", '<< {s} {r} {o} >> e:date "{t}" .'),
        ("x.ttl", '{s} {r} {o} . << {s} {r} {o} >> e:date "{t}" ; e:source "news" .'),
        ("x.nt", '<< {s} {r} {o} >> <http://example.org/year> "{t}" .'),
    ],
)
def test_annotated_triples(tmp_path, name, pattern):
    assert read_table(write_file(tmp_path, name, annotated(pattern))).rows() == FACTS


def test_a_triple_with_two_times_is_two_facts(tmp_path):
    text = annotated('{s} {r} {o} {{| e:date "{t}", "2015-01-01" |}} .')
    rows = read_table(write_file(tmp_path, "x.ttl", text)).rows()
    assert sorted(rows) == sorted(FACTS + [(*row[:3], "2015-01-01") for row in FACTS])


def test_the_property_is_chosen_by_its_last_part_or_its_address(tmp_path):
    text = annotated('{s} {r} {o} {{| e:said "{t}" ; e:end "2099" ; d:end "2098" |}} .')
    path = write_file(tmp_path, "x.ttl", text)
    assert "no column for the time among 'subject', 'relation', 'object', 'graph'" in complaint(
        path
    )
    assert read_table(path, ReadOptions(time="said")).rows() == FACTS
    assert read_table(path, ReadOptions(time=f"{E}said")).rows() == FACTS
    times = read_table(path, ReadOptions(time="http://dates.org/end"))["time"]
    assert times.to_list() == ["2098"] * 3


def test_annotations_may_be_a_start_and_an_end(tmp_path):
    text = annotated('{s} {r} {o} {{| e:startDate "{t}" ; e:endDate "2015-01-01" |}} .')
    text += 'e:Ann e:knows e:Bob {| e:startDate "2014-03-01" |} .'
    rows = read_table(write_file(tmp_path, "x.ttl", text)).rows()
    known = (f"{E}Ann", f"{E}knows", f"{E}Bob", "2014-03-01", None)
    assert sorted(rows) == sorted([*((*fact, "2015-01-01") for fact in FACTS), known])


def test_a_triple_without_a_time_is_no_fact(tmp_path):
    text = annotated('{s} {r} {o} {{| e:date "{t}" |}} .') + 'e:Ann e:name "Ann" .'
    path = write_file(tmp_path, "x.ttl", text)
    assert "x.ttl: the time is missing in row 4" in complaint(path)
    assert read_table(path, ReadOptions(where="time IS NOT NULL")).rows() == FACTS


def test_the_default_graph_has_no_date(tmp_path):
    path = write_file(tmp_path, "x.nq", quads("urn:{}") + f"<{E}a> <{E}b> <{E}c> .")
    assert "x.nq: the time is missing in row 4" in complaint(path)
    assert read_table(path, ReadOptions(where="graph IS NOT NULL")).rows() == FACTS


def test_texts_and_nodes_without_names(tmp_path):
    path = write_file(tmp_path, "x.nq", f'_:a <{E}b> "Zoë"@de <urn:2014> .')
    assert read_table(path).rows() == [("_:a", f"{E}b", "Zoë", "2014")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("bad.nq", f"<{E}a> <{E}b> .\n", "bad.nq cannot be read: Parser error at line 1"),
        ("bad.ttl", "nonsense", "bad.ttl cannot be read: Parser error at line 1"),
        ("bad.nq", b"\xff\xfe", "bad.nq cannot be read: "),
        ("bad.nq", "", "bad.nq has columns but no facts"),
    ],
)
def test_what_is_no_rdf(tmp_path, name, content, expected):
    assert expected in complaint(write_file(tmp_path, name, content))
