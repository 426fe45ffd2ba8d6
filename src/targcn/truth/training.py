"""How the judge learns: parts of the known facts are hidden, and found again by their traces.

What is hidden is in no graph that it looks at, so that none of its traces is left anywhere. A
finder learns from what the others suggest (graph/suggestions.py): those that were hidden are true.
The rest is not known to be false: the facts that are missing from the data are among them. If they
are the share m of all facts and the fold hides h, a true fact that is not known was hidden with
probability c = h / (h + m), so that P(hidden) = c · P(true), which is what is fitted. Where more
than c of the most probable facts turn out to be hidden ones, m cannot be as large as presumed, and
c is taken from them.

What no rule suggests is judged by a network that tells hidden facts from wrong ones which were made
of them, by another time, near or far, or another entity. True ones are far rarer among all that
could be than among those that are asked about like this, so its odds are lowered (judge.RARE).
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from targcn.evaluation.filters import KnownAnswers
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Facts
from targcn.facts.holes import Gaps, hide_blocks, hide_facts
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns
from targcn.graph.suggestions import Suggestions
from targcn.graph.temporal_graph import TemporalGraph
from targcn.graph.traces import FactTraces, Traces, find_codes
from targcn.truth.judge import Features, Finder, Judge, Network, bend, buckets
from targcn.truth.wrong import make_wrong

Hide = Callable[[Facts, float, int, int], NDArray[np.bool_]]
# The share of the known facts that a fold hides, and the share of all facts presumed missing.
HIDDEN_SHARE: Final = 0.1
# Of a few facts none may be hidden by chance; then this share counts as hidden.
LEAST_HIDDEN: Final = 0.01
PRESUMED: Final = 0.1
# Folds: as many as hide so many facts together, within these bounds.
HIDDEN_FACTS: Final = 80_000
FEWEST_FOLDS, MOST_FOLDS = 4, 10
HIDE: Final[Mapping[str, Hide]] = {"facts": hide_facts, "blocks": hide_blocks}
# From where to where hidden facts say how many are missing at most, the most probable first, if
# there are so many of them in a fold. The very first may be of a kind that is not missing: a
# relation's whole tick is found easily. And the largest share of hidden ones that is believed.
BEST: Final = (0.1, 0.25)
FEWEST_HIDDEN: Final = 400
MOST_HIDDEN: Final = 0.995
# Suggested facts of a fold that are learned from, besides the hidden ones.
MOST_SUGGESTED: Final = 60_000
# Suggested facts count as drawn at least this often: what is less probable need not be told apart.
RAREST: Final = 1e-4
# Hidden facts of all folds that wrong ones are made of.
MOST_ASKED: Final = 30_000
EPOCHS: Final = 5
# With few facts, at least so many steps are taken.
LEAST_STEPS: Final = 200
BATCH: Final = 2048
RATE: Final = 5e-3
WARM_UP: Final = 0.15
WEIGHT_DECAY: Final = 0.1


@dataclass(frozen=True, eq=False)
class Lessons(Columns):
    """Facts to learn from: which were hidden, and the logarithm of how rarely a fact like this is
    drawn if it was not hidden."""

    features: Features
    is_hidden: Tensor
    rarity: Tensor

    def __len__(self) -> int:
        return len(self.is_hidden)


@dataclass(frozen=True, eq=False)
class Setup:
    """What is the same for all folds."""

    facts: Facts
    num_entities: int
    num_relations: int
    ticks: Tensor
    past_only: bool
    unit: float

    def graph(self, facts: Facts) -> TemporalGraph:
        graph = TemporalGraph.of(facts, self.num_entities, self.num_relations)
        return graph.as_past() if self.past_only else graph


def train_judge(
    facts: Facts,
    num_entities: int,
    num_relations: int,
    ticks: Tensor,
    *,
    gaps: Gaps = "mixed",
    presumed: float = PRESUMED,
    past_only: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judge:
    """A judge of facts by the known ones, which are all of these."""
    start = time.perf_counter()
    unit = typical_step(ticks)
    setup = Setup(facts, num_entities, num_relations, ticks, past_only, unit)
    every = _known(setup.graph(facts))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        judge = Judge(gaps, num_relations, unit)
        number = math.ceil(HIDDEN_FACTS / max(HIDDEN_SHARE * len(facts), 1))
        number = min(max(number, FEWEST_FOLDS), MOST_FOLDS) // len(judge.finders)
        num_folds, asked = number * len(judge.finders), []
        for done, (way, finder) in enumerate(judge.finders.items()):
            suggested, hidden = [], []
            for fold in range(number):
                if progress is not None:
                    progress(done * (number + 1) + fold, num_folds + len(judge.finders))
                is_hidden = HIDE[way](facts, HIDDEN_SHARE, 1000 * seed, fold)
                if is_hidden.all():
                    is_hidden[:] = False
                hidden.append(float(is_hidden.mean()))
                examples = _Fold(setup, is_hidden, 1000 * seed + fold)
                suggested.append(examples.suggested())
                asked.append(examples.asked(every, MOST_ASKED // num_folds))
            share = max(float(np.mean(hidden)), LEAST_HIDDEN)
            finder.hidden_share.fill_(share * (1 - presumed))
            finder.missing_share.fill_(presumed)
            _train_finder(finder, _join(suggested), FEWEST_HIDDEN * number, seed)
        _fit(judge.asked, _join(asked), 1.0, seed)
    judge.seconds.fill_(time.perf_counter() - start)
    return judge.eval()


def _train_finder(finder: Finder, lessons: Lessons, fewest: int, seed: int) -> None:
    """Train the network of each half on the other half, and fit the curve through both."""
    initial = {name: value.clone() for name, value in finder.state_dict().items()}
    _fit_halves(finder, lessons, seed)
    if (share := _share_of_best(finder, lessons, fewest)) > _hidden_among_unknown(finder):
        finder.load_state_dict(initial)
        finder.missing_share.copy_(finder.hidden_share * (1 - share) / share)
        _fit_halves(finder, lessons, seed)
    _fit_curve(finder, lessons)


def _fit_halves(finder: Finder, lessons: Lessons, seed: int) -> None:
    share = _hidden_among_unknown(finder)
    for half, network in enumerate(finder.networks):
        assert isinstance(network, Network)
        _fit(network, lessons[lessons.features.halves != half], share, seed)


def _hidden_among_unknown(finder: Finder) -> float:
    """Of the true facts that are not known to a fold, the share that it has hidden."""
    return float(finder.hidden_share / (finder.hidden_share + finder.missing_share))


@torch.no_grad()
def _share_of_best(finder: Finder, lessons: Lessons, fewest: int) -> float:
    """The share of hidden ones among very probable facts: at least this, but for chance.

    It is 0 if hidden ones are too few.
    """
    order = finder.logits(lessons.features).argsort(descending=True)
    is_hidden = lessons.is_hidden[order].double()
    drawn_for = torch.where(lessons.is_hidden, 0.0, lessons.rarity.double())[order].exp()
    num_hidden = int(is_hidden.sum())
    if num_hidden < fewest:
        return 0.0
    counts, borders = is_hidden.cumsum(0), torch.tensor(BEST, dtype=torch.float64) * num_hidden
    first, last = torch.searchsorted(counts, borders)
    num_best = counts[last] - counts[first]
    share = num_best / drawn_for[first + 1 : last + 1].sum()
    chance = 2 * (share * (1 - share) / num_best).clamp(min=0).sqrt()
    return float((share - chance).clamp(max=MOST_HIDDEN))


def typical_step(ticks: Tensor) -> float:
    """The median number of ticks from one time of the data to the next.

    >>> typical_step(torch.tensor([0, 24, 48, 96]))
    24.0
    """
    return float(ticks.diff().double().median()) if len(ticks) > 1 else 1.0


def look_at(
    traces: Traces, suggestions: Suggestions, facts: FactColumns, unit: float, known_share: float
) -> tuple[Features, FactTraces]:
    """What a judge looks at, and the traces that it is made of."""
    of_facts = traces.of(facts)
    of_rules = suggestions.shares_of(facts)
    return Features.of(facts, buckets(of_facts, of_rules, unit, known_share)), of_facts


class _Fold:
    """What is learned if some facts are hidden."""

    def __init__(self, setup: Setup, is_hidden: NDArray[np.bool_], seed: int) -> None:
        self.setup, self.known_share = setup, 1 - float(is_hidden.mean())
        self.hidden = setup.facts.where(is_hidden)
        self.graph = setup.graph(setup.facts.where(~is_hidden))
        self.traces = Traces(self.graph)
        self.suggestions = Suggestions.of(self.graph, setup.ticks, self.known_share)
        self.generator = torch.Generator().manual_seed(seed)

    def _look_at(self, facts: FactColumns) -> Features:
        unit = self.setup.unit
        return look_at(self.traces, self.suggestions, facts, unit, self.known_share)[0]

    def suggested(self) -> Lessons:
        """What is suggested: all that was hidden, and some of the others."""
        suggestions = self.suggestions
        # Of what rules say is likely more is drawn.
        likely = suggestions.shares[suggestions.unknown].amax(1).double()
        chance = (likely * (MOST_SUGGESTED / likely.sum().clamp(min=1e-9))).clamp(max=1.0)
        is_drawn = torch.rand(len(chance), generator=self.generator, dtype=torch.float64) < chance
        subjects, relations, objects, times = FactColumns.of(self.hidden).tensors()
        positions, _ = find_codes(self.setup.ticks, times)
        hidden = suggestions.cells.codes(subjects, relations, objects, positions)
        codes = suggestions.codes[suggestions.unknown]
        places, is_suggested = find_codes(codes, hidden)
        is_drawn[places[is_suggested]] = True
        facts = suggestions.cells.facts(codes[is_drawn])
        rarity = -chance[is_drawn].clamp(min=RAREST).log().float()
        is_hidden = _known(self.setup.graph(self.hidden)).hold(facts)
        return Lessons(self._look_at(facts), is_hidden, rarity)

    def asked(self, every: KnownAnswers, most: int) -> Lessons:
        """Some of the hidden facts, and wrong ones that were made of them."""
        hidden = FactColumns.of(self.hidden)
        right = hidden[torch.randperm(len(hidden), generator=self.generator)[:most]]
        made = make_wrong(right, self.graph, self.setup.ticks, self.generator)
        wrong = (facts[~every.hold(facts)] for facts in made.values())
        columns = zip(right.tensors(), *(facts.tensors() for facts in wrong), strict=True)
        facts = FactColumns(*map(torch.cat, columns))
        is_hidden = torch.arange(len(facts)) < len(right)
        return Lessons(self._look_at(facts), is_hidden, torch.zeros(len(facts)))


def _known(graph: TemporalGraph) -> KnownAnswers:
    return KnownAnswers.of(graph, "time-aware")


def _join(lessons: list[Lessons]) -> Lessons:
    columns = zip(*(each.tensors() for each in lessons), strict=True)
    *features, is_hidden, rarity = map(torch.cat, columns)
    return Lessons(Features(*features), is_hidden, rarity)


def _loss(logits: Tensor, lessons: Lessons, share: float) -> Tensor:
    """The cross-entropy of having been hidden, which this share of what is true and unknown was."""
    log_hidden = math.log(share) + functional.logsigmoid(logits)
    log_others = math.log(share) + functional.logsigmoid(-logits)
    if share < 1:
        log_others = torch.logaddexp(log_others, torch.tensor(math.log1p(-share)))
    odds = log_hidden - log_others + lessons.rarity
    return functional.binary_cross_entropy_with_logits(odds, lessons.is_hidden.float())


def _fit(network: Network, lessons: Lessons, share: float, seed: int) -> None:
    """Take all steps; the learning rate rises and falls once."""
    if len(lessons) == 0:
        return
    num_steps = max(EPOCHS * math.ceil(len(lessons) / BATCH), LEAST_STEPS)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=num_steps, pct_start=WARM_UP
    )
    generator = torch.Generator().manual_seed(seed)
    # The operations of a step are small: a second thread would gain little, and wait for a busy
    # machine hundreds of times.
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    network.train()
    step = 0
    while step < num_steps:
        for rows in torch.split(torch.randperm(len(lessons), generator=generator), BATCH):
            batch = lessons[rows]
            loss = _loss(network(batch.features), batch, share)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            step += 1
            if step == num_steps:
                break
    torch.set_num_threads(num_threads)
    network.eval()
    network.set_means(lessons.features.buckets)


def _fit_curve(finder: Finder, lessons: Lessons) -> None:
    """Fit the curve through the logits of lessons, none of which its network has seen."""
    if len(lessons) == 0:
        return
    with torch.no_grad():
        logits = finder.logits(lessons.features)
    share, straight = _hidden_among_unknown(finder), finder.curve.clone()
    curve = straight.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([curve], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = _loss(bend(logits, curve), lessons, share)
        # A few facts can be told apart by chance; so it stays near the line that changes nothing.
        loss = loss + (curve - straight).square().sum() / (2 * len(lessons))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    finder.curve.copy_(curve.detach())
