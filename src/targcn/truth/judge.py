"""The judge: how probable it is that a fact which is not known is true, by its traces.

It is made of small networks. Each trace is put into a bucket, each bucket has a row of numbers, and
the rows of all traces are added up with a row of the relation: h = Σ rows. Then

    logit = w · gelu(norm(h) ⊙ (1 + g[r])) + b[r].

For each way in which facts are missing (facts/holes.py) a finder judges what rules suggest. A fact
may be missing in either way: the odds of all finders add up. Facts that no rule suggests are judged
by a network that tells hidden facts from ones that were made of them (truth/training.py).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.facts.holes import Gaps
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns
from targcn.graph.random import combine
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
# A finder has a network for each half of all facts that could be, which learned from the other.
HALVES: Final = 2
# No fact is so sure that its odds could not be told.
LEAST_DOUBT: Final = 1e-6
# Where the curve of a finder may become steeper.
BEND: Final = 1.0
# What the logarithm of the odds of a fact that no rule suggests is lowered by: true ones are rarer
# among all that could be than among those that are asked about. Where that can be known, of facts
# that were made of true ones and are suggested, it is -2.9 on ICEWS14 and -3.2 on congress.
RARE: Final = -3.2
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


@dataclass(frozen=True, eq=False)
class Features(Columns):
    """What a judge looks at, one row per fact."""

    # One column per trace, as GROUP_OF_COLUMN lists them.
    buckets: Tensor
    relations: Tensor
    # In which half of all facts that could be each is.
    halves: Tensor

    @classmethod
    def of(cls, facts: FactColumns, buckets: Tensor) -> "Features":
        halves = combine(0, *facts.tensors()) & 1
        return cls(buckets, facts.relations.long(), halves)

    def __len__(self) -> int:
        return len(self.relations)

    @property
    def are_suggested(self) -> Tensor:
        """Whether some rule leads to each fact: the last columns are the shares of rules."""
        return (self.buckets[:, -2:] > 0).any(1)


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
    """Logits of facts by the buckets of their traces."""

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
        self.means: Tensor

    def forward(self, features: Features) -> Tensor:
        """The logit of each fact."""
        places = self._places(features.buckets)
        hidden = functional.embedding_bag(places, self.rows, mode="sum")
        return self._logits(hidden, features.relations)

    def _places(self, buckets: Tensor) -> Tensor:
        columns = torch.arange(buckets.shape[1], device=buckets.device)
        return buckets.long() + columns * NUM_BUCKETS

    def _logits(self, hidden: Tensor, relations: Tensor) -> Tensor:
        hidden = self.norm(hidden + self.relations[relations])
        hidden = functional.gelu(hidden * (1 + self.gates[relations]))
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        logits: Tensor = hidden @ self.weights + self.biases[relations]
        return logits

    @torch.no_grad()
    def set_means(self, buckets: Tensor) -> None:
        """Take the mean rows of these facts for what says nothing."""
        for column, held in enumerate(buckets.T):
            counts = torch.bincount(held.long(), minlength=NUM_BUCKETS).float()
            rows = self.rows[column * NUM_BUCKETS : (column + 1) * NUM_BUCKETS]
            self.means[column] = counts @ rows / counts.sum()

    def without_groups(self, features: Features) -> Tensor:
        """The logits if one group of traces says nothing: one column per group."""
        rows = self.rows[self._places(features.buckets)]
        whole, logits = rows.sum(1), []
        for group in range(NUM_GROUPS):
            columns = [column for column, of in enumerate(GROUP_OF_COLUMN) if of == group]
            change = (self.means[columns] - rows[:, columns]).sum(1)
            logits.append(self._logits(whole + change, features.relations))
        return torch.stack(logits, dim=1)


class Finder(nn.Module):
    """The odds that a suggested fact is missing in one way.

    A fact that is missing from the data is among those that count as false while a network learns.
    So no network judges a fact that it learned from: each learns from one half of them, and judges
    the other.
    """

    def __init__(self, num_relations: int) -> None:
        super().__init__()
        self.networks = nn.ModuleList(Network(num_relations) for _ in range(HALVES))
        # The slope and the shift of a line through their logits, and how much steeper it becomes
        # where the odds are good: near 1, a logit changes slowly while it is learned.
        self.register_buffer("curve", torch.tensor([1.0, 0.0, 0.0]))
        # The shares of all true facts that it learned to find: those that were hidden, and those
        # that were missing anyway, as far as that can be known (training.py).
        self.register_buffer("hidden_share", torch.tensor(0.0))
        self.register_buffer("missing_share", torch.tensor(0.0))
        self.curve: Tensor
        self.hidden_share: Tensor
        self.missing_share: Tensor

    def _by_half(self, features: Features) -> Iterator[tuple[Network, Tensor]]:
        """Each network with the places of the facts that it judges."""
        for half, network in enumerate(self.networks):
            yield cast(Network, network), (features.halves == half).nonzero().flatten()

    def logits(self, features: Features) -> Tensor:
        """The logit of each fact before the curve."""
        logits = torch.zeros(len(features), device=features.relations.device)
        for network, places in self._by_half(features):
            logits[places] = network(features[places])
        return logits

    def log_odds(self, features: Features, presumed: float | None) -> Tensor:
        """The logarithm of the odds of being missing among what is not known.

        If nothing is presumed, it is that of being true among what a fold does not know.
        """
        room, hidden = self.missing_share, self.hidden_share
        odds = bend(self.logits(features), self.curve)
        if presumed is None:
            return odds
        # What was hidden in a fold is known when it judges.
        odds = odds + (room / (room + hidden)).log()
        # If fewer are missing than there is room for, the others are false.
        log_missing = functional.logsigmoid(odds) + (self.missing(presumed) / room).log()
        log_odds: Tensor = log_missing - torch.log1p(-log_missing.exp().clamp(max=1 - LEAST_DOUBT))
        return log_odds

    def effects(self, features: Features) -> Tensor:
        """How much each group of traces changes the logit against what says nothing."""
        without = torch.zeros(len(features), NUM_GROUPS, device=features.relations.device)
        for network, places in self._by_half(features):
            without[places] = network.without_groups(features[places])
        return bend(self.logits(features), self.curve)[:, None] - bend(without, self.curve)

    def missing(self, presumed: float) -> Tensor:
        """The share of all facts that counts as missing.

        It is what is presumed, if there is room for it. Else the presumption is wrong, and counts
        the less the less room there is.
        """
        room = self.missing_share
        return torch.minimum(room.new_tensor(presumed), room * room / presumed)


def bend(logits: Tensor, curve: Tensor) -> Tensor:
    """The curve of a finder over logits."""
    slope, shift, steeper = curve
    bent: Tensor = (
        slope * logits + shift + steeper.clamp(min=0) * functional.softplus(logits - BEND)
    )
    return bent


class Judge(nn.Module):
    """The odds that facts are true which are not known, whether rules suggest them or not."""

    def __init__(self, gaps: Gaps, num_relations: int, unit: float) -> None:
        super().__init__()
        self.gaps = gaps
        self.by_way = nn.ModuleDict({way: Finder(num_relations) for way in WAYS[gaps]})
        # Of facts that no rule suggests: whether they are true, or made of true ones.
        self.asked = Network(num_relations)
        # Ticks to a unit of gaps, and how many seconds it was trained.
        self.register_buffer("unit", torch.tensor(unit))
        self.register_buffer("seconds", torch.tensor(0.0))
        self.unit: Tensor
        self.seconds: Tensor

    @property
    def finders(self) -> dict[str, Finder]:
        return cast(dict[str, Finder], dict(self.by_way))

    def log_odds(self, features: Features, presumed: float | None) -> Tensor:
        """The logarithm of the odds that each fact is true."""
        suggested = self.odds_of_ways(features, presumed).logsumexp(0)
        shares = (
            finder.missing_share if presumed is None else finder.missing(presumed)
            for finder in self.finders.values()
        )
        missing = sum(shares)
        others = self.asked(features) + RARE + torch.as_tensor(missing).log()
        return torch.where(features.are_suggested, suggested, others)

    def odds_of_ways(self, features: Features, presumed: float | None) -> Tensor:
        """The logarithm of the odds that suggested facts are missing: a row for each way."""
        finders = self.finders.values()
        return torch.stack([finder.log_odds(features, presumed) for finder in finders])

    def effects(self, features: Features, presumed: float) -> Tensor:
        """How much each group of traces adds to the logit, by the network that decides."""
        decides = self.odds_of_ways(features, presumed).argmax(0)
        effects = torch.stack([finder.effects(features) for finder in self.finders.values()])
        of_asked = self.asked(features)[:, None] - self.asked.without_groups(features)
        of_suggested = effects[decides, torch.arange(len(features))]
        return torch.where(features.are_suggested[:, None], of_suggested, of_asked)

    def missing_shares(self, presumed: float) -> dict[str, float]:
        """What share of the facts counts as missing in each way."""
        return {way: float(finder.missing(presumed)) for way, finder in self.finders.items()}
