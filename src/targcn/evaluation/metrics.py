"""The metrics: each is the mean over all queries of a number made from the target's rank.

Reports, run cards, comparisons and experiments show whatever stands here, in this order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from torch import Tensor


@dataclass(frozen=True)
class Metric:
    """A metric: its key in files, its label in tables, and its value for each rank."""

    key: str
    label: str
    of_ranks: Callable[[Tensor], Tensor]
    format: str = ".3f"


def _hits(most: int) -> Metric:
    return Metric(f"hits@{most}", f"Hits@{most}", lambda ranks: (ranks <= most).double())


METRICS: Final[tuple[Metric, ...]] = (
    Metric("mrr", "MRR", lambda ranks: 1 / ranks),
    _hits(1),
    _hits(3),
    _hits(10),
    Metric("mean_rank", "mean rank", lambda ranks: ranks, ",.1f"),
)
# What papers on this task print, and the order of the published figures in experiments/*.toml.
PAPER_METRICS: Final = METRICS[:4]


def compute_metrics(ranks: Tensor) -> dict[str, float]:
    """Every metric of these ranks.

    >>> import torch
    >>> compute_metrics(torch.tensor([1.0, 2.0, 4.0, 4.0]))
    {'mrr': 0.5, 'hits@1': 0.25, 'hits@3': 0.5, 'hits@10': 1.0, 'mean_rank': 2.75}
    """
    return {metric.key: float(metric.of_ranks(ranks).mean()) for metric in METRICS}


def mrr_interval(ranks: Tensor) -> tuple[float, float]:
    """The 95 % confidence interval of the MRR: mean ± 1.96 standard errors over facts.

    One row per direction, one column per fact: the two queries of a fact are not independent, so
    their mean is one observation.
    """
    per_fact = (1 / ranks).mean(0)
    middle = float(per_fact.mean())
    if len(per_fact) < 2:
        return middle, middle
    reach = 1.96 * float(per_fact.std()) / len(per_fact) ** 0.5
    return middle - reach, middle + reach
