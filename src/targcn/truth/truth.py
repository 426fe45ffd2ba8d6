"""What is probably true in a context: of any fact, and of those that the known ones suggest."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context, Dataset
from targcn.facts.holes import Gaps
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns
from targcn.graph.suggestions import Suggestions
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of
from targcn.graph.traces import FactTraces, Traces
from targcn.output.terminal import count_progress
from targcn.truth.judge import Features, Judge
from targcn.truth.training import PRESUMED, look_at, train_judge

# Facts judged at once; bounds memory, not results.
FACTS_AT_ONCE: Final = 1 << 16
# A fact repeats a known one if its relation comes with that one's at least so often.
MIRROR_SHARE: Final = 0.8
# What is less probable is not listed as missing.
LEAST_PROBABILITY: Final = 0.1


@dataclass(frozen=True, eq=False)
class Judged(Columns):
    """Facts, and how probable each is to be true."""

    facts: FactColumns
    probabilities: Tensor
    # Whether a known fact about both entities at that time says much the same (MIRROR_SHARE).
    is_mirror: Tensor

    def __len__(self) -> int:
        return len(self.probabilities)


def fit_judge(
    dataset: Dataset,
    context: Context,
    gaps: Gaps = "mixed",
    presumed: float = PRESUMED,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judge:
    """A judge that learns from the facts of a context.

    How many facts are missing is a property of the context: facts of a split that it lacks are.
    """
    facts = dataset.context(context)
    if len(facts) == 0:
        raise InputError(f"{dataset.name} has no facts in the context {context}")
    with count_progress("learning what is true", "folds", progress) as shown:
        return train_judge(
            facts,
            len(dataset.entities),
            len(dataset.relations),
            torch.tensor(dataset.timeline.ticks),
            gaps=gaps,
            presumed=presumed,
            past_only=context == "past",
            seed=seed,
            progress=shown,
        )


class Truth:
    """A judge over the facts of a graph.

    A probability is that of being true where at most the share `presumed` of all facts is missing
    in each way that the judge knows.
    """

    def __init__(
        self, graph: TemporalGraph, dataset: Dataset, judge: Judge, presumed: float = PRESUMED
    ) -> None:
        self.graph = graph.to("cpu")
        self.ticks = torch.tensor(dataset.timeline.ticks)
        self.judge, self.presumed = judge.to("cpu").eval(), presumed

    def presuming(self, presumed: float) -> "Truth":
        """The same, where other shares of the facts are presumed missing at most."""
        other = copy(self)
        other.presumed = presumed
        return other

    @cached_property
    def traces(self) -> Traces:
        return Traces(self.graph)

    @cached_property
    def suggestions(self) -> Suggestions:
        return Suggestions.of(self.graph, self.ticks)

    def _look_at(self, facts: FactColumns) -> tuple[Features, FactTraces]:
        unit = float(self.judge.unit)
        return look_at(self.traces, self.suggestions, facts, unit, known_share=1.0)

    @torch.inference_mode()
    def judge_facts(self, facts: FactColumns, hidden: bool = False) -> Judged:
        """How probable each fact is; one that is known is judged as if it were not.

        Or as if it had been hidden, among other true ones, as while the judge learned.
        """
        parts = []
        for rows in torch.split(torch.arange(len(facts)), FACTS_AT_ONCE):
            some = facts[rows].to("cpu")
            features, of_facts = self._look_at(some)
            odds = self.judge.log_odds(features, None if hidden else self.presumed)
            parts.append((odds.sigmoid().double(), of_facts.best_share >= MIRROR_SHARE))
        if not parts:
            nothing = torch.zeros(0, dtype=torch.float64)
            return Judged(facts, nothing, nothing.bool())
        probabilities, is_mirror = (torch.cat(part) for part in zip(*parts, strict=True))
        return Judged(facts, probabilities, is_mirror)

    def find_missing(
        self,
        time: int | None = None,
        relation: int | None = None,
        entity: int | None = None,
        least: float = LEAST_PROBABILITY,
        progress: Progress | None = None,
    ) -> Judged:
        """The suggested facts that are at least so probable, in the order of their codes."""
        parts = [self.judge_facts(self.suggestions.facts(torch.arange(0)))]
        suggested = self._judge_suggested(time, relation, entity, progress)
        parts += [judged[judged.probabilities >= least] for judged in suggested]
        columns = zip(*(part.tensors() for part in parts), strict=True)
        *facts, probabilities, is_mirror = map(torch.cat, columns)
        return Judged(FactColumns(*facts), probabilities, is_mirror)

    def _judge_suggested(
        self, time: int | None, relation: int | None, entity: int | None, progress: Progress | None
    ) -> Iterator[Judged]:
        num = len(self.suggestions)
        for rows in torch.split(torch.arange(num), FACTS_AT_ONCE):
            facts = self.suggestions.facts(rows)
            wanted = torch.ones(len(facts), dtype=torch.bool)
            if time is not None:
                wanted &= facts.times == time
            if relation is not None:
                wanted &= facts.relations == relation
            if entity is not None:
                wanted &= (facts.subjects == entity) | (facts.objects == entity)
            yield self.judge_facts(facts[wanted])
            if progress is not None and num:
                progress(int(rows[-1]) + 1, num)

    def expect_answers(self, subject: int, relation: int, time: int) -> float:
        """How many objects a subject is expected to have at a time, besides those that are known.

        The relation may be a reciprocal one, which asks for subjects. What rules suggest is judged:
        of all that could be, hardly anything else is true.
        """
        num = self.graph.num_relations
        owners = self.traces.owners.codes
        backward = int(reciprocal_of(torch.tensor(relation), num))
        answers = owners[owners % (2 * num) == backward] // (2 * num)
        same = torch.full_like(answers, subject), torch.full_like(answers, relation % num)
        subjects, objects = (same[0], answers) if relation < num else (answers, same[0])
        facts = FactColumns(subjects, same[1], objects, torch.full_like(answers, time))
        holds = self.traces.triples.look(self.traces.codes_of(facts), facts.times)[3] > 0
        likely = ~holds & (self.suggestions.shares_of(facts) > 0).any(1)
        return float(self.judge_facts(facts[likely]).probabilities.sum())

    def last_fact(self, entity: int) -> int | None:
        """The tick of the last fact of an entity; None if it has none."""
        last = self.graph.ends[self.graph.offsets[entity] : self.graph.offsets[entity + 1]]
        return int(last.max()) if len(last) else None

    @torch.inference_mode()
    def weigh_traces(self, fact: FactColumns) -> tuple[FactTraces, Tensor, Tensor]:
        """The traces of one fact, the shares of rules that lead to it, and the effects of groups.

        An effect is what the logit loses if the group says nothing.
        """
        features, of_fact = self._look_at(fact)
        effects = self.judge.effects(features, self.presumed)
        return of_fact, self.suggestions.shares_of(fact)[0], effects[0]
