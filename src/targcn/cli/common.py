"""What several commands share: how a source is opened, how a run is loaded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.terminal import receiving, say

if TYPE_CHECKING:
    from targcn.checkpoint import Run
    from targcn.facts.dataset import Dataset

HowToRead = Annotated[Reading, Parameter(name="*")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON for programs.")]
Context = Annotated[
    Literal["train", "train+valid"], Parameter(help="The facts the model may look at.")
]
ContextOfSplit = Annotated[
    Literal["train", "train+valid"] | None,
    Parameter(help="The facts the model may look at; left out: train, for test train+valid."),
]
Device = Annotated[str, Parameter(help="auto, cpu or cuda.")]


def open_source(source: str, read: Reading | None) -> "Dataset":
    from targcn.facts.opening import open_dataset

    with receiving() as progress:
        return open_dataset(source, read, progress)


def require_folder(folder: Path) -> None:
    if not folder.exists():
        raise InputError(f"there is no run {folder}; 'targcn train --out {folder}' makes one")


def load_folder(folder: Path) -> "Run":
    require_folder(folder)
    from targcn.checkpoint import load_run

    run = load_run(folder)
    warn_if_unfinished(folder)
    return run


def warn_if_in_sight(split: str, context: str | None, reads_context: bool = True) -> None:
    """Say so where what is asked about can be looked up, or was learnt."""
    if split == "train" or (reads_context and split in (context or "").split("+")):
        say(
            f"the {split} facts that are asked about were in sight themselves: figures of what a "
            "model remembers, not of what it would find out"
        )


def warn_if_unfinished(folder: Path) -> None:
    """Say so where the weights of a run are those of a training that was stopped."""
    from targcn.checkpoint import is_unfinished, trained_in

    if is_unfinished(folder):
        looked = trained_in(folder).get("best_epoch")
        what = "its end" if looked else "its first look; its weights are as first drawn"
        say(f"{folder} was stopped before {what}; go on with: targcn train --resume {folder}")
