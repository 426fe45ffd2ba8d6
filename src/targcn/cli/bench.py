"""`targcn bench`: how fast each part is on this machine, on any data set or a generated one."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter, Token

from targcn.cli.options import AsJson, Context, Device, open_source
from targcn.errors import InputError
from targcn.output.terminal import count_progress, show, show_json

if TYPE_CHECKING:
    from targcn.bench import Result, Shape
    from targcn.facts.dataset import Dataset

bench = App(name="bench", help="Measure how fast each part is here, and in how much memory.")


def _read_count(kind: object, tokens: Sequence[Token]) -> int:
    return _whole_number(tokens[0].value)


def _read_counts(kind: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    return tuple(_whole_number(token.value) for token in tokens)


def _whole_number(written: str) -> int:
    """A whole number, also one written like 1e6."""
    try:
        number = float(written)
        if number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError(
            f"{written!r} is not a whole number; write it like 1000000 or 1e6"
        ) from None
    return int(number)


Count = Annotated[int, Parameter(converter=_read_count)]
Counts = Annotated[
    tuple[int, ...], Parameter(converter=_read_counts, consume_multiple=True, negative="")
]


Source = Annotated[
    str | None,
    Parameter(help="A name, a folder, or a file; congress where nothing is generated."),
]
Plain = Annotated[bool, Parameter(help="Time a plain version beside it, if there is one.")]
Out = Annotated[Path | None, Parameter(help="Write the figures as JSON into this file too.")]


@dataclass(frozen=True)
class Generated:
    """The shape of a generated data set; what is left out keeps the default of bench.Shape."""

    facts: Count | None = None
    """Number of facts to generate (100,000)."""

    entities: Count | None = None
    """Number of entities to generate (10,000)."""

    relations: Count | None = None
    """Number of relations to generate (200)."""

    days: Count | None = None
    """Number of days to generate (365)."""

    skew: float | None = None
    """Zipf exponent of the frequencies of entities and relations (1); 0: uniform."""

    seed: int | None = None
    """Seed of what is generated (0)."""


HowToGenerate = Annotated[Generated, Parameter(name="*")]


@bench.command(name="sampler")
def bench_sampler(
    source: Source = None,
    *,
    shape: HowToGenerate | None = None,
    queries: Count = 2048,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Time the sampler, K being 100, and see what its window misses.

    Parameters
    ----------
    queries
        How many training queries to sample for.
    """
    from targcn.bench import measure_sampler

    data = _open(source, shape)
    with count_progress("sampling", "rows") as progress:
        result = measure_sampler(
            data, queries=queries, device=device, plain=plain, progress=progress
        )
    _report(result, out, json)


@bench.command(name="epoch")
def bench_epoch(
    source: Source = None,
    *,
    shape: HowToGenerate | None = None,
    model: str = "targcn",
    recipe: str | None = None,
    repeats: Count | None = None,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
    **settings: str,
) -> None:
    """Time the training of a model, beside its products alone and beside a plain loop.

    Parameters
    ----------
    model
        What to train (see `models`); targcn and tntcomplex have a plain version.
    recipe
        The recipe whose settings to take; default: default, and the published code's on ICEWS14
        for targcn.
    repeats
        Steps to time (17), on a GPU epochs (5), after a few that are not.
    settings
        Any setting of the model or its training (see `models NAME`).
    """
    from targcn.bench import measure_epoch

    data = _open(source, shape)
    with count_progress("training", "repeats") as progress:
        result = measure_epoch(
            data,
            model=model,
            recipe=recipe,
            settings=settings,
            repeats=repeats,
            device=device,
            plain=plain,
            progress=progress,
        )
    _report(result, out, json)


@bench.command(name="evaluate")
def bench_evaluate(
    source: Source = None,
    *,
    shape: HowToGenerate | None = None,
    model: str = "targcn",
    recipe: str | None = None,
    context: Context = "train+valid",
    repeats: Count = 3,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
    **settings: str,
) -> None:
    """Time the evaluation of the test split under the three filters.

    Parameters
    ----------
    model
        What to evaluator, with its initial weights (see `models`).
    recipe
        The recipe whose settings to take; default: default, and the published code's on ICEWS14
        for targcn.
    repeats
        How often to evaluate, in turns with a plain loop on some queries.
    settings
        Any setting of the model (see `models NAME`).
    """
    from targcn.bench import measure_evaluate

    data = _open(source, shape)
    with count_progress("evaluating", "queries") as progress:
        result = measure_evaluate(
            data,
            model=model,
            recipe=recipe,
            settings=settings,
            context=context,
            repeats=repeats,
            device=device,
            plain=plain,
            progress=progress,
        )
    _report(result, out, json)


@bench.command(name="predict")
def bench_predict(
    source: Source = None,
    *,
    shape: HowToGenerate | None = None,
    model: str = "targcn",
    recipe: str | None = None,
    questions: Count = 200,
    out: Out = None,
    json: AsJson = False,
    **settings: str,
) -> None:
    """Time questions one by one, in a loaded process and as whole commands.

    Parameters
    ----------
    model
        What to ask, with its initial weights (see `models`).
    recipe
        The recipe whose settings to take; default: default, and the published code's on ICEWS14
        for targcn.
    questions
        How many questions of the test split to ask.
    settings
        Any setting of the model (see `models NAME`).
    """
    from targcn.bench import measure_predict

    data = _open(source, shape)
    with count_progress("asking", "questions") as progress:
        result = measure_predict(
            data,
            model=model,
            recipe=recipe,
            settings=settings,
            questions=questions,
            progress=progress,
        )
    _report(result, out, json)


@bench.command(name="ingest")
def bench_ingest(
    *,
    rows: Counts = (2_000_000,),
    entities: Count = 1_000_000,
    relations: Count = 250,
    days: Count = 7305,
    skew: float = 1.0,
    seed: int = 0,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Time the reading of generated CSV tables, from names and dates to a prepared folder.

    Parameters
    ----------
    rows
        Rows of each table.
    entities
        Entities to take names from.
    relations
        Relations to take names from.
    days
        Days to date rows with.
    skew
        Zipf exponent of the frequencies of names; 0: uniform.
    seed
        Seed of what is generated.
    """
    from targcn.bench import Shape, measure_ingest

    shape = Shape(entities=entities, relations=relations, days=days, skew=skew, seed=seed)
    with count_progress("reading", "tables") as progress:
        result = measure_ingest(rows, shape, progress=progress)
    _report(result, out, json)


@bench.command(name="scale")
def bench_scale(
    *,
    facts: Counts = (1_000_000, 10_000_000),
    entities: Count = 1_000_000,
    relations: Count = 200,
    days: Count = 3650,
    skew: float = 1.0,
    seed: int = 0,
    queries: Count = 2048,
    device: Device = "auto",
    folder: Path | None = None,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """See what grows with the number of facts: generate, save, load, build the graph, sample.

    Parameters
    ----------
    facts
        Facts of each data set.
    entities
        Entities of each.
    relations
        Relations of each.
    days
        Days of each.
    skew
        Zipf exponent of the frequencies of entities and relations; 0: uniform.
    seed
        Seed of what is generated.
    queries
        How many queries to sample for, K being 100.
    folder
        Where to write the data sets meanwhile; default: where temporary files go.
    """
    from targcn.bench import Shape, measure_scale

    shape = Shape(entities=entities, relations=relations, days=days, skew=skew, seed=seed)
    with count_progress("measuring", "sizes") as progress:
        result = measure_scale(
            facts, shape, queries=queries, device=device, folder=folder, progress=progress
        )
    _report(result, out, json)


def _open(source: str | None, generated: Generated | None) -> "Dataset | Shape":
    flags = asdict(generated or Generated())
    given = {name: value for name, value in flags.items() if value is not None}
    if not given:
        return open_source(source or "congress", None)
    if source is not None:
        written = ", ".join(f"--{name}" for name in given)
        raise InputError(f"{source} is a data set already; leave out either it or {written}")
    from targcn.bench import Shape

    return Shape(**given)


def _report(result: "Result", out: Path | None, as_json: bool) -> None:
    """Print a result, and keep it in a file if one is given."""
    try:
        if as_json:
            show_json(result.to_json())
        else:
            from targcn.bench.result_table import result_table

            show(result_table(result))
    finally:
        # Kept even if whoever reads the output leaves early.
        if out is not None:
            from json import dumps

            from targcn.files import atomic_file

            with atomic_file(out) as draft:
                draft.write_text(dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")
