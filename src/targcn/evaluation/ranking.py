"""Ranks from scores: how many entities stand above the target, and how ties count.

The mean rank on ties is the default everywhere: a model that scores all entities alike ranks every
target in the middle.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.devices import available_bytes, is_out_of_memory
from targcn.errors import InputError
from targcn.evaluation.filters import Filter, KnownAnswers
from targcn.evaluation.intervals import Ticks
from targcn.graph.queries import Queries, time_order
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model

Ties = Literal["optimistic", "mean", "pessimistic"]
# The share of its equals that a target is ranked behind.
SHARE_OF_TIES: Final[Mapping[Ties, float]] = {"optimistic": 0.0, "mean": 0.5, "pessimistic": 1.0}
TIES: Final = tuple(SHARE_OF_TIES)
# A larger batch of scores is hardly faster and needs more memory; a CPU's should fit its cache.
MOST_BATCH_BYTES: Final = {"cpu": 32 << 20, "cuda": 1 << 30}
MOST_ROWS: Final = 4096

# Done so far, and in all.
Progress = Callable[[int, int], None]


def ranks_of(
    scores: Tensor, targets: Tensor, known: Mapping[Filter, tuple[Tensor, Tensor]], ties: Ties
) -> dict[Filter, Tensor]:
    """Ranks from counts: for each row, the candidates above its target and level with it.

    `known` has, under each filter, the row and the column of every answer known to be true. Taking
    off their counts is the same as removing them, and needs no mask.
    """
    # From the same row as its rivals' scores: what ties with it does so to the bit.
    of_targets = scores.gather(1, targets[:, None])
    above, level = count_rivals(scores, of_targets)
    ranks = {}
    for which, (rows, columns) in known.items():
        theirs, mine = scores[rows, columns], of_targets[rows, 0]
        rival = columns != targets[rows]
        above_left = above.index_add(0, rows, ((theirs > mine) & rival).long(), alpha=-1)
        level_left = level.index_add(0, rows, ((theirs == mine) & rival).long(), alpha=-1)
        ranks[which] = 1.0 + above_left.double() + SHARE_OF_TIES[ties] * level_left.double()
    return ranks


def count_rivals(scores: Tensor, of_targets: Tensor) -> tuple[Tensor, Tensor]:
    """How many candidates of each row score above the target, and how many others score the same.

    Computed from the signs of the differences, whose sums are whole numbers and therefore exact:
    several times as fast as counting comparisons.
    """
    require_numbers(scores)
    num_candidates = scores.shape[1]
    # Whole numbers below 2^24 are exact in single precision.
    exact = torch.float32 if num_candidates < 1 << 24 else torch.float64
    # The difference of two equal infinities is NaN, whose sign is 0 as well.
    signs = torch.sub(scores, of_targets).sign_()
    above_minus_below = signs.sum(1, dtype=exact)
    above_plus_below = signs.abs_().sum(1, dtype=exact)
    above = (above_plus_below + above_minus_below) / 2
    return above.long(), (num_candidates - 1 - above_plus_below).long()


def without_others(scores: Tensor, targets: Tensor, known: tuple[Tensor, Tensor]) -> Tensor:
    """The scores, those of other answers known to be true below all; `known` as for `ranks_of`."""
    rows, columns = known
    others = columns != targets[rows]
    return scores.index_put((rows[others], columns[others]), scores.new_tensor(-torch.inf))


def require_numbers(scores: Tensor) -> None:
    """Refuse scores that can be neither ranked nor turned into probabilities."""
    # The sum is NaN if any score is, and is much cheaper than testing every score.
    if scores.sum().isnan() and scores.isnan().any():
        raise InputError(
            "the model gave scores that are not numbers, which have no rank; if it was trained, a "
            "smaller learning rate may help"
        )


def rank_targets(
    model: Model,
    queries: Queries,
    targets: Tensor,
    context: TemporalGraph,
    known: Mapping[Filter, KnownAnswers],
    ties: Ties,
    progress: Progress | None = None,
    ticks: Ticks | None = None,
) -> dict[Filter, Tensor]:
    """The rank of each target among all entities, under every filter; on the CPU, as doubles.

    With `ticks` a query is asked at each tick of its interval, and its rank is the mean of the
    ranks. Batches are as large as memory comfortably holds.
    """
    model.eval()
    order = time_order(queries.times)
    queries, targets = queries[order], targets[order]
    ticks = None if ticks is None else ticks[order]
    counts = torch.ones_like(order) if ticks is None else ticks.counts
    ends = counts.cumsum(0)

    def rank(rows: slice) -> Tensor:
        """A row of ranks for every filter, and one of the queries that they belong to."""
        numbers = torch.arange(rows.start, rows.stop, device=order.device)
        owners = torch.searchsorted(ends, numbers, right=True)
        asked = queries[owners]
        if ticks is not None:
            places = numbers - (ends - counts)[owners]
            asked = replace(asked, times=ticks.pick(owners, places))
        scores = model(asked, context)
        pairs = {which: answers.look_up(asked) for which, answers in known.items()}
        ranks = ranks_of(scores, targets[owners], pairs, ties)
        return torch.stack([*(ranks[which] for which in known), owners.double()]).cpu()

    batch_size = rows_at_once(context.num_entities, context.device)
    sums = torch.zeros(len(known), len(queries), dtype=torch.float64)
    num_asked = int(counts.sum())
    for *ranks, owners in in_batches(rank, num_asked, batch_size, progress):
        sums.index_add_(1, owners.long(), torch.stack(ranks))
    # Back from the order of times.
    means = (sums / counts.cpu())[:, order.argsort().cpu()]
    return dict(zip(known, means, strict=True))


def in_batches(
    compute: Callable[[slice], Tensor],
    num_rows: int,
    batch_size: int,
    progress: Progress | None = None,
) -> Iterator[Tensor]:
    """What is computed for each batch of rows; where memory runs out, batches are halved."""
    start = 0
    while start < num_rows:
        rows = slice(start, min(start + batch_size, num_rows))
        try:
            with torch.inference_mode():
                computed = compute(rows)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error) or batch_size == 1:
                raise
            batch_size //= 2
            continue
        yield computed
        start = rows.stop
        if progress is not None:
            progress(rows.stop, num_rows)


def rows_at_once(width: int, device: torch.device) -> int:
    """How many rows of `width` scores fit a device comfortably."""
    # Scores and their signs, and as much again for the model's own work.
    bytes_per_row = 32 * width
    most = MOST_BATCH_BYTES.get(device.type, MOST_BATCH_BYTES["cpu"])
    budget = min(most, available_bytes(device) // 4)
    return int(min(max(budget // bytes_per_row, 1), MOST_ROWS))
