"""Many questions in batches, which several processes share."""

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

from targcn.distributed import ProcessGroup
from targcn.evaluation.ranking import Progress
from targcn.graph.queries import FactColumns
from targcn.inference.questions import Ask, Encoded

Part = TypeVar("Part")


def answer_in_batches(
    asked: Encoded,
    answer: Callable[[Ask, FactColumns, Tensor], Part],
    at_once: Callable[[Ask], int],
    processes: ProcessGroup,
    progress: Progress | None,
) -> list[Part]:
    """What is answered to each batch of questions that ask the same, given with their numbers.

    Processes share the batches, not the questions of one: the last digits of scores may depend on
    what is asked together.
    """
    batches: list[tuple[Ask, slice]] = []
    for place, facts in asked.facts.items():
        size = processes.smallest(at_once(place))
        batches += [(place, slice(start, start + size)) for start in range(0, len(facts), size)]
    mine = processes.shard(batches)
    total = len(asked.errors) + sum(len(asked.numbers[place][rows]) for place, rows in mine)
    parts, done = [], len(asked.errors)
    with processes.barrier():
        for place, rows in mine:
            numbers = asked.numbers[place][rows]
            parts.append(answer(place, asked.facts[place][rows], numbers))
            done += len(numbers)
            if progress is not None:
                progress(done, total)
    return parts
