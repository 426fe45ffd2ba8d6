"""Whether probabilities mean what they say.

A probability is the softmax of scores. It is right if, among queries whose best answer has the
probability p, the share p has this answer. Other answers that are true at that time are left out,
as under the time-aware filter: they are no rivals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from targcn.models.base import Model
from targcn.output.plots import Curve, plot_lines

# Queries, at most, that a calibration error is measured on.
MOST_QUERIES: Final = 5_000
NUM_BINS: Final = 10


@dataclass(frozen=True)
class Bin:
    """Queries whose best answers are about equally probable."""

    num_queries: int
    # The mean probability of the best answers, and the share of them that are right.
    probability: float
    share_right: float


@dataclass(frozen=True)
class Calibration:
    """The expected calibration error, and the bins that it comes from."""

    num_queries: int
    error: float
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, counts: Tensor) -> "Calibration":
        """What was counted by `count_right`, in all batches."""
        bins = tuple(
            Bin(int(number), sum_of_probabilities / number, num_right / number)
            for number, sum_of_probabilities, num_right in counts.T.tolist()
            if number
        )
        return cls(sum(of_bin.num_queries for of_bin in bins), mean_error(bins), bins)

    def __str__(self) -> str:
        return (
            f"expected calibration error {self.error:.3f} "
            f"({self.num_queries:,} queries, {NUM_BINS} bins)"
        )


def choose_queries(num_queries: int) -> Tensor:
    """Whether each query is measured on: the same ones, however many processes share them."""
    order = torch.randperm(num_queries, generator=torch.Generator().manual_seed(0))
    is_chosen = torch.zeros(num_queries, dtype=torch.bool)
    is_chosen[order[:MOST_QUERIES]] = True
    return is_chosen


def count_right(model: Model, scores: Tensor, targets: Tensor) -> Tensor:
    """Of each bin how many queries, the sum of their probabilities, and how many are right.

    Other true answers have no score.
    """
    logs = model.log_probabilities(scores)
    assert logs is not None
    is_right = (scores.argmax(1) == targets).double()
    # It is NaN where all that a model takes for possible is left out.
    probabilities = logs.amax(1).exp().double().nan_to_num(0.0)
    bins = (probabilities * NUM_BINS).long().clamp(max=NUM_BINS - 1)
    figures = torch.stack([torch.ones_like(is_right), probabilities, is_right])
    return figures.new_zeros(3, NUM_BINS).index_add_(1, bins, figures).cpu()


def mean_error(bins: Sequence[Bin]) -> float:
    """The mean distance of probability and share, each bin weighted by what is in it."""
    total = sum(of_bin.num_queries for of_bin in bins)
    errors = (of.num_queries * abs(of.probability - of.share_right) for of in bins)
    return sum(errors) / total


def plot_reliability(
    measured: Mapping[str, Sequence[Bin]], path: Path, title: str, across: str, up: str
) -> None:
    """Plot the share of what is right over its probability, and where both are equal."""
    curves = [
        Curve(name, [(of.probability, of.share_right) for of in bins], number, dashed=False)
        for number, (name, bins) in enumerate(measured.items())
    ]
    curves.append(Curve("as they should be", [(0.0, 0.0), (1.0, 1.0)], len(curves), dashed=True))
    plot_lines(curves, path, title, across, up, logarithmic=False)
