"""The benchmarks as commands: each measures, prints a table and may keep its figures as JSON."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter, Token

from benchmarks.generated_data import Shape
from benchmarks.measure import Result, note_load, result_table
from targcn.cli.options import AsJson, Context, Device, open_source
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.files import atomic_file
from targcn.output.terminal import show, show_json

app = App(name="benchmarks", help="Measure how fast each part is here, and in how much memory.")


def _read_counts(kind: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Whole numbers, also those written like 1e6."""
    try:
        counts = [float(token.value) for token in tokens]
    except ValueError as error:
        raise InputError(f"{error}; write a number like 1000000 or 1e6") from None
    return tuple(int(count) for count in counts)


Count = Annotated[int, Parameter(converter=lambda kind, tokens: _read_counts(kind, tokens)[0])]
Counts = Annotated[
    tuple[int, ...], Parameter(converter=_read_counts, consume_multiple=True, negative="")
]
Source = Annotated[
    str | None,
    Parameter(help="A name, a folder, or a file; congress where nothing is generated."),
]
Setting = Annotated[str, Parameter(help="Any setting of model or training.")]


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


@dataclass(frozen=True)
class Shown:
    out: Path | None = None
    """Write the figures as JSON into this file too."""

    json: AsJson = False


@dataclass(frozen=True)
class Trained:
    model: str = "targcn"
    """The model to time; targcn and tntcomplex have a plain version."""

    recipe: str | None = None
    """Its recipe; default: default, and the published code's on ICEWS14 for targcn."""


HowToGenerate = Annotated[Generated | None, Parameter(name="*")]
SizesOfAll = Annotated[Sizes | None, Parameter(name="*")]
HowToShow = Annotated[Shown | None, Parameter(name="*")]
What = Annotated[Trained | None, Parameter(name="*")]


@app.command
def sampler(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    queries: Count = 2048,
    device: Device = "auto",
    plain: bool = True,
    shown: HowToShow = None,
) -> None:
    """Time the sampler, K being 100, and see what its window misses."""
    from benchmarks.sampler import measure_sampler

    data = _open(source, shape)
    _show(measure_sampler(data, queries=queries, device=device, plain=plain), shown)


@app.command
def epoch(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    what: What = None,
    repeats: Count | None = None,
    device: Device = "auto",
    plain: bool = True,
    shown: HowToShow = None,
    **settings: Setting,
) -> None:
    """Time the training of a model, beside its products alone and beside a plain loop.

    Args:
        repeats: Steps to time (17), on a GPU epochs (5), after a few that are not.
    """
    from benchmarks.epoch import measure_epoch

    how: dict[str, Any] = {"repeats": repeats, "device": device, "plain": plain}
    how |= vars(what or Trained()) | {"settings": settings}
    _show(measure_epoch(_open(source, shape), **how), shown)


@app.command
def evaluate(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    what: What = None,
    context: Context = None,
    repeats: Count = 3,
    device: Device = "auto",
    plain: bool = True,
    shown: HowToShow = None,
    **settings: Setting,
) -> None:
    """Time the evaluation of the test split under the three filters, beside a plain loop."""
    from benchmarks.evaluate import measure_evaluate

    how: dict[str, Any] = {"context": context, "repeats": repeats, "device": device, "plain": plain}
    how |= vars(what or Trained()) | {"settings": settings}
    _show(measure_evaluate(_open(source, shape), **how), shown)


@app.command
def predict(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    what: What = None,
    questions: Count = 200,
    commands: Count = 3,
    shown: HowToShow = None,
    **settings: Setting,
) -> None:
    """Time questions one by one, in a loaded process and as so many whole commands."""
    from benchmarks.predict import measure_predict

    how: dict[str, Any] = {"questions": questions, "commands": commands}
    how |= vars(what or Trained()) | {"settings": settings}
    _show(measure_predict(_open(source, shape), **how), shown)


@app.command
def missing(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    top: Count = 100,
    shown: HowToShow = None,
) -> None:
    """Time learning what is true, and listing what is missing, without a run."""
    from benchmarks.missing import measure_missing

    _show(measure_missing(_open(source, shape), top=top), shown)


@app.command
def serve(
    source: Source = None,
    *,
    shape: HowToGenerate = None,
    model: str = "evidence",
    recipe: str | None = None,
    questions: Count = 10_000,
    connections: Count = 64,
    crowd: Count = 1_000,
    shown: HowToShow = None,
    **settings: Setting,
) -> None:
    """Time a server: questions one by one and in batches, and a crowd of connections at once."""
    from benchmarks.serve import measure_serve

    how: dict[str, Any] = {"model": model, "recipe": recipe, "settings": settings}
    how |= {"questions": questions, "connections": connections, "crowd": crowd}
    _show(measure_serve(_open(source, shape), **how), shown)


@app.command
def ingest(
    *, rows: Counts = (2_000_000,), sizes: SizesOfAll = None, shown: HowToShow = None
) -> None:
    """Time the reading of generated CSV tables, from names and dates to a prepared folder.

    By default there are 1,000,000 entities, 250 relations and 7,305 days.
    """
    from benchmarks.ingest import DEFAULT, measure_ingest

    _show(measure_ingest(rows, replace(DEFAULT, **_given(sizes))), shown)


@app.command
def scale(
    *,
    facts: Counts = (1_000_000, 10_000_000),
    sizes: SizesOfAll = None,
    queries: Count = 2048,
    steps: Count = 0,
    device: Device = "auto",
    folder: Path | None = None,
    shown: HowToShow = None,
) -> None:
    """See what grows with the number of facts: generate, index, open, sample, train, answer.

    By default there are 1,000,000 entities, 200 relations and 3,650 days.

    Args:
        steps: Steps of the evidence model with sampled candidates, then questions; 0: neither.
        folder: Where to write the data sets meanwhile; default: where temporary files go.
    """
    from benchmarks.scale import DEFAULT, measure_scale

    shape = replace(DEFAULT, **_given(sizes))
    result = measure_scale(facts, shape, queries=queries, steps=steps, device=device, folder=folder)
    _show(result, shown)


def _given(sizes: Sizes | None) -> dict[str, Any]:
    return {name: value for name, value in vars(sizes or Sizes()).items() if value is not None}


def _open(source: str | None, generated: Generated | None) -> Dataset | Shape:
    given = _given(generated)
    if source is not None and given:
        written = ", ".join(f"--{name}" for name in given)
        raise InputError(f"{source} is a data set already; leave out either it or {written}")
    return Shape(**given) if given else open_source(source or "congress", None)


def _show(result: Result, shown: Shown | None) -> None:
    """Print a result, and keep it in a file if one is given."""
    shown = shown or Shown()
    result = replace(result, notes=(*result.notes, *note_load()))
    if shown.out is not None:
        with atomic_file(shown.out) as draft:
            draft.write_text(dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")
    if shown.json:
        show_json(result.to_json())
    else:
        show(result_table(result))


def main(arguments: list[str] | None = None) -> None:
    """Run a benchmark; what a user can put right is one sentence."""
    try:
        app(arguments, result_action="return_value")
    except InputError as error:
        sys.exit(f"benchmarks: {error}")


if __name__ == "__main__":
    main()
