"""The judge: how probable it is that a fact which is not known is true, by its traces.

It has a small network for each way in which facts are missing (facts/holes.py). Each trace is put
into a bucket, each bucket has a row of numbers, and the rows of all traces are added up with a row
of the relation: h = Σ rows. Then

    logit = w · gelu(norm(h) ⊙ (1 + g[r])) + b[r].

A network learns from facts that were hidden in its way (truth/training.py). A fact may be missing
in either way: the odds of all networks add up.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.facts.holes import Gaps
from targcn.graph.traces import KEYS, FactTraces

Way = Literal["facts", "blocks"]
# In which ways facts may be missing, by what is said of the gaps.
WAYS: Final[Mapping[Gaps, tuple[Way, ...]]] = {
    "facts": ("facts",),
    "blocks": ("blocks",),
    "mixed": ("facts", "blocks"),
}
NUM_BUCKETS: Final = 40
# Whole numbers are buckets of their own below this, then there are two per doubling.
EXACT: Final = 8
# Shares have buckets by their logarithm up to this one, then so many for all others.
SMALL_SHARE: Final = 0.05
SHARE_BUCKETS: Final = 30
DIM: Final = 32
DROPOUT: Final = 0.2
# What belongs together is a group: each key, and beside all keys the numbers of objects and of
# subjects, the other relations of both at that time, the rules of one fact, and those of two.
NUM_GROUPS: Final = len(KEYS) + 5
# The group of each column: gaps before and after, counts elsewhere, counts now but for the fact.
_KEY_NUMBERS: Final = tuple(range(len(KEYS)))
GROUP_OF_COLUMN: Final = (
    *(3 * _KEY_NUMBERS),
    *_KEY_NUMBERS[1:],
    *(len(KEYS) + number for number in (0, 1, 2, 2, 3, 4)),
)


def buckets(traces: FactTraces, of_rules: Tensor, unit: float, known_share: float) -> Tensor:
    """The bucket of every trace: one row per fact, columns as GROUP_OF_COLUMN lists them.

    A gap is counted in units of so many ticks. Where a share of the facts is hidden, a share of
    cases in which two facts are known is that much smaller, and is made good.
    """
    best, total = traces.best_share / known_share, traces.sum_of_shares / known_share
    shares = torch.cat([torch.stack([best, 1 - torch.exp(-total)], dim=1), of_rules], dim=1)
    columns = [
        _number_buckets(_in_units(traces.before, unit)),
        _number_buckets(_in_units(traces.after, unit)),
        _number_buckets(traces.elsewhere),
        _number_buckets(traces.now[:, 1:]),
        _number_buckets(torch.stack([traces.num_objects, traces.num_subjects], dim=1)),
        _share_buckets(shares),
    ]
    return torch.cat(columns, dim=1).to(torch.uint8)


def _in_units(gaps: Tensor, unit: float) -> Tensor:
    return torch.where(gaps > 0, (gaps / unit).ceil(), gaps)


def _number_buckets(numbers: Tensor) -> Tensor:
    """Buckets of whole numbers from −1 on, which stands for none.

    >>> _number_buckets(torch.tensor([-1, 0, 7, 8, 12, 10**9])).tolist()
    [0, 1, 8, 9, 10, 39]
    """
    large = EXACT + torch.floor(2 * torch.log2(numbers.double().clamp(min=EXACT) / EXACT))
    return (torch.where(numbers < EXACT, numbers, large) + 1).clamp(max=NUM_BUCKETS - 1).long()


def _share_buckets(shares: Tensor) -> Tensor:
    """Buckets of shares; 0 has its own.

    >>> _share_buckets(torch.tensor([0.0, 0.001, 0.05, 0.5, 1.0])).tolist()
    [0, 4, 10, 23, 38]
    """
    small = (1 + torch.floor(torch.log2(shares.clamp(min=1e-4) * 1e4))).clamp(max=9)
    large = 10 + torch.floor((shares - SMALL_SHARE) * SHARE_BUCKETS)
    filled = torch.where(shares < SMALL_SHARE, small, large).clamp(max=NUM_BUCKETS - 1)
    return torch.where(shares > 0, filled, 0).long()


class Network(nn.Module):
    """Logits of facts by the buckets of their traces, if facts are missing in one way."""

    def __init__(self, num_relations: int) -> None:
        super().__init__()
        num_columns = len(GROUP_OF_COLUMN)
        scale = 1 / math.sqrt(num_columns)
        self.rows = nn.Parameter(scale * torch.randn(num_columns * NUM_BUCKETS, DIM))
        self.relations = nn.Parameter(0.1 * torch.randn(num_relations, DIM))
        self.gates = nn.Parameter(torch.zeros(num_relations, DIM))
        self.biases = nn.Parameter(torch.full((num_relations,), -4.0))
        self.norm = nn.LayerNorm(DIM)
        self.weights = nn.Parameter(torch.zeros(DIM))
        # The mean of each column's rows over what it learned from: what says nothing.
        self.register_buffer("means", torch.zeros(num_columns, DIM))
        # A line through its logits, fitted on facts that it has not seen.
        self.register_buffer("line", torch.tensor([1.0, 0.0]))
        # The shares of all true facts that it learned to find: those that were hidden, and those
        # that were missing anyway, as far as that can be known (training.py).
        self.register_buffer("hidden_share", torch.tensor(0.0))
        self.register_buffer("missing_share", torch.tensor(0.0))
        self.means: Tensor
        self.line: Tensor
        self.hidden_share: Tensor
        self.missing_share: Tensor

    def forward(self, buckets: Tensor, relations: Tensor) -> Tensor:
        """The logit of each fact, as it is learned: of being true among what is not known."""
        hidden = functional.embedding_bag(self._places(buckets), self.rows, mode="sum")
        return self._logits(hidden, relations)

    def _places(self, buckets: Tensor) -> Tensor:
        columns = torch.arange(buckets.shape[1], device=buckets.device)
        return buckets.long() + columns * NUM_BUCKETS

    def _logits(self, hidden: Tensor, relations: Tensor) -> Tensor:
        hidden = self.norm(hidden + self.relations[relations])
        hidden = functional.gelu(hidden * (1 + self.gates[relations]))
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        logits: Tensor = hidden @ self.weights + self.biases[relations]
        return logits

    def log_odds(self, buckets: Tensor, relations: Tensor, presumed: float) -> Tensor:
        """The logarithm of the odds that a fact is true and missing in this way.

        At most this share of the facts is presumed to be missing.
        """
        slope, shift = self.line
        missing = self.missing_share.clamp(max=presumed)
        scale = missing / (self.hidden_share + self.missing_share)
        logits: Tensor = self(buckets, relations)
        odds: Tensor = slope * logits + shift + scale.log()
        return odds

    def effects(self, buckets: Tensor, relations: Tensor) -> Tensor:
        """How much each group of traces changes the logit against what says nothing."""
        rows = self.rows[self._places(buckets)]
        whole = rows.sum(1)
        logit, effects = self._logits(whole, relations), []
        for group in range(NUM_GROUPS):
            columns = [column for column, of in enumerate(GROUP_OF_COLUMN) if of == group]
            change = (self.means[columns] - rows[:, columns]).sum(1)
            effects.append(logit - self._logits(whole + change, relations))
        return self.line[0] * torch.stack(effects, dim=1)


class Judge(nn.Module):
    """The networks for the ways in which facts may be missing, and what they were made for.

    Facts that no rule suggests have networks of their own: hardly any of them is true.
    """

    def __init__(self, gaps: Gaps, num_relations: int, unit: float) -> None:
        super().__init__()
        self.gaps = gaps
        self.networks = nn.ModuleDict({way: Network(num_relations) for way in WAYS[gaps]})
        self.of_others = nn.ModuleDict({way: Network(num_relations) for way in WAYS[gaps]})
        # Ticks to a unit of gaps, and how many seconds it was trained.
        self.register_buffer("unit", torch.tensor(unit))
        self.register_buffer("seconds", torch.tensor(0.0))
        self.unit: Tensor
        self.seconds: Tensor

    @property
    def pairs(self) -> dict[str, tuple[Network, Network]]:
        """Of each way the network for suggested facts, and the one for others."""
        pairs = {way: (self.networks[way], self.of_others[way]) for way in self.networks}
        return cast(dict[str, tuple[Network, Network]], pairs)

    def log_odds(self, buckets: Tensor, relations: Tensor, presumed: float) -> Tensor:
        """The logarithm of the odds that each fact is true, which is missing in any of the ways."""
        return self._odds_of_ways(buckets, relations, presumed).logsumexp(0)

    def _odds_of_ways(self, buckets: Tensor, relations: Tensor, presumed: float) -> Tensor:
        is_suggested = _is_suggested(buckets)
        odds = []
        for pair in self.pairs.values():
            suggested, others = (of.log_odds(buckets, relations, presumed) for of in pair)
            odds.append(torch.where(is_suggested, suggested, others))
        return torch.stack(odds)

    def effects(self, buckets: Tensor, relations: Tensor, presumed: float) -> Tensor:
        """How much each group of traces adds to the logit, by the network that decides."""
        decides = self._odds_of_ways(buckets, relations, presumed).argmax(0)
        is_suggested = _is_suggested(buckets)[:, None]
        effects = []
        for pair in self.pairs.values():
            suggested, others = (of.effects(buckets, relations) for of in pair)
            effects.append(torch.where(is_suggested, suggested, others))
        return torch.stack(effects)[decides, torch.arange(len(decides))]

    def missing_shares(self, presumed: float) -> dict[str, float]:
        """What share of the facts is taken for missing in each way: no more than is presumed."""
        return {
            way: min(float(network.missing_share), presumed)
            for way, (network, _) in self.pairs.items()
        }


def _is_suggested(buckets: Tensor) -> Tensor:
    """Whether some rule leads to each fact: its last columns are the shares of rules."""
    return (buckets[:, -2:] > 0).any(1)
