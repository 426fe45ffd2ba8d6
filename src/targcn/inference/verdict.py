"""Is it so? A fact judged in words: whether it is probably true, and what says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from targcn.facts.dataset import Dataset
from targcn.graph.queries import FactColumns
from targcn.graph.traces import KEYS, NEVER
from targcn.inference.explanation import multiple
from targcn.inference.questions import Ids, name_finders
from targcn.truth.truth import Truth

if TYPE_CHECKING:
    from targcn.graph.traces import FactTraces

# What the traces of a key are those of: s, r and o are the parts of the fact.
SUBJECTS_OF_KEYS: Final = (
    "this fact",
    "{o} — {r} — {s}",
    "{s} — {r} — anything",
    "anything — {r} — {o}",
    "{s} with {o}",
    "{o} with {s}",
    "{o} — {r} — anything",
    "anything — {r} — {s}",
    "{s}, in any fact",
    "{o}, in any fact",
    "{r}, in any fact",
)
# Reasons that change the odds by less say nothing.
LEAST_FACTOR: Final = 1.2
# As a logarithm; what changes them by more can no longer be told from 0 or infinity.
MOST_EFFECT: Final = 20.0


@dataclass(frozen=True)
class Sign:
    """Something that the known facts hold around a fact, and what the odds are multiplied by."""

    text: str
    factor: float

    def __str__(self) -> str:
        return f"{self.text} ({multiple(self.factor)})"


@dataclass(frozen=True)
class Verdict:
    """How probable it is that a fact is true."""

    probability: float
    # Some split holds it. Then the probability is what it would have if it were hidden.
    is_known: bool
    # Of each way in which facts may be missing the share that is presumed to be.
    presumed: dict[str, float]
    # The strongest first.
    signs: tuple[Sign, ...]
    # When the fact holds besides, in words.
    times: str = ""

    def __str__(self) -> str:
        """A sentence: the verdict, its probability, and the strongest sign that points there.

        If none does, it tells when the fact holds besides.
        """
        if self.is_known:
            said = f"Known to be true; if it were hidden, it would be true with {self.rounded}"
        elif self.probability >= 0.5:
            said = f"Probably true: {self.rounded}"
        else:
            said = f"Probably not: {self.rounded}"
        leading = [sign for sign in self.signs if (sign.factor > 1) == (self.probability >= 0.5)]
        reason = leading[0].text if leading else self.times
        return f"{said}; {reason}" if reason else said

    @property
    def rounded(self) -> str:
        """The probability as people write one: neither 0 nor 1.

        >>> [Verdict(p, False, {}, ()).rounded for p in (0.99996, 0.9985, 0.0321)]
        ['over .999', '.999', '.032']
        """
        if self.probability > 0.999:
            return "over .999"
        if self.probability < 0.001:
            return "under .001"
        if self.probability >= 0.995:
            return f"{self.probability:.3f}".removeprefix("0")
        return f"{self.probability:.2g}".removeprefix("0")


def judge_fact(truth: Truth, dataset: Dataset, ids: Ids, is_known: bool, top: int = 6) -> Verdict:
    """The verdict on one fact."""
    fact = FactColumns(*torch.tensor(ids)[:, None])
    probability = float(truth.judge_facts(fact, hidden=is_known).probabilities[0])
    presumed = truth.judge.missing_shares(truth.presumed)
    signs = _weigh_signs(truth, dataset, ids)
    return Verdict(probability, is_known, presumed, _strongest(signs)[:top], signs[0].text)


def find_signs(truth: Truth, dataset: Dataset, ids: Ids) -> tuple[Sign, ...]:
    """What the known facts hold around a fact and changes its odds, the strongest first."""
    return _strongest(_weigh_signs(truth, dataset, ids))


def _strongest(signs: Sequence[Sign]) -> tuple[Sign, ...]:
    strong = [sign for sign in signs if max(sign.factor, 1 / sign.factor) >= LEAST_FACTOR]
    return tuple(sorted(strong, key=lambda sign: -max(sign.factor, 1 / sign.factor)))


def _weigh_signs(truth: Truth, dataset: Dataset, ids: Ids) -> list[Sign]:
    """All that is looked at, the fact itself at other times first."""
    of_fact, of_rules, effects = truth.weigh_traces(FactColumns(*torch.tensor(ids)[:, None]))
    parts = [name_of(id) for name_of, id in zip(name_finders(dataset).values(), ids, strict=True)]
    names = dict(zip("sro", parts, strict=False))
    texts = [_of_key(number, of_fact, dataset, names, ids[3]) for number in range(len(KEYS))]
    texts += [
        f"{names['s']} has {_count(int(of_fact.num_objects), 'object')} under {names['r']}",
        f"{names['o']} has {_count(int(of_fact.num_subjects), 'subject')} under {names['r']}",
        _beside(truth, dataset, ids, names),
        _of_rule(float(of_rules[0]), "one known fact leads", "no known fact leads"),
        _of_rule(float(of_rules[1]), "two known facts lead", "no two known facts lead"),
    ]
    factors = effects.clamp(-MOST_EFFECT, MOST_EFFECT).exp().tolist()
    return [Sign(text, factor) for text, factor in zip(texts, factors, strict=True)]


def _of_key(
    number: int, of_fact: "FactTraces", dataset: Dataset, names: dict[str, str], tick: int
) -> str:
    """When facts of a key hold besides: at that time, last before, and next after."""
    before, after, now = (
        int(column[0, number]) for column in (of_fact.before, of_fact.after, of_fact.now)
    )
    label = dataset.timeline.label
    parts = [f"{now:,} at that time"] if now else []
    parts.append(f"last {label(tick - before)}" if before != NEVER else "never before")
    parts.append(f"next {label(tick + after)}" if after != NEVER else "never after")
    if before == after == NEVER:
        parts[-2:] = [] if now else ["never"]
        parts += ["never else"] if now else []
    return f"{SUBJECTS_OF_KEYS[number].format(**names)}: {', '.join(parts)}"


def _beside(truth: Truth, dataset: Dataset, ids: Ids, names: dict[str, str]) -> str:
    """The relation of both at that time that this one comes with most often."""
    fact = FactColumns(*torch.tensor(ids)[:, None])
    found = truth.traces.best_beside(fact)
    if found is None:
        return f"{names['s']} and {names['o']} have no other relation then"
    relation, share = found
    num = len(dataset.relations)
    ends = ("s", "o") if relation < num else ("o", "s")
    other = dataset.relations.names[relation % num]
    beside = f"{names[ends[0]]} — {other} — {names[ends[1]]} at that time"
    return f"{beside}, with which it comes in {share:.0%} of the cases"


def _of_rule(share: float, leads: str, none_leads: str) -> str:
    """How often a fact like this follows from others that are known."""
    return f"{leads} to such a fact in {share:.0%} of the cases" if share else f"{none_leads} to it"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
