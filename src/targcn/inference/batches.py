"""Many questions in batches, which several processes share."""

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from torch import Tensor

from targcn.distributed import ProcessGroup
from targcn.evaluation.ranking import Progress
from targcn.graph.queries import FactColumns
from targcn.inference.questions import Ask, Encoded

if TYPE_CHECKING:
    import polars as pl

# The answers to questions that ask the same, under their numbers.
Answer = Callable[[Ask, FactColumns, Tensor], "list[pl.DataFrame]"]


def answer_in_batches(
    asked: Encoded,
    answer: Answer,
    at_once: Callable[[Ask], int],
    processes: ProcessGroup,
    progress: Progress | None,
) -> "pl.DataFrame":
    """The answers to all questions, and a row for each that was skipped, in no order.

    Answers to one question are in the order that `answer` gives them. Processes share the batches,
    not the questions of one: the last digits of scores may depend on what is asked together.
    """
    import polars as pl

    batches: list[tuple[Ask, slice]] = []
    for place, facts in asked.facts.items():
        size = processes.smallest(at_once(place))
        batches += [(place, slice(start, start + size)) for start in range(0, len(facts), size)]
    mine = processes.shard(batches)
    total = len(asked.errors) + sum(len(asked.numbers[place][rows]) for place, rows in mine)
    frames, done = [_errors(asked)] if processes.is_main else [], len(asked.errors)
    with processes.barrier():
        for place, rows in mine:
            numbers = asked.numbers[place][rows]
            frames += answer(place, asked.facts[place][rows], numbers)
            done += len(numbers)
            if progress is not None:
                progress(done, total)
    return pl.concat(_of_all(frames, processes), how="diagonal")


def _of_all(frames: "list[pl.DataFrame]", processes: ProcessGroup) -> "list[pl.DataFrame]":
    """The frames of all processes, those of the main one first."""
    import polars as pl

    if processes.size == 1:
        return frames
    written = BytesIO()
    if frames:
        pl.concat(frames, how="diagonal").write_ipc(written)
    parts = processes.gather_bytes(written.getvalue())
    return [pl.read_ipc(BytesIO(part)) for part in parts if part]


def _errors(asked: Encoded) -> "pl.DataFrame":
    """A row for each question that was skipped."""
    import polars as pl

    columns = {"question": list(asked.errors), "error": list(asked.errors.values())}
    return pl.DataFrame(columns, schema={"question": pl.Int64, "error": pl.String})
