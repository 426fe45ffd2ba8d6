"""How the judge learns: parts of the known facts are hidden, and found again by their traces.

What is hidden is in no graph that it looks at, so that none of its traces is left anywhere. The
facts of a fold are suggested by the others (graph/suggestions.py); those that were hidden are true.
The rest is not known to be false: the facts that are missing from the data are among them. If they
are the share m of all facts and the fold hides h, a true fact that is not known was hidden with
probability c = h / (h + m), so that P(hidden) = c · P(true), which is what is fitted. Where more
than c of the most probable facts turn out to be hidden ones, m cannot be as large as presumed, and
c is taken from them.

So that it can judge any fact and not only what is suggested, it also sees facts made of known ones
by another time, object or subject, and random ones. They are a sample; how often each could have
been drawn is known, and the logarithm of it joins the logit.
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
from targcn.truth.judge import NUM_BUCKETS, Judge, Network, buckets

Hide = Callable[[Facts, float, int], NDArray[np.bool_]]
# The share of the known facts that a fold hides, and the share of all facts presumed missing.
HIDDEN_SHARE: Final = 0.1
# Of a few facts none may be hidden by chance; then this share counts as hidden.
LEAST_HIDDEN: Final = 0.01
PRESUMED: Final = 0.1
# Folds: as many as hide so many facts together, within these bounds.
HIDDEN_FACTS: Final = 60_000
FEWEST_FOLDS, MOST_FOLDS = 4, 6
HIDE: Final[Mapping[str, Hide]] = {"facts": hide_facts, "blocks": hide_blocks}
# The most probable hidden facts of a fold, which say how many are missing at most; and the largest
# share of hidden ones that is believed among them.
NUM_BEST: Final = 400
MOST_HIDDEN: Final = 0.995
# Suggested facts of a fold that are learned from, besides the hidden ones; made ones of each kind.
MOST_SUGGESTED: Final = 60_000
MOST_MADE: Final = 5_000
# Made facts count as drawn at least this often: what is less probable need not be told apart.
RAREST: Final = 1e-4
EPOCHS: Final = 5
# With few facts, at least so many steps are taken.
LEAST_STEPS: Final = 200
BATCH: Final = 2048
RATE: Final = 3e-3
WARM_UP: Final = 0.15
WEIGHT_DECAY: Final = 0.1


@dataclass(frozen=True, eq=False)
class Lessons(Columns):
    """Facts to learn from, by their buckets: which were hidden, and the log of how rarely a fact
    like this is drawn if it was not hidden."""

    buckets: Tensor
    relations: Tensor
    is_hidden: Tensor
    is_suggested: Tensor
    rarity: Tensor

    def __len__(self) -> int:
        return len(self.relations)


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
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        judge = Judge(gaps, num_relations, unit)
        number = math.ceil(HIDDEN_FACTS / max(HIDDEN_SHARE * len(facts), 1))
        number = min(max(number, FEWEST_FOLDS), MOST_FOLDS) // len(judge.networks)
        for done, (way, networks) in enumerate(judge.pairs.items()):
            folds, hidden = [], []
            for fold in range(number):
                if progress is not None:
                    progress(done * (number + 1) + fold, len(judge.networks) * (number + 1))
                # A way of hiding may need several seeds in a row.
                is_hidden = HIDE[way](facts, HIDDEN_SHARE, 1000 * seed + 10 * fold)
                if is_hidden.all():
                    is_hidden[:] = False
                hidden.append(float(is_hidden.mean()))
                folds.append(_learn_fold(setup, is_hidden, 1000 * seed + fold))
            share = max(float(np.mean(hidden)), LEAST_HIDDEN)
            networks[0].hidden_share.fill_(share * (1 - presumed))
            networks[0].missing_share.fill_(presumed)
            _train(*networks, folds, seed)
    judge.seconds.fill_(time.perf_counter() - start)
    return judge.eval()


def _train(network: Network, of_others: Network, folds: list[Lessons], seed: int) -> None:
    """Train both networks of a way on all folds but one, and hold that one against them."""
    *learned, held_back = (fold[fold.is_suggested] for fold in folds)
    lessons = _join(learned)
    initial = {name: value.clone() for name, value in network.state_dict().items()}
    _fit(network, lessons, seed)
    if (share := _share_of_best(network, held_back)) > _hidden_among_unknown(network):
        network.load_state_dict(initial)
        network.missing_share.copy_(network.hidden_share * (1 - share) / share)
        _fit(network, lessons, seed)
    _fit_line(network, held_back)
    of_others.hidden_share.copy_(network.hidden_share)
    of_others.missing_share.copy_(network.missing_share)
    *learned, held_back = (fold[~fold.is_suggested] for fold in folds)
    _fit(of_others, _join(learned), seed)
    _fit_line(of_others, held_back)


def _hidden_among_unknown(network: Network) -> float:
    """Of the true facts that are not known to a fold, the share that it has hidden."""
    return float(network.hidden_share / (network.hidden_share + network.missing_share))


@torch.no_grad()
def _share_of_best(network: Network, lessons: Lessons) -> float:
    """The share of hidden ones among the most probable facts: at least this, but for chance."""
    order = network(lessons.buckets, lessons.relations).argsort(descending=True)
    is_hidden = lessons.is_hidden[order].double()
    drawn_for = torch.where(lessons.is_hidden, 0.0, lessons.rarity.double())[order].exp()
    counts = is_hidden.cumsum(0)
    enough = torch.searchsorted(counts, torch.tensor(float(NUM_BEST), dtype=torch.float64))
    if int(enough) >= len(counts):
        return 0.0
    share = counts[enough] / drawn_for.cumsum(0)[enough]
    chance = 2 * (share * (1 - share) / NUM_BEST).clamp(min=0).sqrt()
    return float((share - chance).clamp(max=MOST_HIDDEN))


def typical_step(ticks: Tensor) -> float:
    """The median number of ticks from one time of the data to the next.

    >>> typical_step(torch.tensor([0, 24, 48, 96]))
    24.0
    """
    return float(ticks.diff().double().median()) if len(ticks) > 1 else 1.0


def judge_buckets(
    traces: Traces, suggestions: Suggestions, facts: FactColumns, unit: float, known_share: float
) -> tuple[Tensor, FactTraces]:
    """What a judge is told of facts, and their traces, of which it is made."""
    of_facts = traces.of(facts)
    return buckets(of_facts, suggestions.shares_of(facts), unit, known_share), of_facts


def _learn_fold(setup: Setup, is_hidden: NDArray[np.bool_], seed: int) -> Lessons:
    """What is learned if some facts are hidden."""
    known_share = 1 - float(is_hidden.mean())
    known, hidden = setup.facts.where(~is_hidden), setup.facts.where(is_hidden)
    graph = setup.graph(known)
    traces = Traces(graph)
    suggestions = Suggestions.of(graph, setup.ticks, known_share)
    codes_of = suggestions.cells.codes

    def codes(facts: FactColumns) -> Tensor:
        positions, _ = find_codes(setup.ticks, facts.times)
        return codes_of(facts.subjects, facts.relations, facts.objects, positions)

    # Of what rules say is likely more is drawn.
    likely = suggestions.shares[suggestions.unknown].amax(1).double()
    chance = (likely * (MOST_SUGGESTED / likely.sum().clamp(min=1e-9))).clamp(max=1.0)
    generator = torch.Generator().manual_seed(seed)
    is_drawn = torch.rand(len(chance), generator=generator, dtype=torch.float64) < chance
    made, rate = _make_facts(FactColumns.of(known), setup, generator)
    suggested = suggestions.codes[suggestions.unknown]
    every = [suggested[is_drawn], codes(made), codes(FactColumns.of(hidden))]
    candidates = torch.unique(torch.cat(every))
    is_known = _known(graph).hold(suggestions.cells.facts(candidates))
    candidates = candidates[~is_known]
    facts = suggestions.cells.facts(candidates)
    told, of_facts = judge_buckets(traces, suggestions, facts, setup.unit, known_share)
    places, is_suggested = find_codes(suggested, candidates)
    # One chance more, for the place that is given where nothing is suggested.
    chances = functional.pad(chance, (0, 1))[places]
    drawn_share = torch.where(is_suggested, chances, rate(facts, of_facts).clamp(max=1.0))
    return Lessons(
        told,
        facts.relations.clone(),
        _known(setup.graph(hidden)).hold(facts),
        is_suggested,
        -drawn_share.clamp(min=RAREST).log().float(),
    )


def _known(graph: TemporalGraph) -> KnownAnswers:
    return KnownAnswers.of(graph, "time-aware")


def _make_facts(
    known: FactColumns, setup: Setup, generator: torch.Generator
) -> tuple[FactColumns, Callable[[FactColumns, FactTraces], Tensor]]:
    """Facts made of known ones, and how often each of some facts could have been drawn on average.

    A known fact gets any time; the object or the subject of another fact of its relation; or any
    entity as its object or subject.
    """
    num, num_times, num_entities = len(known), len(setup.ticks), setup.num_entities
    num_made = min(MOST_MADE, num)
    by_relation = torch.argsort(known.relations, stable=True)
    sizes = torch.bincount(known.relations, minlength=setup.num_relations)
    starts = sizes.cumsum(0) - sizes

    def draw(below: Tensor | int) -> Tensor:
        return (torch.rand(num_made, generator=generator, dtype=torch.float64) * below).long()

    def draw_fact() -> tuple[Tensor, Tensor, Tensor, Tensor, FactColumns]:
        """A known fact, and another of its relation."""
        subjects, relations, objects, times = known[draw(num)].tensors()
        other = known[by_relation[starts[relations] + draw(sizes[relations])]]
        return subjects, relations, objects, times, other

    parts = []
    for change in range(5):
        subjects, relations, objects, times, other = draw_fact()
        if change == 0:
            times = setup.ticks[draw(num_times)]
        elif change == 1:
            objects = other.objects
        elif change == 2:
            subjects = other.subjects
        elif change == 3:
            objects = draw(num_entities)
        else:
            subjects = draw(num_entities)
        parts.append((subjects, relations, objects, times))
    made = FactColumns(*map(torch.cat, zip(*parts, strict=True)))

    def rate(facts: FactColumns, of_facts: FactTraces) -> Tensor:
        counts = (of_facts.elsewhere + of_facts.now).double()
        shares_of_relation = counts[:, 2:4] / sizes[facts.relations].clamp(min=1)[:, None]
        of_subject, of_object = of_facts.now[:, 2], of_facts.now[:, 3]
        often = of_facts.elsewhere[:, 0] / num_times
        often = often + of_subject * (shares_of_relation[:, 1] + 1 / num_entities)
        often = often + of_object * (shares_of_relation[:, 0] + 1 / num_entities)
        return often * num_made / num

    return made, rate


def _join(lessons: list[Lessons]) -> Lessons:
    columns = zip(*(each.tensors() for each in lessons), strict=True)
    return Lessons(*(torch.cat(column) for column in columns))


def _loss(network: Network, logits: Tensor, lessons: Lessons) -> Tensor:
    """The cross-entropy of having been hidden."""
    share = _hidden_among_unknown(network)
    log_true = functional.logsigmoid(logits)
    log_hidden = math.log(share) + log_true
    odds = log_hidden - torch.log1p(-share * torch.sigmoid(logits)) + lessons.rarity
    return functional.binary_cross_entropy_with_logits(odds, lessons.is_hidden.float())


def _fit(network: Network, lessons: Lessons, seed: int) -> None:
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
            loss = _loss(network, network(batch.buckets, batch.relations), batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            step += 1
            if step == num_steps:
                break
    torch.set_num_threads(num_threads)
    network.eval()
    with torch.no_grad():
        for column, held in enumerate(lessons.buckets.T):
            counts = torch.bincount(held.long(), minlength=NUM_BUCKETS).float()
            rows = network.rows[column * NUM_BUCKETS : (column + 1) * NUM_BUCKETS]
            network.means[column] = counts @ rows / counts.sum()


def _fit_line(network: Network, lessons: Lessons) -> None:
    """Fit the line through the logits of lessons that the network has not seen."""
    if len(lessons) == 0:
        return
    with torch.no_grad():
        logits = network(lessons.buckets, lessons.relations)
    line = torch.tensor([1.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([line], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = _loss(network, line[0] * logits + line[1], lessons)
        # A few facts can be told apart by chance; so it stays near the line that changes nothing.
        loss = loss + (line - network.line).square().sum() / (2 * len(lessons))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    network.line.copy_(line.detach())
