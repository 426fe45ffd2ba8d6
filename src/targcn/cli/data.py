"""`targcn data`: list, describe, prepare, derive and export data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from targcn.cli import options
from targcn.cli.options import load_folder, open_source, show_table
from targcn.config import require_at_least
from targcn.output.tables import Table
from targcn.output.terminal import show, show_json

if TYPE_CHECKING:
    from targcn.facts.dataset import Dataset, Facts

data = App(name="data", help="List, describe, prepare, derive and export data sets.")

# What is said about facts that hold over intervals.
INTERVALS = (
    "{num_longer:,} of {num_facts:,} facts hold for longer than a {unit}, typically for "
    "{typical_length:g} {unit}s (the median of those with both ends); without start: "
    "{num_without_start:,}; without end: {num_without_end:,}"
)
SIZES = ("name", "train / valid / test", "entities", "relations", "times")


@data.command(name="list")
def list_data() -> None:
    """Show the named data sets: size, terms, and whether they are here or how to get them."""
    from targcn.facts.catalog import CATALOG, EMBEDDED, find_local

    rows = [[*_sizes(open_source(EMBEDDED, None)), "embedded"]]
    for named in CATALOG.values():
        facts = " / ".join(f"{count:,}" for count in named.num_facts)
        counts = (named.num_entities, named.num_relations, named.num_times)
        place = "local" if find_local(named.name) else "downloaded on first use"
        if named.derived_from:
            place = f"made from {named.derived_from}"
        rows.append([named.name, facts, *(f"{count:,}" for count in counts), place])
    show(Table.of_text([*SIZES, "where"], rows))
    show(
        f"{EMBEDDED}: the US Congress since 1945, from the CC0 data of congress-legislators\n"
        + "\n".join(f"{named.name}: {named.summary}; {named.licence}" for named in CATALOG.values())
        + "\nA set in a folder named by TARGCN_DATA comes first, then TARGCN_CACHE, then the web."
    )


@data.command(name="info")
def describe_data(
    source: options.Source = "congress",
    *,
    read: options.HowToRead | None = None,
    json: options.AsJson = False,
) -> None:
    """Describe a data set."""
    dataset = open_source(source, read)
    description = _describe(dataset)
    if json:
        show_json(description)
        return
    time = description["time"]
    show(Table.of_text([*SIZES, "by"], [[*_sizes(dataset), time["unit"]]]))
    show(
        f"from {time['first']} to {time['last']}; {description['num_unseen']:,} test facts name an "
        "entity that train does not"
    )
    if intervals := description["intervals"]:
        show(INTERVALS.format(unit=time["unit"], **intervals))
    for note in dataset.notes:
        show(f"note: {note}")
    common = [
        (known["name"], f"{known['num_facts']:,}", "{0} — {2}, {3}".format(*known["example"]))
        for known in description["relations"][:8]
    ]
    show(Table.of_text(["most common relations", "facts", "for example"], common))


@data.command(name="prepare")
def prepare_data(
    source: options.Source, *, out: options.NewFolder, read: options.HowToRead | None = None
) -> None:
    """Parse a data set once; every later command reads the folder without parsing."""
    from targcn.graph.stored import prepare

    dataset = open_source(source, read)
    prepare(dataset, out)
    show(f"{out}: {dataset.summary}")
    for note in dataset.notes:
        show(f"note: {note}")


@data.command(name="derive")
def derive_data(
    kind: Literal["unseen", "irregular", "forecast", "blocks"],
    source: options.Source,
    *,
    out: options.NewFolder,
    seed: int = 0,
    read: options.HowToRead | None = None,
) -> None:
    """Make a harder data set from a given one: unseen and irregular are the paper's kinds.

    The sets that the paper itself used have names: icews14-unseen and icews14-irregular.

    Args:
        kind: unseen: ask about times without any training fact; irregular: keep times 1 to 4 apart;
            forecast: split all facts 70/15/15 by time; blocks: hide all that a subject has at a
            time, for a tenth of such records each in valid and test.
        seed: Seed of what is chosen at random.
    """
    from targcn.facts.derive import DERIVED

    require_at_least(0, seed=seed)
    derived = DERIVED[kind](open_source(source, read), seed)
    derived.save(out)
    show(Table.of_text(SIZES, [_sizes(derived)]))
    show(f"{out}: {derived.notes[0]}")


@data.command(name="export")
def export_data(
    source: options.Source,
    *,
    out: Annotated[
        options.NewFolder, Parameter(help="The table or the folder to write; it must not exist.")
    ],
    read: options.HowToRead | None = None,
) -> None:
    """Write a data set as tables of names and dates: subject, relation, object, and time.

    Facts that hold over an interval have a start and an end; an empty cell is an open one.

    An --out of .csv, .jsonl or .parquet is one table, any other a folder with one for each split.
    """
    from targcn.facts.export import export_dataset

    dataset = open_source(source, read)
    needed = export_dataset(dataset, out)
    show(f"{out}: {len(dataset.facts):,} facts; read again as they are with {' '.join(needed)}")


def _sizes(dataset: "Dataset") -> list[str]:
    facts = " / ".join(f"{len(facts):,}" for facts in dataset.splits.values())
    counts = (dataset.entities, dataset.relations, dataset.timeline.ticks)
    return [dataset.name, facts, *(f"{len(counted):,}" for counted in counts)]


def _describe(dataset: "Dataset") -> dict[str, Any]:
    import numpy as np

    train, test, timeline = dataset.train, dataset.test, dataset.timeline
    seen = np.zeros(len(dataset.entities), dtype=bool)
    seen[train.subjects] = seen[train.objects] = True
    counted = np.stack(np.unique(train.relations, return_index=True, return_counts=True))
    common = counted[:, np.argsort(-counted[2], stable=True)].T.tolist()
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
        "intervals": _describe_intervals(dataset.facts),
        "num_unseen": int((~seen[test.subjects] | ~seen[test.objects]).sum()),
        "notes": list(dataset.notes),
        "relations": [
            {
                "name": dataset.relations.names[relation],
                "num_facts": count,
                "example": dataset.named("train", first),
            }
            for relation, first, count in common
        ],
    }


def _describe_intervals(facts: "Facts") -> dict[str, Any] | None:
    import numpy as np

    from targcn.facts.dataset import OPEN

    if not facts.has_intervals:
        return None
    first, last = facts.columns[3:]
    lengths = (last - first + 1)[(first != OPEN) & (last > first)]
    return {
        "num_facts": len(facts),
        "num_longer": int((first != last).sum()),
        "num_without_start": int((first == OPEN).sum()),
        "num_without_end": int((last == OPEN).sum()),
        "typical_length": float(np.median(lengths)) if len(lengths) else 0.0,
    }


def list_names(
    source: Annotated[
        str, Parameter(help="A run folder, or a data set: its name, folder or file.")
    ],
    text: str = "",
    /,
    *,
    top: int = 20,
    out: options.NewTable = None,
    read: options.HowToRead | None = None,
    json: options.AsJson = False,
) -> None:
    """List entities and relations, or search them: how many facts each has, the first and the last.

    Case and accents do not matter; a name is found if it holds every word of the
    text. If none does, the most similar names are shown.

    Args:
        text: What to look for; nothing lists the commonest names.
        top: How many names to show.
    """
    require_at_least(1, top=top)
    from targcn.facts.names import find_names, names_table

    is_run = (Path(source) / "run.json").is_file()
    dataset = load_folder(Path(source)).dataset if is_run else open_source(source, read)
    show_table(names_table(find_names(dataset, text), text, top), out, json)
