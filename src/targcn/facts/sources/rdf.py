"""RDF: quads whose graph is named after a date, and triples annotated with a time (RDF-star).

The columns are subject, relation, object and graph. Annotated triples have one more for each
property that annotates them; if there are none, the time is the last part of the graph's name.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.columns import NAMES, USUAL_NAMES, usual_role
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TableSource, first_line

REIFIES: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
# N-Triples are read as Turtle, which also knows the older << s p o >> as a subject.
FORMATS: Final = {
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    **dict.fromkeys((".ttl", ".ttls", ".nt", ".ntx"), "TURTLE"),
}
# What stands before the date in the name of a graph.
BEFORE_DATE: Final = r"^(?:.*[/#]|[a-zA-Z][a-zA-Z0-9+.-]*:)*"


class Rdf(TableSource):
    title = f"an RDF file ({' '.join(FORMATS)})"
    endings = tuple(FORMATS)
    libraries, extra = ("pyoxigraph",), "rdf"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        import pyoxigraph

        kind = getattr(pyoxigraph.RdfFormat, FORMATS[path.suffix.lower()])
        said: list[tuple[str, ...]] = []
        annotated: list[tuple[str, ...]] = []
        try:
            for quad in pyoxigraph.parse(path=path, format=kind):
                triple, graph = quad.triple, _text(quad.graph_name)
                if quad.predicate.value == REIFIES and isinstance(triple.object, pyoxigraph.Triple):
                    annotated.append((*_texts(triple.object), graph, _text(triple.subject)))
                else:
                    said.append((*_texts(triple), graph))
        except SyntaxError as error:
            raise InputError(f"{path.name} cannot be read: {first_line(error.msg)}") from None
        plain = pl.DataFrame(said, schema=dict.fromkeys((*NAMES, "graph"), pl.String), orient="row")
        named = pl.when(pl.col("graph") != "").then("graph")
        if not annotated:
            date = pl.col("graph").str.strip_chars_end("/#").str.replace(BEFORE_DATE, "")
            return plain.lazy().with_columns(time=pl.when(date != "").then(date), graph=named)
        schema = dict.fromkeys((*NAMES, "graph", "mark"), pl.String)
        marked = pl.DataFrame(annotated, schema=schema, orient="row").unique(maintain_order=True)
        return _join_annotations(plain, marked, options).lazy().with_columns(graph=named)


def _join_annotations(
    plain: pl.DataFrame, marked: pl.DataFrame, options: ReadOptions
) -> pl.DataFrame:
    """Every marked triple with what is said about its mark, then the triples without a mark."""
    others = plain.join(
        marked, left_on="subject", right_on="mark", how="anti", maintain_order="left"
    )
    others = others.join(marked, on=list(NAMES), how="anti", maintain_order="left")
    about = plain.join(marked, left_on="subject", right_on="mark", how="semi")
    facts = marked
    for name, iri in _name_properties(about["relation"].unique().sort(), options).items():
        values = about.filter(pl.col("relation") == iri).select(mark="subject", **{name: "object"})
        facts = facts.join(values, on="mark", how="left", maintain_order="left")
    return pl.concat([facts.drop("mark"), others], how="diagonal")


def _name_properties(iris: Iterable[str], options: ReadOptions) -> dict[str, str]:
    """Each property by the last part of its IRI, or by all of it where that would be unclear."""
    short = {iri: re.split("[/#:]", iri.rstrip("/#"))[-1] for iri in iris}
    count = Counter(short.values())
    given = [getattr(options, role) for role in USUAL_NAMES]
    clear = {
        iri
        for iri, name in short.items()
        if count[name] == 1 and iri not in given and usual_role(name) not in NAMES
    }
    return {name if iri in clear and name != "graph" else iri: iri for iri, name in short.items()}


def _texts(triple: Any) -> tuple[str, str, str]:
    return _text(triple.subject), triple.predicate.value, _text(triple.object)


def _text(term: Any) -> str:
    """The IRI or the text of a term; the default graph has none."""
    kind = type(term).__name__
    if kind == "DefaultGraph":
        return ""
    return str(term) if kind in ("BlankNode", "Triple") else str(term.value)


SOURCES = (Rdf(),)
