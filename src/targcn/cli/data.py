"""`targcn data`: list, describe, prepare and derive data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import App

from targcn.cli.common import AsJson, HowToRead, open_source
from targcn.config import require_seed
from targcn.facts.reading import Reading
from targcn.terminal import shape_of, show, show_json, table_of

if TYPE_CHECKING:
    from targcn.facts.dataset import Dataset

data = App(name="data", help="List, describe, prepare and derive data sets.")


@data.command(name="list")
def list_data() -> None:
    """Show the named data sets: size, terms, and whether they are here or how to get them."""
    from targcn.facts.catalog import CATALOG, find_local
    from targcn.facts.opening import EMBEDDED

    table = table_of("name", "train / valid / test", "entities", "relations", "times", "where")
    embedded = open_source(EMBEDDED, Reading())
    table.add_row(*shape_of(embedded), "embedded")
    for named in CATALOG.values():
        facts = " / ".join(f"{count:,}" for count in named.num_facts)
        counts = (named.num_entities, named.num_relations, named.num_times)
        place = "here" if find_local(named.name) else "downloaded on first use"
        table.add_row(named.name, facts, *(f"{count:,}" for count in counts), place)
    show(table)
    show(
        f"{EMBEDDED}: the US Congress since 1945, from the CC0 data of congress-legislators\n"
        + "\n".join(f"{one.name}: {one.summary}; {one.licence}" for one in CATALOG.values())
        + "\nA set in a folder named by TARGCN_DATA comes first, then TARGCN_CACHE, then the web."
    )


@data.command(name="info")
def describe_data(
    source: str = "congress", *, read: HowToRead | None = None, json: AsJson = False
) -> None:
    """Describe a data set.

    Parameters
    ----------
    source
        A name (see `data list`), a folder, or a file.
    """
    dataset = open_source(source, read)
    description = _describe(dataset)
    if json:
        show_json(description)
        return
    time = description["time"]
    table = table_of("name", "train / valid / test", "entities", "relations", "times", "by")
    table.add_row(*shape_of(dataset), time["unit"])
    show(table)
    show(
        f"from {time['first']} to {time['last']}; {description['num_unseen']:,} test facts name an "
        "entity that train does not"
    )
    for note in dataset.notes:
        show(f"note: {note}")
    common = table_of("most common relations", "facts", "for example")
    for relation in description["relations"][:8]:
        example = relation["example"]
        common.add_row(
            relation["name"],
            f"{relation['num_facts']:,}",
            f"{example[0]} — {example[2]}, {example[3]}",
        )
    show(common)


@data.command(name="prepare")
def prepare_data(source: str, *, out: Path, read: HowToRead | None = None) -> None:
    """Parse a data set once; every later command reads the folder without parsing.

    Parameters
    ----------
    source
        A name, a folder, or a file.
    out
        The folder to write; it must not exist.
    """
    from time import perf_counter

    from targcn.files import require_absent

    require_absent(out)
    start = perf_counter()
    dataset = open_source(source, read)
    dataset.save(out)
    seconds = perf_counter() - start
    num_facts = sum(len(facts) for facts in dataset.splits.values())
    show(
        f"{out}: {num_facts:,} facts, {len(dataset.entities):,} entities, "
        f"{len(dataset.relations):,} relations, {len(dataset.timeline.ticks):,} times by "
        f"{dataset.timeline.unit} ({seconds:.1f} s, {num_facts / seconds:,.0f} facts/s)"
    )
    for note in dataset.notes:
        show(f"note: {note}")


@data.command(name="derive")
def derive_data(
    kind: Literal["unseen", "irregular"],
    source: str,
    *,
    out: Path,
    seed: int = 0,
    read: HowToRead | None = None,
) -> None:
    """Make a harder data set of a given one, as the paper does of ICEWS14.

    Parameters
    ----------
    kind
        unseen: ask about times that training has no facts of; irregular: keep times 1 to 4 apart.
    source
        A name, a folder, or a file.
    out
        The folder to write; it must not exist.
    seed
        Seed of what is drawn.
    """
    from targcn.facts.derive import DERIVED
    from targcn.files import require_absent

    require_seed(seed)
    require_absent(out)
    derived = DERIVED[kind](open_source(source, read), seed)
    derived.save(out)
    table = table_of("name", "train / valid / test", "entities", "relations", "times")
    table.add_row(*shape_of(derived))
    show(table)
    show(f"{out}: {derived.notes[0]}")


def _describe(dataset: "Dataset") -> dict[str, Any]:
    import numpy as np

    train, test = dataset.train, dataset.test
    seen = np.zeros(len(dataset.entities), dtype=bool)
    seen[train.subjects] = seen[train.objects] = True
    counts = np.bincount(train.relations, minlength=len(dataset.relations))
    first_fact = dict(zip(train.relations[::-1].tolist(), range(len(train))[::-1], strict=True))
    timeline = dataset.timeline
    return {
        "name": dataset.name,
        "num_facts": {split: len(facts) for split, facts in dataset.splits.items()},
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
        "time": {
            "unit": timeline.unit,
            "first": timeline.first,
            "last": timeline.last,
            "num_times": len(timeline.ticks),
        },
        "num_unseen": int((~seen[test.subjects] | ~seen[test.objects]).sum()),
        "notes": list(dataset.notes),
        "relations": [
            {
                "name": dataset.relations.names[relation],
                "num_facts": int(counts[relation]),
                "example": dataset.named("train", first_fact[relation]),
            }
            for relation in np.argsort(-counts, kind="stable").tolist()
            if counts[relation]
        ],
    }
