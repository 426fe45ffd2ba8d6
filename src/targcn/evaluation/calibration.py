"""Whether probabilities mean what they say, and the temperature that makes them.

A probability is the softmax of scores over a temperature, one number per run. It is right if, among
queries whose best answer has the probability p, the share p has this answer. Other answers that are
true at that time are left out, as under the time-aware filter: they are no rivals.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import Filter
from targcn.evaluation.ranking import (
    NO_QUERY,
    Progress,
    in_batches,
    require_numbers,
    rows_at_once,
)
from targcn.graph.queries import Queries, time_order
from targcn.models.base import Model
from targcn.output.plots import Curve, plot_lines

# Queries, at most, that a temperature or a calibration error is measured on.
MOST_QUERIES: Final = 5_000
NUM_BINS: Final = 10
# Inverse temperatures that are tried: quarters of a doubling, from 1/16 to 16.
EXPONENTS: Final = tuple(quarter / 4 for quarter in range(-16, 17))
# What an answer's probability counts at least, as a share of what chance would give it, so that
# those which a model takes for impossible do not decide alone.
LEAST_SHARE: Final = 1e-3


@dataclass(frozen=True)
class Bin:
    """Queries whose best answers are about equally probable."""

    num_queries: int
    # The mean probability of the best answers, and the share of them that are right.
    probability: float
    share_right: float


@dataclass(frozen=True)
class Calibration:
    """The expected calibration error without a run's temperature and with it, and the bins."""

    temperature: float
    num_queries: int
    error_before: float
    error_after: float
    bins_before: tuple[Bin, ...]
    bins_after: tuple[Bin, ...]

    def __str__(self) -> str:
        return (
            f"expected calibration error {self.error_after:.3f} at the temperature "
            f"{self.temperature:.3g}, {self.error_before:.3f} without "
            f"({self.num_queries:,} queries, {NUM_BINS} bins)"
        )


def has_probabilities(model: Model) -> bool:
    return model.log_probabilities(torch.zeros(1, 2)) is not None


def fit_temperature(model: Model, evaluator: Evaluator) -> float:
    """The temperature with the best log-likelihood of the evaluator's queries; 1 without any.

    All are tried in one pass; a parabola through the best and its neighbours gives the rest.
    """
    if not has_probabilities(model):
        return 1.0

    least = math.log(LEAST_SHARE / evaluator.graph.num_entities)

    def losses(scores: Tensor, targets: Tensor) -> Tensor:
        of_each = []
        for exponent in EXPONENTS:
            logs = model.log_probabilities(scores * 2.0**exponent)
            assert logs is not None
            right = logs.gather(1, targets[:, None]).double()
            # It is NaN where all that a model takes for possible is left out.
            of_each.append(-right.nan_to_num(least).clamp(min=least).sum())
        return torch.stack(of_each)

    total = _add_up(model, evaluator, losses, (len(EXPONENTS),))
    best = min(max(int(total.argmin()), 1), len(EXPONENTS) - 2)
    left, middle, right = total[best - 1 : best + 2].tolist()
    curvature = left - 2 * middle + right
    shift = (left - right) / (2 * curvature) if curvature > 0 else 0.0
    exponent = EXPONENTS[best] + min(max(shift, -1.0), 1.0) / 4
    return float(f"{2.0**-exponent:.4g}")


def calibrate(model: Model, temperature: float, evaluator: Evaluator) -> Calibration | None:
    """How well the probabilities of best answers fit; None if the model has none."""
    if not has_probabilities(model):
        return None

    def count(scores: Tensor, targets: Tensor) -> Tensor:
        return _count_right(model, temperature, scores, targets)

    return _calibration_of(_add_up(model, evaluator, count, (2, 3, NUM_BINS)), temperature)


def rank_and_calibrate(
    model: Model, temperature: float, evaluator: Evaluator, progress: Progress | None = None
) -> tuple[dict[Filter, Tensor], Calibration | None]:
    """The ranks of a model, and how well its probabilities fit, from the same scores."""
    if not has_probabilities(model):
        return evaluator.ranks(model, progress), None
    is_chosen = evaluator.processes.shard(_choose_queries(evaluator)).to(evaluator.device)
    counts = torch.zeros(2, 3, NUM_BINS, dtype=torch.float64)

    def watch(numbers: Tensor, scores: Tensor) -> None:
        rows = (is_chosen[numbers] & (numbers != NO_QUERY)).nonzero().flatten()
        asked, answers = evaluator.queries[numbers[rows]], evaluator.targets[numbers[rows]]
        left = _hide_others(scores[rows], asked, answers, evaluator)
        counts.add_(_count_right(model, temperature, left, answers).cpu())

    ranks = evaluator.ranks(model, progress, watch)
    return ranks, _calibration_of(evaluator.processes.sum(counts), temperature)


def plot_reliability(calibration: Calibration, path: Path, title: str) -> None:
    """Plot the share of right answers over their probability, and where both are equal."""
    lines = {
        "without temperature": calibration.bins_before,
        f"temperature {calibration.temperature:.3g}": calibration.bins_after,
    }
    curves = [
        Curve(name, [(of.probability, of.share_right) for of in bins], number, dashed=False)
        for number, (name, bins) in enumerate(lines.items())
    ]
    curves.append(Curve("as they should be", [(0.0, 0.0), (1.0, 1.0)], len(curves), dashed=True))
    across, up = "probability of the best answer", "share of them that are right"
    plot_lines(curves, path, title=title, across=across, up=up, logarithmic=False)


def _add_up(
    model: Model,
    evaluator: Evaluator,
    compute: Callable[[Tensor, Tensor], Tensor],
    shape: tuple[int, ...],
) -> Tensor:
    """The sum of what is computed of the scores of batches, over all processes."""
    model = model.to(evaluator.device).eval()
    mine = evaluator.processes.shard(_choose_queries(evaluator)).nonzero().flatten()
    mine = mine.to(evaluator.device)
    mine = mine[time_order(evaluator.queries.times[mine])]
    queries, targets = evaluator.queries[mine], evaluator.targets[mine]

    def of_batch(rows: slice) -> Tensor:
        asked, answers = queries[rows], targets[rows]
        scores: Tensor = model(asked, evaluator.graph)
        require_numbers(scores)
        return compute(_hide_others(scores, asked, answers, evaluator), answers).cpu()

    with evaluator.processes.barrier():
        size = rows_at_once(evaluator.graph.num_entities, evaluator.device)
        nothing = torch.zeros(shape, dtype=torch.float64)
        total = sum(in_batches(of_batch, len(queries), size), nothing)
    return evaluator.processes.sum(total)


def _choose_queries(evaluator: Evaluator) -> Tensor:
    """Whether each query is measured on: the same ones, however many processes share them."""
    order = torch.randperm(evaluator.num_queries, generator=torch.Generator().manual_seed(0))
    is_chosen = torch.zeros(evaluator.num_queries, dtype=torch.bool)
    is_chosen[order[:MOST_QUERIES]] = True
    return is_chosen


def _hide_others(scores: Tensor, asked: Queries, answers: Tensor, evaluator: Evaluator) -> Tensor:
    """The scores without those of other answers that are true at the time."""
    rows, known = evaluator.known["time-aware"].look_up(asked)
    others = known != answers[rows]
    return scores.index_put((rows[others], known[others]), scores.new_tensor(-torch.inf))


def _count_right(model: Model, temperature: float, scores: Tensor, targets: Tensor) -> Tensor:
    """The bins without the temperature, and with it.

    Of each: how many queries, the sum of their probabilities, and how many are right.
    """
    is_right = (scores.argmax(1) == targets).double()
    counts = is_right.new_zeros(2, 3, NUM_BINS)
    for of_bins, divisor in zip(counts, (1.0, temperature), strict=True):
        logs = model.log_probabilities(scores / divisor)
        assert logs is not None
        probabilities = logs.amax(1).exp().double().nan_to_num(0.0)
        bins = (probabilities * NUM_BINS).long().clamp(max=NUM_BINS - 1)
        figures = torch.stack([torch.ones_like(is_right), probabilities, is_right])
        of_bins.index_add_(1, bins, figures)
    return counts


def _calibration_of(counts: Tensor, temperature: float) -> Calibration:
    (before, error_before), (after, error_after) = (_bins_of(of_side) for of_side in counts)
    number = sum(of_bin.num_queries for of_bin in before)
    return Calibration(temperature, number, error_before, error_after, before, after)


def _bins_of(counts: Tensor) -> tuple[tuple[Bin, ...], float]:
    """The bins that have queries, and the mean distance of probability and share over queries."""
    bins = tuple(
        Bin(int(number), sum_of_probabilities / number, num_right / number)
        for number, sum_of_probabilities, num_right in counts.T.tolist()
        if number
    )
    return bins, mean_error(bins)


def mean_error(bins: Sequence[Bin]) -> float:
    """The mean distance of probability and share, each bin weighted by what is in it."""
    total = sum(of_bin.num_queries for of_bin in bins)
    errors = (of.num_queries * abs(of.probability - of.share_right) for of in bins)
    return sum(errors) / total
