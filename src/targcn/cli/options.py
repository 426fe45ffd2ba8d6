"""What several commands share: options, what is refused before any work, opening and loading."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from targcn.facts.reading.options import ReadOptions
from targcn.files import require_absent
from targcn.output.plots import require_picture
from targcn.output.tables import Table, require_table_file, write_table
from targcn.output.terminal import say, show, show_json

if TYPE_CHECKING:
    from targcn.facts.dataset import Dataset
    from targcn.inference.predictor import Predictor
    from targcn.runs.run import Run

SPLITS = ("train", "valid", "test")


def checked(*checks: Callable[[Path], None]) -> Parameter:
    """Refuse paths before any work is done; an option or argument may have several of them."""

    def check(kind: object, given: Any) -> None:
        for path in filter(None, given if isinstance(given, tuple) else (given,)):
            for require in checks:
                require(path)

    return Parameter(validator=check)


HowToRead = Annotated[ReadOptions, Parameter(name="*")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON for programs.")]
Context = Annotated[
    Literal["train", "train+valid", "all", "past"] | None,
    Parameter(
        help="The facts that the model may see; all: every known fact; past: those before the "
        "query's time. Default: past if trained so; else all for a question, and to evaluate "
        "train+valid (train if valid or train is asked about)."
    ),
]
Device = Annotated[str, Parameter(help="auto, cpu or cuda.")]
Source = Annotated[
    str,
    Parameter(
        help="A name (see `data list`), a folder, a file, an address, or - for standard input."
    ),
]
NewFolder = Annotated[
    Path, checked(require_absent), Parameter(help="The folder to write; it must not exist.")
]
NewTable = Annotated[
    Path | None,
    checked(require_table_file, require_absent),
    Parameter(help="Write the table to this new file too: .csv, .json or .md."),
]
NewPicture = Annotated[Path | None, checked(require_picture, require_absent)]
NewerFacts = Annotated[
    str | None,
    Parameter(help="A table of newer facts that join the context; its relations are not new."),
]
HowFactsAreMissing = Annotated[
    Literal["mixed", "facts", "blocks"] | None,
    Parameter(
        help="How facts are missing, for a judge that learns anew: single facts; blocks, which are "
        "all that a subject has at a time, a relation's whole tick, or an entity's end; or mixed. "
        "Default: as the run's judge has learned, else mixed."
    ),
]
RunFolder = Annotated[Path, Parameter(help="A run folder, as `train` writes it.")]
Split = Annotated[Literal["train", "valid", "test"], Parameter(help="The facts to ask about.")]
Ties = Annotated[
    Literal["optimistic", "mean", "pessimistic"],
    Parameter(help="The rank of an answer among equal scores."),
]
Intervals = Annotated[
    Literal["enumerate-time", "identical"] | None,
    Parameter(
        help="How facts with a beginning and an end are asked about: at each of their ticks, with "
        "the mean rank; or once, where other answers are known only over the identical interval. "
        "Default: enumerate-time."
    ),
]
# Words after an option, as many as there are.
Words = Annotated[tuple[str, ...], Parameter(consume_multiple=True)]


def open_source(source: str, options: ReadOptions | None) -> "Dataset":
    from targcn.facts.open import open_dataset

    return open_dataset(source, options)


def load_folder(folder: Path) -> "Run":
    """The run in a folder, said to be unfinished if its training was stopped."""
    from targcn.runs.store import load_run

    run = load_run(folder)
    warn_if_unfinished(folder)
    return run


def load_predictor(
    folder: Path, context: Context, facts: str | None = None, device: str = "cpu"
) -> "Predictor":
    """What a run is asked through, with newer facts if there are some."""
    from targcn.inference.predictor import Predictor

    predictor = Predictor(load_folder(folder), context, device)
    if facts is not None:
        predictor.add(facts)
        for sentence in predictor.dataset.additions:
            say(sentence)
    return predictor


def show_table(
    table: Table,
    out: Path | tuple[Path, ...] | None,
    as_json: bool,
    content: object = None,
    folded: bool = True,
) -> None:
    """Show a table, as JSON perhaps with more, and write it into files, if any are wanted."""
    try:
        if as_json:
            show_json(table.records() if content is None else content)
        else:
            show(table, folded)
    finally:
        # They are written even if nobody reads the output to its end.
        for path in out if isinstance(out, tuple) else filter(None, (out,)):
            write_table(table, path)


def warn_if_in_context(split: str, context: str | None, reads_context: bool = True) -> None:
    """Say so if the model may see, or was trained on, the very facts it is asked about."""
    seen = SPLITS if context == "all" else (context or "").split("+")
    if split == "train" or (reads_context and split in seen):
        say(
            f"the model has seen the {split} facts that it is asked about: these figures show what "
            "it remembers, not what it can predict"
        )


def warn_if_unfinished(folder: Path) -> None:
    """Say so if the training of a run was stopped."""
    from targcn.runs.store import read_record

    record = read_record(folder)
    if record is not None and not record.finished:
        moment = "its end" if record.best_epoch else "its first validation, with initial weights"
        say(f"{folder} was stopped before {moment}; go on with: targcn train --resume {folder}")
