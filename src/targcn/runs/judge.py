"""The judge of a run: what is true by the facts that it was trained on, kept in its folder."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from targcn.errors import DamagedError
from targcn.facts.holes import GAPS, Gaps
from targcn.runs.run import Run
from targcn.runs.tensors import expect_like, read_tensors, write_tensors
from targcn.truth.judge import Judge
from targcn.truth.truth import fit_judge

# The judge of single facts, of blocks, or of both: truth-mixed.safetensors, …
FILE: Final = "truth-{}.safetensors"


def with_judge(run: Run, gaps: Gaps = "mixed", folder: Path | None = None) -> Run:
    """The run with a judge that learned from all of its facts; kept in a folder, if any.

    `gaps` says how facts are missing (facts/holes.py).
    """
    judge = fit_judge(run.dataset, run.default_context(None), gaps, seed=run.seed)
    if folder is not None:
        write_judge(folder, judge)
    return replace(run, judge=judge)


def write_judge(folder: Path, judge: Judge) -> None:
    """Put a judge into a run folder, in the place of any other."""
    write_tensors(folder / FILE.format(judge.gaps), judge.state_dict())
    for other in GAPS:
        if other != judge.gaps:
            (folder / FILE.format(other)).unlink(missing_ok=True)


def read_judge(folder: Path, num_relations: int) -> Judge | None:
    """The judge in a run folder, if it has one."""
    for gaps in GAPS:
        if (path := folder / FILE.format(gaps)).is_file():
            judge = Judge(gaps, num_relations, unit=1.0)
            try:
                tensors, _ = read_tensors(path, expect_like(judge.state_dict()))
            except DamagedError as error:
                raise DamagedError(f"{error}; or remove the file") from None
            judge.load_state_dict(tensors)
            return judge.eval()
    return None
