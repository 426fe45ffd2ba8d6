"""`targcn bench`: how fast each part is on this machine, on any data set or a generated one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter, Token

from targcn.cli.options import AsJson, Context, Device, RunFolder, open_source
from targcn.cli.serve import require_libraries
from targcn.errors import InputError
from targcn.output.terminal import show, show_json

if TYPE_CHECKING:
    from targcn.bench.generated_data import Shape
    from targcn.bench.measure import Result
    from targcn.facts.dataset import Dataset

bench = App(name="bench", help="Measure how fast each part is here, and in how much memory.")


def _read_counts(kind: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Whole numbers, also those written like 1e6."""
    for written in (token.value for token in tokens):
        try:
            is_whole = float(written).is_integer()
        except ValueError:
            is_whole = False
        if not is_whole:
            raise InputError(f"{written!r} is not a whole number; write it like 1000000 or 1e6")
    return tuple(int(float(token.value)) for token in tokens)


Count = Annotated[int, Parameter(converter=lambda kind, tokens: _read_counts(kind, tokens)[0])]
Counts = Annotated[
    tuple[int, ...], Parameter(converter=_read_counts, consume_multiple=True, negative="")
]
Source = Annotated[
    str | None,
    Parameter(help="A name, a folder, or a file; congress where nothing is generated."),
]
Model = Annotated[
    str,
    Parameter(help="The model to time (see `models`); targcn and tntcomplex have a plain version."),
]
Recipe = Annotated[
    str | None,
    Parameter(help="Its recipe; default: default, and the published code's on ICEWS14 for targcn."),
]
Setting = Annotated[str, Parameter(help="Any setting of model or training (see `models NAME`).")]
Queries = Annotated[Count, Parameter(help="How many queries to sample for.")]
Plain = Annotated[bool, Parameter(help="Time a plain version beside it, if there is one.")]
Out = Annotated[Path | None, Parameter(help="Write the figures as JSON into this file too.")]


@dataclass(frozen=True)
class Sizes:
    """The shape of generated data; what is left out keeps the command's default."""

    entities: Count | None = None
    """Number of entities to generate."""

    relations: Count | None = None
    """Number of relations to generate."""

    days: Count | None = None
    """Number of days to generate."""

    longest: Count | None = None
    """Generate intervals of up to so many days, a tenth without an end; 0: facts of one day (0)."""

    skew: float | None = None
    """Zipf exponent of the frequencies of entities and relations (1); 0: uniform."""

    seed: int | None = None
    """Seed of what is generated (0)."""


@dataclass(frozen=True)
class Generated(Sizes):
    facts: Count | None = None
    """Number of facts (100,000); the other defaults: 10,000 entities, 200 relations, 365 days."""


HowToGenerate = Annotated[Generated | None, Parameter(name="*")]
SizesOfAll = Annotated[Sizes | None, Parameter(name="*")]


@bench.command(name="sampler")
def bench_sampler(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    queries: Queries = 2048,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Time the sampler, K being 100, and see what its window misses."""
    from targcn.bench.sampler import measure_sampler

    data = _open(source, shape)
    _show(measure_sampler(data, queries=queries, device=device, plain=plain), out, json)


@bench.command(name="epoch")
def bench_epoch(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    model: Model = "targcn",
    recipe: Recipe = None,
    repeats: Count | None = None,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
    **settings: Setting,
) -> None:
    """Time the training of a model, beside its products alone and beside a plain loop.

    Args:
        repeats: Steps to time (17), on a GPU epochs (5), after a few that are not.
    """
    from targcn.bench.epoch import measure_epoch

    how: dict[str, Any] = {"model": model, "recipe": recipe, "settings": settings}
    how |= {"repeats": repeats, "device": device, "plain": plain}
    _show(measure_epoch(_open(source, shape), **how), out, json)


@bench.command(name="evaluate")
def bench_evaluate(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    model: Model = "targcn",
    recipe: Recipe = None,
    context: Context = None,
    repeats: Count = 3,
    device: Device = "auto",
    plain: Plain = True,
    out: Out = None,
    json: AsJson = False,
    **settings: Setting,
) -> None:
    """Time the evaluation of the test split under the three filters.

    Args:
        repeats: How often to evaluate, in turns with a plain loop on some queries.
    """
    from targcn.bench.evaluate import measure_evaluate

    how: dict[str, Any] = {"model": model, "recipe": recipe, "settings": settings}
    how |= {"context": context, "repeats": repeats, "device": device, "plain": plain}
    _show(measure_evaluate(_open(source, shape), **how), out, json)


@bench.command(name="predict")
def bench_predict(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    model: Model = "targcn",
    recipe: Recipe = None,
    questions: Count = 200,
    out: Out = None,
    json: AsJson = False,
    **settings: Setting,
) -> None:
    """Time questions one by one, in a loaded process and as whole commands.

    Args:
        questions: How many questions of the test split to ask.
    """
    from targcn.bench.predict import measure_predict

    how: dict[str, Any] = {"model": model, "recipe": recipe, "settings": settings}
    _show(measure_predict(_open(source, shape), questions=questions, **how), out, json)


@bench.command(name="missing")
def bench_missing(
    run: RunFolder,
    /,
    *,
    times: Count = 2,
    top: Count = 100,
    device: Device = "auto",
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Time the search of a trained run for facts that are not known.

    Args:
        times: At how many times of the data, evenly spread.
        top: How many facts to find.
    """
    from targcn.bench.missing import measure_missing

    _show(measure_missing(run, times=times, top=top, device=device), out, json)


@bench.command(name="serve")
def bench_serve(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    model: Model = "evidence",
    recipe: Recipe = None,
    questions: Count = 10_000,
    connections: Count = 64,
    crowd: Count = 1_000,
    out: Out = None,
    json: AsJson = False,
    **settings: Setting,
) -> None:
    """Time a server: questions one by one and in batches, and a crowd of connections at once.

    Args:
        questions: How many questions of the test split to ask.
        connections: Over how many connections to ask them one by one.
        crowd: How many connections come at once in the end.
    """
    require_libraries()
    from targcn.bench.serve import measure_serve

    how: dict[str, Any] = {"model": model, "recipe": recipe, "settings": settings}
    how |= {"questions": questions, "connections": connections, "crowd": crowd}
    _show(measure_serve(_open(source, shape), **how), out, json)


@bench.command(name="ingest")
def bench_ingest(
    *,
    rows: Counts = (2_000_000,),
    sizes: SizesOfAll = None,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Time the reading of generated CSV tables, from names and dates to a prepared folder.

    By default there are 1,000,000 entities, 250 relations and 7,305 days.

    Args:
        rows: Rows of each table.
    """
    from targcn.bench.ingest import DEFAULT, measure_ingest

    _show(measure_ingest(rows, replace(DEFAULT, **_given(sizes))), out, json)


@bench.command(name="scale")
def bench_scale(
    *,
    facts: Counts = (1_000_000, 10_000_000),
    sizes: SizesOfAll = None,
    queries: Queries = 2048,
    steps: int = 0,
    device: Device = "auto",
    folder: Path | None = None,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """See what grows with the number of facts: generate, index, open, sample, train, answer.

    By default there are 1,000,000 entities, 200 relations and 3,650 days.

    Args:
        facts: Facts of each data set.
        steps: Steps of the evidence model with sampled candidates, then questions; 0: neither.
        folder: Where to write the data sets meanwhile; default: where temporary files go.
    """
    from targcn.bench.scale import DEFAULT, measure_scale

    shape = replace(DEFAULT, **_given(sizes))
    result = measure_scale(facts, shape, queries=queries, steps=steps, device=device, folder=folder)
    _show(result, out, json)


def _given(sizes: Sizes | None) -> dict[str, Any]:
    return {name: value for name, value in vars(sizes or Sizes()).items() if value is not None}


def _open(source: str | None, generated: Generated | None) -> "Dataset | Shape":
    given = _given(generated)
    if not given:
        return open_source(source or "congress", None)
    if source is not None:
        written = ", ".join(f"--{name}" for name in given)
        raise InputError(f"{source} is a data set already; leave out either it or {written}")
    from targcn.bench.generated_data import Shape

    return Shape(**given)


def _show(result: "Result", out: Path | None, json: bool) -> None:
    """Print a result, and keep it in a file if one is given."""
    from targcn.bench.measure import note_load

    result = replace(result, notes=(*result.notes, *note_load()))
    try:
        if json:
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
