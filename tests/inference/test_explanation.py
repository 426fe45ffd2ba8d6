"""Leave-one-out by the library against leaving a fact out of the data by hand."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World
from targcn import Dataset, InputError, Run, explain, fit, open_dataset, predict
from targcn.facts.dataset import OPEN, Facts
from targcn.inference.explanation import (
    DatedFact,
    Explanation,
    Reason,
    ScorePart,
    describe_reason,
    in_words,
    lanes_of,
    name_reasons,
    plot,
)
from targcn.models.reasons import Reasons
from targcn.output.plots import Lane


@pytest.fixture(scope="module")
def small() -> Dataset:
    import polars as pl

    rows = [
        (f"person {i % 9}", ("meets", "calls")[i % 2], f"person {i * 5 % 9}", 2000 + i * 7 % 11)
        for i in range(120)
    ]
    return open_dataset(
        pl.DataFrame(rows, schema=["subject", "relation", "object", "year"], orient="row")
    )


@pytest.fixture(scope="module")
def run(small: Dataset) -> Run:
    return fit(small, "targcn", dim=8, epochs=2, batch_size=32, neighbors=50, window=0)


def without(run: Run, *fact: str) -> Run:
    """The run with this fact taken out of its train split."""
    data = run.dataset
    subject, relation, object, time = fact
    ids = [
        data.entities.id_of(subject),
        data.relations.id_of(relation),
        data.entities.id_of(object),
        data.timeline.tick(time),
    ]
    kept = (ids != data.train.columns.T).any(1)
    assert kept.sum() == len(data.train) - 1
    splits = dict(data.splits) | {"train": data.train.where(kept)}
    return replace(run, dataset=replace(data, splits=splits))


def chance(run: Run, answer: str, time: int = 2005) -> float:
    answers = predict(run, "person 1", "meets", None, time, top=99, context="train")
    return float(answers.filter(answers["answer"] == answer)["probability"].item())


def test_probability_is_the_one_that_predict_gives(run: Run) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train")
    assert found.probability == pytest.approx(chance(run, "person 2"), abs=1e-6)


def test_effects_equal_removing_the_fact_from_the_data(run: Run) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train", top=99)
    assert found.num_pieces == len(found.reasons) > 5
    assert found.probability is not None
    for reason in found.reasons[:4]:
        expected = found.probability - chance(without(run, *name_of(reason)), "person 2")
        assert reason.effect == pytest.approx(expected, abs=1e-6)


def name_of(reason: Reason) -> tuple[str, str, str, str]:
    [fact] = reason.facts
    assert (reason.kind, reason.weight, reason.share) == ("fact", None, None)
    return fact.subject, fact.relation, fact.object, fact.when


def test_strongest_first_and_dates_fit_the_distance(run: Run) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train", top=5)
    sizes = [abs(reason.effect) for reason in found.reasons]
    assert sizes == sorted(sizes, reverse=True)
    facts = [fact for reason in found.reasons for fact in reason.facts]
    assert all(int(str(fact.time)) == 2005 + int(str(fact.delta)) for fact in facts)


def test_intervals_are_told_as_such() -> None:
    """Models know their moments nearest to the question's time; what a fact says is looked up."""
    facts = [
        (0, 0, 1, 2, 5),
        (0, 0, 1, 3, 4),
        (2, 0, 1, OPEN, 3),
        (0, 0, 2, 8, OPEN),
        (1, 0, 2, 6, 6),
    ]
    world = World(3, 1, facts, cuts=(4, 4))
    moments = torch.tensor([[0, 0, 1, 5], [2, 0, 1, 3], [0, 0, 2, 8], [1, 0, 2, 6], [2, 0, 2, 6]])
    subjects, relations, objects, times = (column[:, None] for column in moments.T)
    effects = torch.arange(5, 0, -1).double()
    reasons = Reasons(subjects, relations, objects, times, effects, torch.zeros(3))
    told = [describe_reason(one, "day") for one in name_reasons(reasons, world.dataset, 6, 5)]
    assert told == [
        "e0 — r0 — e1, 1970-01-03 – 1970-01-06 (ended 1 day before)",
        "e2 — r0 — e1, until 1970-01-04 (ended 3 days before)",
        "e0 — r0 — e2, since 1970-01-09 (begins 2 days after)",
        "e1 — r0 — e2, 1970-01-07 (at that time)",
        # Of a what-if question, which no split knows.
        "e2 — r0 — e2, 1970-01-07 (at that time)",
    ]
    reasons = replace(reasons[:1], times=torch.tensor([[4]]))
    [holding] = name_reasons(reasons, world.dataset, 4, 1, "train")
    assert describe_reason(holding, "day").endswith("e1, 1970-01-03 – 1970-01-06 (holds)")
    assert describe_reason(holding) == "e0 — r0 — e1, 1970-01-03 – 1970-01-06"


@pytest.mark.parametrize("model", ["evidence", "targcn"])
def test_the_reasons_of_a_run_on_intervals_are_facts_of_its_context(model: str) -> None:
    facts = [(n % 6, n % 2, n * n % 5, n % 9, n % 9 + n % 4) for n in range(60)]
    world = World(6, 2, facts, cuts=(50, 55))
    trained = fit(world.dataset, model, dim=4, epochs=1, device="cpu")
    known = {
        (f"e{s}", f"r{r}", f"e{o}", world.dataset.timeline.label_interval(first, last))
        for s, r, o, first, last in world.train
    }
    found = explain(trained, "e1", "r1", "e1", "1970-01-05", context="train", top=99)
    dated = [fact for reason in found.reasons for fact in reason.facts if fact.when is not None]
    assert dated
    assert {(one.subject, one.relation, one.object, one.when) for one in dated} <= known


def test_sentences_say_what_when_and_how_much(run: Run) -> None:
    lines = in_words(explain(run, "person 1", "meets", "person 2", 2005, top=2))
    assert lines[0].startswith("person 1 — meets — person 2, 2005: probability 0.")
    assert lines[1][0] in "+-"
    assert any(word in lines[1] for word in ("before", "after", "at that time"))


def explanation(**changes: Any) -> Explanation:
    found = Explanation(
        subject="a",
        relation="meets",
        object="c",
        time="2005",
        tick=35,
        asked="object",
        context="train",
        unit="year",
        score=-1.5,
        probability=0.5,
        rank=3.0,
        fact_was_hidden=False,
        num_pieces=1,
        reasons=(),
    )
    return replace(found, **changes)


# --- parts that add up ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def summed(small: Dataset) -> Run:
    return fit(small, "evidence", dim=4, prior_dim=4, epochs=2, batch_size=32, device="cpu")


@pytest.mark.parametrize("top", [1, 3, 999])
@pytest.mark.parametrize("asked", ["object", "subject"])
def test_all_parts_of_a_score_add_up_to_it(summed: Run, asked: Any, top: int) -> None:
    found = explain(summed, "person 1", "meets", "person 2", 2005, asked=asked, top=top)
    assert found.measure == "part of score"
    assert len(found.reasons) == min(top, found.num_pieces) > 0
    parts = [*found.reasons, *found.others]
    assert sum(part.effect for part in parts) == pytest.approx(found.score, abs=1e-5)
    assert sum(part.share or 0.0 for part in parts) == pytest.approx(1)
    weight = sum(part.weight or 0.0 for part in parts)
    evidence = sum(part.effect for part in parts if part.share is not None)
    assert evidence == pytest.approx(math.log1p(weight))


def each_kind() -> Explanation:
    last_year = DatedFact("a", "meets", "b", "2004", 34, -1, "2004")
    then = DatedFact("b", "calls", "c", "2005", 35, 0, "2005")
    reasons = (
        Reason((last_year,), 2.0, 14.32, 0.5),
        Reason((last_year, then), 1.0, 7.0, 0.25),
    )
    others = (ScorePart("2 more pieces of evidence", 1.0, 12345.6, 0.25), ScorePart("prior", -0.25))
    changes: dict[str, Any] = {"num_pieces": 4, "measure": "part of score", "others": others}
    return explanation(reasons=reasons, score=3.75, **changes)


def test_each_kind_of_evidence_in_words() -> None:
    assert in_words(each_kind())[2:] == [
        " +2.0000   50.0 %        × 14.3  fact  a — meets — b, 2004 (1 year before)",
        " +1.0000   25.0 %           × 7  path  a — meets — b, 2004 (1 year before), "
        "then b — calls — c, 2005 (at that time)",
        " +1.0000   25.0 %      × 12,346  2 more pieces of evidence",
        " -0.2500  prior",
    ]


@pytest.mark.parametrize("asked", ["object", "subject"])
@pytest.mark.parametrize("kind", ["run", "summed", "flowing"])
def test_the_explained_fact_is_hidden(
    small: Dataset, kind: str, asked: Any, request: pytest.FixtureRequest
) -> None:
    run, fact = request.getfixturevalue(kind), small.named("train", 0)
    hidden = explain(run, *fact, context="train", asked=asked, top=999)
    removed = explain(without(run, *fact), *fact, context="train", asked=asked, top=999)
    assert hidden == replace(
        removed,
        fact_was_hidden=True,
        score=pytest.approx(removed.score, abs=1e-5),
        probability=pytest.approx(removed.probability, abs=1e-6),
        reasons=hidden.reasons,
        others=hidden.others,
    )
    assert {one.facts for one in hidden.reasons} == {one.facts for one in removed.reasons}
    assert in_words(hidden)[1] == "The fact itself is in the context and was hidden."
    assert "hidden" not in " ".join(in_words(removed))


@pytest.fixture(scope="module")
def flowing(small: Dataset) -> Run:
    sizes = {"dim": 4, "heads": 2, "core_nodes": 4, "node_edges": 6, "subgraph_edges": 6}
    return fit(small, "t-gap", epochs=1, batch_size=32, device="cpu", **sizes)


@pytest.mark.parametrize("top", [2, 99_999])
@pytest.mark.parametrize("asked", ["object", "subject"])
def test_all_parts_of_a_probability_add_up_to_it(flowing: Run, asked: Any, top: int) -> None:
    found = explain(flowing, "person 1", "meets", "person 2", 2005, asked=asked, top=top)
    assert found.measure == "part of probability"
    parts = [*found.reasons, *found.others]
    assert sum(part.effect for part in parts) == pytest.approx(found.probability, abs=1e-6)
    assert sum(part.share or 0.0 for part in parts) == pytest.approx(1)
    assert {len(reason.facts) for reason in found.reasons} <= {1, 2, 3}
    first, total, strongest, *_ = in_words(found)
    assert first.endswith(f"from {found.num_pieces:,} paths of the context all")
    assert total.startswith("Its probability is the sum of these")
    assert f"{100 * found.reasons[0].share:.1f} %" in strongest
    if top == 2:
        assert in_words(found)[-1].endswith(f"{found.num_pieces - 2:,} more paths")


def test_an_answer_that_no_path_leads_to_says_so(small: Dataset, flowing: Run) -> None:
    nothing = dict(small.splits) | {"train": Facts(small.train.columns[:, :0])}
    empty = replace(flowing, dataset=replace(small, splits=nothing))
    found = explain(empty, "person 1", "meets", "person 2", 2005, context="train")
    assert (found.num_pieces, found.reasons, found.others) == (0, (), ())
    assert in_words(found)[1:] == [
        "Nothing in the context speaks for this answer; no path of the flow leads to it."
    ]


# --- plots ----------------------------------------------------------------------------------


def test_plot_writes_a_picture(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "reasons.png"
    plot(explain(run, "person 1", "meets", "person 2", 2005), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_lane_for_every_reason_and_every_other_part() -> None:
    assert lanes_of(each_kind()) == [
        Lane("a — meets — b", [-1], 2.0),
        Lane("a — meets — b\nb — calls — c", [-1, 0], 1.0),
        Lane("2 more pieces of evidence", (), 1.0),
        Lane("prior", (), -0.25),
    ]


def test_a_picture_of_no_known_kind_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"reasons\.txt should end in \.png, \.svg or \.pdf"):
        plot(explain(run, "person 1", "meets", "person 2", 2005), tmp_path / "reasons.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is 0; at least 1 was"),
        ({"top": -1}, "top is -1; at least 1 was"),
        ({"asked": "Subject"}, "asked 'Subject' is unknown; choose one of object, subject"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    run: Run, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        explain(run, "person 1", "meets", "person 2", 2005, **options)


def test_an_explanation_shows_its_reasons() -> None:
    fact = DatedFact("Ann <b>", "meets", "Bob", "1970-01-01", 0, -4, "1970-01-01")
    shown = explanation(
        unit="day",
        reasons=(Reason((fact,), 0.25),),
        measure="part of score",
        others=(ScorePart("prior", 1.75),),
    )
    title, labels, reason, prior = repr(shown).splitlines()
    assert title == in_words(shown)[0]
    assert labels == "part of score  reason"
    assert reason == "+0.2500        Ann <b> — meets — Bob, 1970-01-01 (4 days before)"
    assert prior == "+1.7500        prior"
    assert "<td>Ann &lt;b&gt; — meets — Bob, " in shown._repr_html_()
