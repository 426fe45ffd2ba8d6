"""Slow, obvious versions of what the library does fast, and random small worlds to try them on."""

import cmath
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from hypothesis import assume, settings
from hypothesis import strategies as st
from torch import Tensor

from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.evidence import Evidence, EvidenceSettings
from targcn.models.layers.aggregators import Aggregator
from targcn.models.targcn import TARGCN
from targcn.models.tgap import TGAP

# Subject, relation, object, time; an interval has its last tick too, and either may be OPEN.
Fact = tuple[int, ...]
Query = tuple[int, int, int]  # subject, relation, time
Neighbor = tuple[int, int, int]  # entity, relation, time minus the query's

# Two busy cores say nothing about how long one example takes.
checked = settings(max_examples=60)


# --- the slow versions ---------------------------------------------------------------------


def with_reciprocals(facts: Sequence[Fact], num_relations: int) -> list[Fact]:
    return [*facts, *((o, r + num_relations, s, *when) for s, r, o, *when in facts)]


def first_tick(fact: Fact) -> int:
    return max(fact[3], 0)


def last_tick(fact: Fact) -> int:
    """Of an open interval, later than anything."""
    return 10**18 if len(fact) > 4 and fact[4] == OPEN else fact[-1]


def moment(fact: Fact, time: int) -> int:
    """The tick nearest to a time at which a fact holds."""
    return min(max(time, first_tick(fact)), last_tick(fact))


def holds(fact: Fact, time: int) -> bool:
    return moment(fact, time) == time


def known_answers(
    facts: Sequence[Fact], num_relations: int, which: str
) -> Mapping[Query, set[int]]:
    """A dictionary of sets; under the static filter the time of every key is 0."""
    known: defaultdict[Query, set[int]] = defaultdict(set)
    for s, r, o, t in with_reciprocals(facts, num_relations):
        if which != "raw":
            known[s, r, t if which == "time-aware" else 0].add(o)
    return known


def known_at(world: "World", query: Query) -> set[int]:
    """The true answers at the time of a query, fact by fact; facts may hold over intervals."""
    return {
        fact[2]
        for fact in with_reciprocals(world.facts, world.num_relations)
        if fact[:2] == query[:2] and holds(fact, query[2])
    }


def rank(scores: Sequence[float], target: int, known: set[int], ties: str) -> float:
    """Take the known answers out, sort what is left, and see where the target stands."""
    if ties == "mean":
        best = rank(scores, target, known, "optimistic")
        return (best + rank(scores, target, known, "pessimistic")) / 2
    left = [entity for entity in range(len(scores)) if entity == target or entity not in known]
    among_equals = 0 if ties == "optimistic" else 2
    left.sort(key=lambda entity: (-scores[entity], among_equals if entity == target else 1))
    return left.index(target) + 1


def resampled_differences(
    ranks: Sequence[float], others: Sequence[float], samples: Sequence[Sequence[int]]
) -> list[float]:
    """MRR minus another's over each sample of facts; the ranks of objects come first."""
    num_facts = len(ranks) // 2
    differences = []
    for sample in samples:
        total = 0.0
        for fact in sample:
            for query in (fact, num_facts + fact):
                total += 1 / ranks[query] - 1 / others[query]
        differences.append(total / (2 * len(sample)))
    return differences


def seen(facts: Sequence[Fact], num_entities: int, num_relations: int, query: Query) -> list[float]:
    """10^6·[(s, r, o) seen] + 10^2·count(s, o) + share of o under r."""
    s, r, _ = query
    everything = with_reciprocals(facts, num_relations)
    under_r = [fact for fact in everything if fact[1] == r]
    scores = []
    for o in range(num_entities):
        before = any(fact[:3] == (s, r, o) for fact in everything)
        together = sum(fact[0] == s and fact[2] == o for fact in everything)
        share = sum(fact[2] == o for fact in under_r) / len(under_r) if under_r else 0
        scores.append(1e6 * before + 1e2 * together + share)
    return scores


def decayed_copy(
    facts: Sequence[Fact],
    num_entities: int,
    num_relations: int,
    query: Query,
    scale: float = 30.0,
) -> list[float]:
    """Σ over the facts of s with o of (10 if same relation else 1)·(exp(−|Δ|/30) + 10^-3)."""
    scores = [0.0] * num_entities
    for fact in with_reciprocals(facts, num_relations):
        s, r, o, *_ = fact
        if s == query[0]:
            weight = 10 if r == query[1] else 1
            distance = abs(query[2] - moment(fact, query[2]))
            scores[o] += weight * (math.exp(-distance / scale) + 1e-3)
    return scores


def facts_around(
    facts: Sequence[Fact], num_relations: int, entity: int, time: int
) -> list[Neighbor]:
    """Every fact that comes in to an entity, seen from a time, sorted."""
    everything = with_reciprocals(facts, num_relations)
    return sorted(
        (fact[0], fact[1], moment(fact, time) - time) for fact in everything if fact[2] == entity
    )


def inclusion_probabilities(weights: Sequence[float], number: int) -> list[float]:
    """How likely each is among `number` sampled one after another, none of them twice."""
    included = [0.0] * len(weights)

    def sample(taken: tuple[int, ...], probability: float) -> None:
        left = [i for i in range(len(weights)) if i not in taken]
        if len(taken) == number or not left:
            for i in taken:
                included[i] += probability
            return
        total = sum(weights[i] for i in left)
        for i in left:
            sample((*taken, i), probability * weights[i] / total)

    sample((), 1.0)
    return included


def decode(
    decoder: str, query: Sequence[float], relation: Sequence[float], candidate: Sequence[float]
) -> float:
    """The score functions, number by number; BiQUE's relation is its rotation, then its shift."""
    size = len(query)
    if decoder == "distmult":
        return sum(query[i] * relation[i] * candidate[i] for i in range(size))
    if decoder == "complex":
        half, total = size // 2, 0j
        for i in range(half):
            q, r, o = (complex(v[i], v[half + i]) for v in (query, relation, candidate))
            total += q * r * o.conjugate()
        return total.real
    eighth, score = size // 8, 0.0
    for i in range(eighth):
        q, rotation, shift, o = (
            {unit: complex(v[i + 2 * n * eighth], v[i + (2 * n + 1) * eighth])
             for n, unit in enumerate("1ijk")}
            for v in (query, relation[:size], relation[size:], candidate)
        )  # fmt: skip
        shifted = {unit: q[unit] + shift[unit] for unit in "1ijk"}
        for unit, value in hamilton(shifted, rotation).items():
            score += value.real * o[unit].real + value.imag * o[unit].imag
    return score


def hamilton(left: Mapping[str, complex], right: Mapping[str, complex]) -> dict[str, complex]:
    """Multiply quaternions of complex numbers by the table i² = j² = k² = ijk = −1."""
    table = {"ij": (1, "k"), "jk": (1, "i"), "ki": (1, "j")}
    table |= {"ji": (-1, "k"), "kj": (-1, "i"), "ik": (-1, "j")}
    table |= {unit + unit: (-1, "1") for unit in "ijk"} | {"11": (1, "1")}
    table |= {"1" + unit: (1, unit) for unit in "ijk"} | {unit + "1": (1, unit) for unit in "ijk"}
    product = dict.fromkeys("1ijk", 0j)
    for one, a in left.items():
        for other, b in right.items():
            sign, unit = table[one + other]
            product[unit] += sign * a * b
    return product


def targcn_scores(
    model: TARGCN, query: Query, see: Callable[[int, int], list[Neighbor]]
) -> list[float]:
    """The equations of the paper, neighbour by neighbour; `see` gives what (entity, time) sees."""
    options = model.settings
    activate = {"tanh": torch.tanh, "relu": torch.relu}[options.activation]
    absolute = options.time_encoding == "absolute"

    def phi(moment: int) -> torch.Tensor:
        encoding = model.time_encoding
        pairs = zip(encoding.frequencies.tolist(), encoding.phases.tolist(), strict=True)
        code = [cmath.exp(1j * (w * options.time_factor * moment + p)).real for w, p in pairs]
        scale = 1 / math.sqrt(options.dim) if options.time_scaled else 1.0
        return torch.tensor(code, dtype=torch.float64) * scale

    def f(step: Aggregator, vector: torch.Tensor, moment: int) -> torch.Tensor:
        return step.f.weight @ torch.cat([vector, phi(moment)]) + step.f.bias

    def describe(entity: int, time: int, number: int) -> torch.Tensor:
        step = model.first if number == 1 or options.shared_layers else model.second
        near, own = see(entity, time), model.entities[entity]
        if not near:
            return activate(f(step, own, time if absolute else 0))
        messages = []
        for neighbor, relation, delta in near:
            h_e = model.entities[neighbor] if number == 1 else describe(neighbor, time + delta, 1)
            h_et = f(step, h_e, time + delta if absolute else delta)  # equation 1
            h_et = activate(h_et) if options.activation_inside else h_et
            if number == 2 and options.shared_layers:
                h_et = h_e  # f was applied in the first step
            both = torch.cat([h_et, model.relations[relation]])
            messages.append(step.W.weight @ both + step.W.bias)
        mean = torch.stack(messages).sum(0) / len(messages)  # equation 2
        return activate(mean + own if options.own_vector else mean)

    s, r, t = query
    subject = describe(s, t, options.steps).tolist()
    scores = []
    for entity in range(len(model.entities)):
        x = f(model.first, model.entities[entity], t if absolute else 0)
        x = activate(x) if options.activation_inside else x
        scores.append(decode(options.decoder, subject, model.relations[r].tolist(), x.tolist()))
    return scores


def factorized(
    name: str, model: Any, ticks: Sequence[int], fact: Fact
) -> tuple[float, list[float]]:
    """The papers' score of a fact, number by number, and the sizes that are to be kept small."""
    s, r, o, t = fact
    if name == "simple" and r >= model.num_relations:
        s, r, o = o, r - model.num_relations, s
    head, tail = model.entities[s].tolist(), model.entities[o].tolist()
    relation = model.relations[r].tolist()
    lasting = model.lasting[r].tolist() if name in ("chronor", "tntcomplex") else []
    time = [] if name in ("distmult", "simple", "complex") else time_row(model, ticks, t)
    score, sizes = 0.0, []
    if name == "distmult":
        for a, b, c in zip(head, relation, tail, strict=True):
            score += a * b * c
            sizes += [abs(a), abs(b), abs(c)]
    elif name == "simple":
        for a, b, c in zip(pairs(head), pairs(relation), pairs(tail), strict=True):
            score += (a[0] * b[0] * c[1] + c[0] * b[1] * a[1]) / 2
            sizes += [math.hypot(*a), math.hypot(*b), math.hypot(*c)]
    elif name == "tcompounde":
        for a, b, c, tau in zip(head, pairs(relation), tail, pairs(time), strict=True):
            scale, move = (math.pi * b[0] + tau[0]) * tau[1], math.pi * b[1]
            score += (a + move) * scale * c
            sizes += [abs(a), math.hypot(scale, move), abs(c)]
    elif name == "telm":
        for a, b, c, tau in zip(*map(multivectors, (head, relation, tail, time)), strict=True):
            timed = clifford(b, tau)
            turned = {unit: -value if unit else value for unit, value in c.items()}
            score += clifford(clifford(a, timed), turned)[""]
            sizes += [math.hypot(*number.values()) for number in (a, timed, c)]
    else:
        factors = complex_factors(name, relation, lasting, time)
        together = math.prod if name == "chronor" else sum
        for a, c, *between in zip(numbers(head), numbers(tail), *factors, strict=True):
            score += (a * together(between) * c.conjugate()).real
            # Subject and object stand in both of TNTComplEx's sums.
            sizes += [abs(a), abs(c)] * (2 if name == "tntcomplex" else 1)
            sizes += [abs(factor) for factor in between]
    return score, sizes


def complex_factors(
    name: str, relation: list[float], lasting: list[float], time: list[float]
) -> list[list[complex]]:
    """What stands between subject and object."""
    if name == "complex":
        return [numbers(relation)]
    if name == "chronor":
        return [numbers(relation) + numbers(time), numbers(lasting)]
    if name == "teast":
        spiral = []
        spins, phases = numbers(time[: len(time) // 2]), pairs(time[len(time) // 2 :])
        for r, tau, phase in zip(numbers(relation), spins, phases, strict=True):
            one, other = math.sin(abs(phase[0])), math.sin(abs(phase[1]))
            spiral.append(math.pi * r * tau + complex(one - other, one + other))
        return [spiral]
    timed = [r * tau for r, tau in zip(numbers(relation), numbers(time), strict=True)]
    return [timed, numbers(lasting)] if name == "tntcomplex" else [timed]


def numbers(row: Sequence[float]) -> list[complex]:
    """A row as complex numbers, the real parts being its first half."""
    return [complex(*pair) for pair in pairs(row)]


def pairs(row: Sequence[float]) -> list[tuple[float, float]]:
    """The numbers of a row's first half, each with that of the second half."""
    return list(zip(row[: len(row) // 2], row[len(row) // 2 :], strict=True))


def multivectors(row: Sequence[float]) -> list[dict[str, float]]:
    """A row as numbers of four parts, which are its quarters; e₁e₂ is the unit "12"."""
    size, units = len(row) // 4, ("", "1", "2", "12")
    return [{unit: row[n * size + k] for n, unit in enumerate(units)} for k in range(size)]


def clifford(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """Multiply by the rules that a unit twice is 1 and that two units exchanged change sign."""
    product = dict.fromkeys(("", "1", "2", "12"), 0.0)
    for one, a in left.items():
        for other, b in right.items():
            word, sign = one + other, 1
            while word not in product:
                if "21" in word:
                    word, sign = word.replace("21", "12", 1), -sign
                word = word.replace("11", "").replace("22", "")
            product[word] += sign * a * b
    return product


def time_row(model: Any, ticks: Sequence[int], time: int) -> list[float]:
    """The row of a known time, the nearest at either end, or what lies between two rows."""
    rows = model.times.rows.tolist()
    if time <= ticks[0] or time >= ticks[-1]:
        return rows[0] if time <= ticks[0] else rows[-1]
    after = next(number for number, tick in enumerate(ticks) if tick >= time)
    share = (time - ticks[after - 1]) / (ticks[after] - ticks[after - 1])
    return [(1 - share) * a + share * b for a, b in zip(*rows[after - 1 : after + 1], strict=True)]


def roughness(name: str, model: Any, power: int) -> float:
    """How much the rows of the times change, on average over the steps from one to the next."""
    rows = model.times.rows.tolist()
    step = model.step.tolist() if name == "telm" else [0.0] * len(rows[0])
    total = 0.0
    for before, after in pairwise(rows):
        change = [b - a - w for a, b, w in zip(before, after, step, strict=True)]
        if name == "teast":
            half = len(change) // 2
            spins_and_phases = zip(pairs(change[:half]), pairs(change[half:]), strict=True)
            sizes = [math.hypot(*spin, *phase) for spin, phase in spins_and_phases]
        else:
            sizes = [math.hypot(*pair) for pair in pairs(change)]
        total += sum(size**power for size in sizes)
    return total / max(len(rows) - 1, 1)


# An edge of T-GAP's graph: source, relation, target, time minus the query's.
Edge = tuple[int, int, int, int]


def tgap_layer(layer: Any, model: TGAP, states: Mapping[int, Tensor], edges: list[Edge]) -> Any:
    """Each node's sum of messages, weighted by a softmax per coordinate, edge by edge."""
    joined: dict[int, Tensor] = {}
    for node in states:
        messages, scores = [], []
        for source, relation, target, delta in edges:
            if target != node:
                continue
            distance = min(abs(delta), len(model.distances) - 1)
            sent = states[source] + model.relations[relation] + model.distances[distance]
            message = sent @ layer.maps[0 if delta < 0 else 1 if delta == 0 else 2]
            score = layer.attention * states[node] * message
            messages.append(message)
            scores.append(torch.where(score < 0, 0.2 * score, score))
        joined[node] = torch.zeros_like(states[node])
        if messages:
            joined[node] = (torch.stack(scores).softmax(0) * torch.stack(messages)).sum(0)
    return joined


def tgap_score(scores: Any, model: TGAP, one: Tensor, other: Tensor, edge: Edge) -> list[Tensor]:
    """The score of leaving a node in one state for a node in another, for each head."""
    _, relation, _, delta = edge
    distance = model.distances[min(abs(delta), len(model.distances) - 1)]
    key = (other + model.relations[relation]) @ scores.key
    key = key + distance @ scores.time_maps[0 if delta < 0 else 1 if delta == 0 else 2]
    size = len(key) // scores.heads
    found = []
    for head in range(scores.heads):
        part = slice(head * size, (head + 1) * size)
        product = (one @ scores.query)[part] @ key[part] / math.sqrt(size)
        found.append(product if product > 0 else 0.2 * product)
    return found


def tgap_nearest(edges: Sequence[Edge], node: int, count: int, num_relations: int) -> list[Edge]:
    """The edges that leave a node nearest in time, of two as far the earlier one."""
    # In the order of the graph, where each edge lies as the one that comes in.
    own = sorted(
        (edge for edge in edges if edge[0] == node),
        key=lambda edge: (edge[3], (edge[1] + num_relations) % (2 * num_relations), edge[2]),
    )
    before = [edge for edge in own if edge[3] < 0][::-1]
    after = [edge for edge in own if edge[3] >= 0]
    found: list[Edge] = []
    while len(found) < count and (before or after):
        takes_before = before and (not after or -before[0][3] <= after[0][3])
        found.append((before if takes_before else after).pop(0))
    return found


def tgap(
    model: TGAP,
    facts: Sequence[Fact],
    num_entities: int,
    num_relations: int,
    query: Query,
    hidden: Sequence[Fact] = (),
    past_only: bool = False,
) -> tuple[list[Tensor], list[dict[tuple[Edge, ...], float]]]:
    """The mass of each entity in every head, and that of each path, walked path by path."""
    settings, (subject, relation, time) = model.settings, query
    both = [one for one in with_reciprocals(facts, num_relations) if not past_only or one[3] < time]

    back = [(o, (r + num_relations) % (2 * num_relations), s, t) for s, r, o, t in hidden]
    gone = {*hidden, *back}
    seen = [(s, r, o, t - time) for s, r, o, t in both if (s, r, o, t) not in gone]
    delta_of_loops = -time if settings.loop_time == "first" else 0
    loops = [(one, 2 * num_relations, one, delta_of_loops) for one in range(num_entities)]
    table = dict(enumerate(model.entities))
    h = tgap_layer(model.whole_layer, model, table, seen + loops)
    asked = model.ask(torch.cat([h[subject], model.relations[relation]]))
    nothing = torch.zeros_like(asked)
    mass = [torch.zeros(settings.heads, dtype=asked.dtype) for _ in range(num_entities)]
    mass[subject] = mass[subject] + 1
    states = {subject: h[subject] @ model.enter}
    collected: list[Edge] = []
    # For each path that was walked so far, where it is and its mass in each head.
    walked: dict[tuple[Edge, ...], tuple[int, Tensor]] = {(): (subject, mass[subject])}
    everything = [(s, r, o, t - time) for s, r, o, t in both]
    for step in range(settings.steps):
        for node, state in states.items():
            states[node] = model.mix(torch.cat([state, asked]))
        count = 1 if step == 0 else settings.core_nodes
        senders = sorted(range(num_entities), key=lambda one: -float(mass[one].detach().mean()))[
            :count
        ]
        num_edges = settings.subject_edges if step == 0 else settings.node_edges
        leaving: dict[int, list[tuple[Edge, Tensor]]] = {}
        for node in senders:
            nearest = tgap_nearest(everything, node, num_edges, num_relations)
            edges = [edge for edge in nearest if edge in seen]
            edges.append(loops[node])
            scores = []
            for edge in edges:
                ends = (states.get(edge[0], nothing), states.get(edge[2], nothing))
                of_g = tgap_score(model.subgraph_scores, model, *ends, edge)
                of_h = tgap_score(model.whole_scores, model, h[edge[0]], h[edge[2]], edge)
                scores.append(torch.stack(of_g) + torch.stack(of_h))
            leaving[node] = list(zip(edges, torch.stack(scores).softmax(0), strict=True))
        after = [torch.zeros_like(one) if n in leaving else one for n, one in enumerate(mass)]
        carried = []
        for node, edges_and_shares in leaving.items():
            for edge, share in edges_and_shares:
                after[edge[2]] = after[edge[2]] + share * mass[node]
                carried.append((float((share * mass[node]).detach().mean()), edge))
        further: dict[tuple[Edge, ...], tuple[int, Tensor]] = {}
        for path, (node, carries) in walked.items():
            for edge, share in leaving.get(node, [(loops[node], torch.ones_like(carries))]):
                longer = path if edge in loops else (*path, edge)
                _, so_far = further.get(longer, (0, torch.zeros_like(carries)))
                further[longer] = edge[2], so_far + carries * share
        walked, mass = further, after
        if step + 1 == settings.steps:
            break
        carried = [one for one in sorted(carried, key=lambda one: -one[0]) if one[0] > 0]
        collected += [edge for _, edge in carried[: settings.subgraph_edges]]
        for _, _, target, _ in collected:
            states.setdefault(target, nothing)
        with_sources = {edge[0]: nothing for edge in collected} | states
        joined = tgap_layer(model.subgraph_layer, model, with_sources, collected)
        states = {
            node: joined[node] + mass[node].mean() * (h[node] @ model.enter) for node in states
        }
    paths: list[dict[tuple[Edge, ...], float]] = [{} for _ in range(num_entities)]
    for path, (node, carries) in walked.items():
        paths[node][path] = float(carries.detach().mean())
    return mass, paths


# --- from plain Python to the library's types ----------------------------------------------


def facts_of(facts: Sequence[Fact]) -> Facts:
    return Facts.of(*(zip(*facts, strict=True) if facts else [[]] * 4))


def queries_of(queries: Sequence[Query]) -> Queries:
    return Queries(*torch.tensor(queries, dtype=torch.long).reshape(-1, 3).T.contiguous())


@dataclass(frozen=True)
class World:
    """A small graph in plain Python; `cuts` part its facts into train, valid and test."""

    num_entities: int
    num_relations: int
    facts: list[Fact]
    cuts: tuple[int, int] = (0, 0)

    @property
    def graph(self) -> TemporalGraph:
        return TemporalGraph.of(facts_of(self.facts), self.num_entities, self.num_relations)

    @property
    def past(self) -> TemporalGraph:
        """The same graph, of which a query may see only what lies before its time."""
        return self.graph.as_past()

    @property
    def train(self) -> list[Fact]:
        return self.facts[: self.cuts[0]]

    @property
    def valid(self) -> list[Fact]:
        return self.facts[self.cuts[0] : self.cuts[1]]

    @property
    def test(self) -> list[Fact]:
        return self.facts[self.cuts[1] :]

    @property
    def dataset(self) -> Dataset:
        """Entities e0, e1, …; relations r0, r1, …; tick 0 is 1970-01-01."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        return Dataset(
            "world",
            Vocabulary("entity", [f"e{number}" for number in range(self.num_entities)]),
            Vocabulary("relation", [f"r{number}" for number in range(self.num_relations)]),
            Timeline.of("day", 0, True, [t for fact in self.facts for t in fact[3:] if t != OPEN]),
            {split: facts_of(facts) for split, facts in splits.items()},
        )


# --- random small worlds -------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn, min_facts: int = 0) -> World:
    """Self loops, duplicates, isolated entities, a single day and no facts at all may occur.

    Where there are facts, some are left for test; train and valid may be empty.
    """
    num_entities, num_relations = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    last_tick = draw(st.sampled_from([0, 1, 6, 400]))
    entities, ticks = st.integers(0, num_entities - 1), st.integers(0, last_tick)
    fact = st.tuples(entities, st.integers(0, num_relations - 1), entities, ticks)
    facts = draw(st.lists(fact, min_size=min_facts, max_size=12))
    if facts:
        facts += draw(st.lists(st.sampled_from(facts), max_size=3))
    cuts = sorted(draw(st.tuples(*[st.integers(0, max(len(facts) - 1, 0))] * 2)))
    return World(num_entities, num_relations, facts, (cuts[0], cuts[1]))


@st.composite
def worlds_with_queries(draw: st.DrawFn, min_facts: int = 0) -> tuple[World, list[Query]]:
    """Queries of either direction, most never seen, also at times before and after all facts."""
    world = draw(worlds(min_facts))
    query = st.tuples(
        st.integers(0, world.num_entities - 1),
        st.integers(0, 2 * world.num_relations - 1),
        st.integers(-2, 8) | st.sampled_from([-400, 399, 400, 401, 10**9]),
    )
    queries = draw(st.lists(query, min_size=1, max_size=8))
    if world.facts:
        of_facts = [(s, r, t) for s, r, _, t in with_reciprocals(world.facts, world.num_relations)]
        queries += draw(st.lists(st.sampled_from(of_facts), max_size=4))
    return world, queries


@st.composite
def interval_worlds_with_queries(draw: st.DrawFn, min_facts: int = 1) -> tuple[World, list[Query]]:
    """Facts that hold over intervals, of one tick or open ones too, and queries of any time.

    Facts say the same over several intervals, which may overlap.
    """
    world, queries = draw(worlds_with_queries(min_facts))
    lengths = st.lists(
        st.sampled_from([0, 0, 1, 2, 5, 300, OPEN]),
        min_size=len(world.facts),
        max_size=len(world.facts),
    )
    facts = [
        (s, r, o, t, OPEN if length == OPEN else t + length)
        for (s, r, o, t), length in zip(world.facts, draw(lengths), strict=True)
    ]
    opened = draw(st.sets(st.integers(0, len(facts)), max_size=3))
    facts = [
        (*fact[:3], OPEN, fact[4]) if place in opened else fact for place, fact in enumerate(facts)
    ]
    inside = [
        (s, r, moment((s, r, o, *when), time))
        for s, r, o, *when in with_reciprocals(facts, world.num_relations)
        for time in (0, 3, 200)
    ]
    queries += draw(st.lists(st.sampled_from(inside), max_size=4))
    return replace(world, facts=facts), queries


@st.composite
def interval_worlds(draw: st.DrawFn) -> World:
    """Facts that hold over intervals, of which at least one end is known."""
    world, _ = draw(interval_worlds_with_queries())
    assume(any(tick != OPEN for fact in world.facts for tick in fact[3:]))
    return world


@st.composite
def worlds_with_another_future(draw: st.DrawFn) -> tuple[World, World, list[Query]]:
    """Queries at one time, and two worlds that are the same before it."""
    world, queries = draw(worlds_with_queries())
    time = queries[0][2]
    now = [(s, r, time) for s, r, _ in queries]
    entities, first = st.integers(0, world.num_entities - 1), max(time, 0)
    relations, ticks = st.integers(0, world.num_relations - 1), st.integers(first, first + 500)
    future = draw(st.lists(st.tuples(entities, relations, entities, ticks), max_size=12))
    past = [fact for fact in world.facts if fact[3] < time]
    # Whole days of the same facts would change nothing in the order of the others.
    order = draw(st.permutations(past + future))
    return world, replace(world, facts=order), now


# --- the slow versions of the models that learn from sampled negatives ----------------------


def boxte(model: Any, ticks: Sequence[int], fact: Fact) -> tuple[float, list[str]]:
    """The paper's score of a fact, and of each coordinate whether it lies in the box or outside."""
    s, r, o, t = fact
    if r >= model.num_relations:
        s, r, o = o, r - model.num_relations, s
    dim, num_bumps = model.settings.dim, model.settings.time_bumps
    (bump_s, point_s), (bump_o, point_o) = model.entities[s].tolist(), model.entities[o].tolist()
    shares, bumps = model.shares[r].flatten().tolist(), time_row(model, ticks, t)
    moved = [sum(shares[j] * bumps[j * dim + k] for j in range(num_bumps)) for k in range(dim)]
    score, places = 0.0, []
    for place, (point, bump) in enumerate(((point_s, bump_o), (point_o, bump_s))):
        raw = [math.exp(width) for width in model.widths[r, place].tolist()]
        (size,) = model.sizes[r, place].tolist()
        size = 1 + (size if size > 0 else math.exp(size) - 1)
        squares = 0.0
        for k, middle in enumerate(model.centres[r, place].tolist()):
            half = raw[k] / math.prod(raw) ** (1 / dim) * size
            low, high = math.tanh(middle - half), math.tanh(middle + half)
            p, c, w = math.tanh(point[k] + bump[k] + moved[k]), (low + high) / 2, high - low + 1
            places.append("inside" if low <= p <= high else "outside")
            if places[-1] == "inside":
                squares += (abs(p - c) / w) ** 2
            else:
                squares += (abs(p - c) * w - (w - 1) * (w - 1 / w) / 2) ** 2
        score -= math.sqrt(squares)
    return score, places


def bump_changes(model: Any) -> float:
    """The fourth powers of what changes in a bump from a time to the next, mean of all of them."""
    dim, num_bumps = model.settings.dim, model.settings.time_bumps
    powers = []
    for before, after in pairwise(model.times.rows.tolist()):
        for j in range(num_bumps):
            part = range(j * dim, (j + 1) * dim)
            powers.append(sum((after[k] - before[k]) ** 4 for k in part))
    return sum(powers) / max(len(powers), 1)


def atise(model: Any, ticks: Sequence[int], fact: Fact) -> float:
    """Both margins less the energies of the fact and of its reciprocal."""
    s, r, o, t = fact
    options, num_relations = model.settings, model.num_relations
    passed = (t // options.bucket) / (max(ticks) // options.bucket + 1)

    def curve(curves: Any, row: int) -> tuple[list[float], list[float]]:
        start, *others = (
            table[row].tolist()
            for table in (curves.start, curves.drift, curves.swing, curves.turns, curves.spread)
        )
        length = max(math.hypot(*start), 1)
        least, most = options.least_variance, 100 * options.least_variance
        means, variances = [], []
        for e, w, b, turns, spread in zip(start, *others, strict=True):
            means.append(e / length + w * passed + b * math.sin(2 * math.pi * turns * passed))
            variances.append(least + (most - least) / (1 + math.exp(-spread)))
        return means, variances

    score = 2 * options.margin
    there, back = (s, r, o), (o, (r + num_relations) % (2 * num_relations), s)
    for subject, relation, thing in (there, back):
        of_s, of_o = curve(model.entities, subject), curve(model.entities, thing)
        of_r = curve(model.relations, relation)
        a = b = 0.0
        for mu_s, v_s, mu_o, v_o, mu_r, v_r in zip(*of_s, *of_o, *of_r, strict=True):
            a += (v_s + v_o) / v_r + (mu_r - mu_s + mu_o) ** 2 / v_r - 1
            b += v_r / (v_s + v_o) + (mu_s - mu_o - mu_r) ** 2 / (v_s + v_o) - 1
        score -= (a + b) / 4
    return score


def softmax_cost(right: float, wrong: Sequence[float]) -> float:
    """Cross-entropy of one answer among wrong ones."""
    return math.log(sum(math.exp(score) for score in (right, *wrong))) - right


def self_adversarial_cost(right: float, wrong: Sequence[float], temperature: float) -> float:
    """One answer and the wrong ones each by themselves, those weighted by a softmax."""

    def softplus(value: float) -> float:
        return max(value, 0.0) + math.log1p(math.exp(-abs(value)))

    total = sum(math.exp(temperature * score) for score in wrong)
    of_wrong = sum(math.exp(temperature * score) / total * softplus(score) for score in wrong)
    return (softplus(-right) + of_wrong) / 2


# --- the slow version of evidence -----------------------------------------------------------

Path = tuple[Fact, Fact]
Partner = tuple[int, int, int]  # relation, partner, count


def facts_from(facts: Sequence[Fact], num_relations: int, entity: int) -> list[Fact]:
    """The facts of an entity as their subject, in the order of the graph."""
    incoming = [fact for fact in with_reciprocals(facts, num_relations) if fact[2] == entity]
    incoming.sort(key=lambda fact: (first_tick(fact), fact[1], fact[0], last_tick(fact)))
    return [
        (entity, (r + num_relations) % (2 * num_relations), s, *when) for s, r, _, *when in incoming
    ]


def facts_under(facts: Sequence[Fact], num_relations: int, relation: int) -> list[Fact]:
    """The facts of a relation: by time, then as in the graph by object and subject."""
    under = [fact for fact in with_reciprocals(facts, num_relations) if fact[1] == relation]
    return sorted(under, key=lambda fact: (first_tick(fact), fact[2], fact[0], last_tick(fact)))


def nearest(facts: Sequence[Fact], time: int, count: int, past_only: bool = False) -> list[Fact]:
    """The first `count` by distance in time, and of two as far the one that began earlier, sorted.

    Those that began from the time on are taken in the order given; those before it, from the last.
    The time of each is its moment nearest to the time.
    """
    seen = []
    for place, fact in enumerate(facts):
        begun, then = first_tick(fact) < time, moment(fact, time)
        if begun or not past_only:
            order = abs(then - time), not begun, -place if begun else place
            seen.append((*order, (*fact[:3], then)))
    return sorted(fact for *_, fact in sorted(seen)[:count])


def partners(
    facts: Sequence[Fact], num_relations: int, entity: int, before: int | None = None
) -> list[Partner]:
    """How many times know each partner, most first, then by relation and partner."""
    of_entity = {
        (*fact[1:3], first_tick(fact), last_tick(fact))
        for fact in facts_from(facts, num_relations, entity)
    }
    counts = Counter((r, o) for r, o, t, _ in of_entity if before is None or t < before)
    return sorted(((r, o, n) for (r, o), n in counts.items()), key=lambda row: (-row[2], row))


@dataclass(frozen=True)
class FoundEvidence:
    """What speaks for the answers to one query; each kind is sorted."""

    facts: list[Fact]
    of_relation: list[Fact]
    paths: list[Path]
    partners: list[Partner]


def find_evidence(
    world: World,
    query: Query,
    how: EvidenceSettings,
    first: Sequence[Fact],
    hidden: Fact | None = None,
    past_only: bool = False,
) -> FoundEvidence:
    """Paths start with the facts `first`. A hidden fact leaves its places in the windows empty."""
    s, r, t = query
    num_relations = world.num_relations
    own = set()
    if hidden is not None:
        back = (hidden[1] + num_relations) % (2 * num_relations)
        own = {hidden, (hidden[2], back, hidden[0], hidden[3])}

    def near(facts: list[Fact], count: int) -> list[Fact]:
        return [fact for fact in nearest(facts, t, count, past_only) if fact not in own]

    def near_entity(entity: int, count: int) -> list[Fact]:
        return near(facts_from(world.facts, num_relations, entity), count)

    left = [fact for fact in world.facts if not (holds(fact, t) and (*fact[:3], t) in own)]
    counted = partners(left, num_relations, s, t if past_only else None)[: how.partners]
    return FoundEvidence(
        near_entity(s, how.facts),
        near(facts_under(world.facts, num_relations, r), how.relation_facts),
        sorted(
            (one, other)
            for one in first
            for other in near_entity(one[2], how.second_facts)
            if other[2] != s
        ),
        sorted(row for row in counted if row[2] > 0),
    )


def time_bucket(delta: int, unit: int = 1) -> int:
    """Exact below 8 units, then the number of thirds of doublings; 32 more for the past."""
    side = abs(delta) // unit
    if side >= 8:
        side = min(8 + (abs(delta) ** 3 // (8 * unit) ** 3).bit_length() - 1, 31)
    return side + (32 if delta < 0 else 0)


def count_bucket(count: int) -> int:
    """The number of halves of doublings."""
    return min((count * count).bit_length() - 1, 15)


def fact_weight(tables: Mapping[str, Any], asked: int, found: int, bucket: int) -> float:
    """Of a FactWeights whose tables were made lists."""
    rows = (tables["asked"][asked], tables["found"][found], tables["bucket"][bucket])
    units = zip(tables["out"], *rows, strict=True)
    return float(
        sum(w * max(a + b + c, 0) for w, a, b, c in units)
        + tables["asked_found"][asked][found]
        + tables["found_bucket"][found][bucket]
        + tables["asked_bucket"][asked][bucket]
        + tables["bias"]
    )


def path_weight(
    tables: Mapping[str, Any], asked: int, one: int, one_bucket: int, two: int, two_bucket: int
) -> float:
    """Of a PathWeights whose tables were made lists."""
    rows = (
        tables["asked"][asked],
        tables["first"][one],
        tables["first_bucket"][one_bucket],
        tables["second"][two],
        tables["second_bucket"][two_bucket],
    )
    units = zip(tables["out"], *rows, strict=True)
    return float(
        sum(w * max(sum(numbers), 0) for w, *numbers in units)
        + tables["asked_second"][asked][two]
        + tables["second_and_bucket"][two][two_bucket]
        + tables["bias"]
    )


def tables_of(module: torch.nn.Module) -> dict[str, Any]:
    return {name: weight.tolist() for name, weight in module.named_parameters()}


def evidence_scores(
    model: Evidence, query: Query, found: FoundEvidence, kept: Sequence[bool] | None = None
) -> list[float]:
    """log(1 + Σ exp c) − log(1 + Σ exp d) + (p[r] + p'[s]) · q[o] + β[o].

    `kept` of the prior is not dropped out; d is there only if facts may speak against answers.
    """
    s, r, t = query
    unit = round(model.settings.time_unit)
    tables = tables_of(model)
    of_facts, of_paths = tables_of(model.fact_weights), tables_of(model.path_weights)
    of_partners = tables_of(model.partner_weights)
    num_entities = len(tables["prior_bias"])
    sums, against = [0.0] * num_entities, [0.0] * num_entities
    for _, r_, o, t_ in found.facts:
        sums[o] += math.exp(fact_weight(of_facts, r, r_, time_bucket(t_ - t, unit)))
        if model.settings.against:
            of_against = tables_of(model.against_weights)
            against[o] += math.exp(fact_weight(of_against, r, r_, time_bucket(t_ - t, unit)))
    for _, _, o, t_ in found.of_relation:
        bucket = time_bucket(t_ - t, unit)
        sums[o] += math.exp(
            tables["relation_weights"][r] + tables["relation_bucket_weights"][bucket]
        )
    for (_, one, _, t_1), (_, two, o, t_2) in found.paths:
        buckets = time_bucket(t_1 - t, unit), time_bucket(t_2 - t, unit)
        sums[o] += math.exp(path_weight(of_paths, r, one, buckets[0], two, buckets[1]))
    for r_, o, count in found.partners:
        sums[o] += math.exp(fact_weight(of_partners, r, r_, count_bucket(count)))
    asked = [
        a + b
        for a, b in zip(tables["prior_relations"][r], tables["prior_subjects"][s], strict=True)
    ]
    if kept is not None:
        share = 1 - model.settings.prior_dropout
        asked = [a / share if keep else 0.0 for a, keep in zip(asked, kept, strict=True)]
    return [
        math.log(1 + sums[o])
        - math.log(1 + against[o])
        + sum(a * b for a, b in zip(asked, tables["prior_objects"][o], strict=True))
        + tables["prior_bias"][o]
        for o in range(num_entities)
    ]


# --- the slow version of TeMP ---------------------------------------------------------------


def window_around(
    facts: Sequence[Fact], time: int, size: int, past_only: bool = False
) -> tuple[list[int], list[int]]:
    """The times of the snapshots before and after a time, the nearest first."""
    times = sorted({fact[3] for fact in facts})
    before = [t for t in reversed(times) if t < time][: size - 1]
    after = [t for t in times if t > time and not past_only][: size - 1]
    return before, after


def counts_in(
    facts: Sequence[Fact], times: Sequence[int], num_relations: int, query: Query
) -> list[int]:
    """Facts at some times with the query's entity on its side, with its relation, with both."""
    s, r, _ = query
    both = with_reciprocals(facts, num_relations)
    seen = [fact for fact in both if fact[3] in times]
    of_entity = [f for f in seen if f[0] == s and (f[1] < num_relations) == (r < num_relations)]
    of_relation, of_both = ([f for f in some if f[1] == r] for some in (seen, of_entity))
    return [len(of_entity), len(of_relation), len(of_both)]


def temp_scores(
    model: Any,
    ticks: Sequence[int],
    facts: Sequence[Fact],
    query: Query,
    past_only: bool = False,
    also_active: Sequence[Fact] = (),
    answers: Sequence[int] = (),
) -> list[float]:
    """The described model, fact by fact and time by time, of the facts that the query may see.

    The facts `also_active` tell who is active, and nothing else. Where answers are given, the query
    is gated as if it were asked from them.
    """
    options, (s, r, t) = model.settings, query

    def tau(time: int) -> torch.Tensor:
        return torch.tensor(time_row(model, ticks, time), dtype=torch.float64)

    def bias(layer: int) -> Any:
        return model.biases[layer] if hasattr(model, "biases") else 0.0

    def snapshot(time: int) -> dict[int, torch.Tensor]:
        """The vectors of those who are active."""
        edges = [fact for fact in facts if fact[3] == time]
        told = [fact for fact in also_active if fact[3] == time]
        active = {entity for edge in [*edges, *told] for entity in (edge[0], edge[2])}
        x = {entity: model.entities[entity] for entity in active}
        for layer in range(2):
            new = {}
            for entity in active:
                new[entity] = model.own_weights[layer] @ x[entity] + bias(layer)
                incoming = [edge for edge in edges if edge[2] == entity]
                parts = len(incoming) ** (2 if options.released_messages else 1)
                for other, relation, _, _ in incoming:
                    message = model.edge_weights[layer][relation] * x[other]
                    new[entity] = new[entity] + message / parts
            x = new
        return {entity: torch.relu(vector) for entity, vector in x.items()}

    def alone(entity: int) -> torch.Tensor:
        x = model.entities[entity]
        for layer in range(2):
            x = x + model.own_weights[layer] @ x + bias(layer)
        return torch.relu(x)

    def decay(line: Any, distance: int) -> Any:
        return torch.exp(-torch.clamp(line[0] * distance + line[1], min=0))

    before, after = window_around([*facts, *also_active], t, options.window, past_only)
    sides = [[snapshot(time) for time in side] for side in (before, after)]
    own = {} if past_only else snapshot(t)

    def now(entity: int) -> torch.Tensor:
        if entity in own:
            return own[entity]
        if not options.imputation:
            return alone(entity)
        vector, left = 0.0, 1.0
        for side in sides:
            for distance, vectors in enumerate(side, start=1):
                if entity in vectors:
                    share = decay(model.imputed.line, distance) / 2
                    vector, left = vector + share * vectors[entity], left - share
                    break
        return vector + left * alone(entity)

    def recurrent(entity: int) -> torch.Tensor:
        total = tau(t)
        for cell, fading, side in zip(model.cells, model.fading, sides, strict=True):
            state, seen_at = torch.zeros(options.dim, dtype=torch.float64), 0
            inputs = [(n, x[entity]) for n, x in reversed([*enumerate(side, 1)]) if entity in x]
            for distance, x in [*inputs, (0, now(entity))]:
                passed = seen_at - distance
                lost = options.released_absence and passed != 1
                state = state * (0 if lost else decay(fading.line, passed))
                state, seen_at = gru(cell, x, state), distance
            total = total + state
        return total

    def attentive(entity: int) -> torch.Tensor:
        keys = [(0, now(entity) + tau(t))]
        for times, side in zip((before, after), sides, strict=True):
            for n, (time, vectors) in enumerate(zip(times, side, strict=True), start=1):
                if entity in vectors:
                    keys.append((n, vectors[entity] + tau(time)))
        size, joined = options.dim // options.heads, []
        asked = model.query_weight @ keys[0][1]
        for head in range(options.heads):
            part = slice(head * size, (head + 1) * size)
            logits, values = [], []
            for distance, x in keys:
                logit = asked[part] @ (model.key_weight @ x)[part] / math.sqrt(size)
                if options.learned_decay:
                    logit = logit + torch.log(decay(model.fading.line, distance))
                logits.append(logit)
                values.append((model.value_weight @ x)[part])
            shares = torch.stack(logits).softmax(0)
            joined.append(sum(share * value for share, value in zip(shares, values, strict=True)))
        return torch.cat(joined)

    describe = recurrent if hasattr(model, "cells") else attentive
    turned = r >= model.num_relations
    relation = numbers(model.relations[r % model.num_relations].tolist())

    def score(one: torch.Tensor, other: torch.Tensor) -> float:
        subject, object_ = (other, one) if turned else (one, other)
        factors = numbers(subject.tolist()), relation, numbers(object_.tolist())
        return sum((a * b * c.conjugate()).real for a, b, c in zip(*factors, strict=True))

    share = 1.0
    if options.gating:
        back = (r + model.num_relations) % (2 * model.num_relations)
        asked = [(answer, back, t) for answer in answers] or [query]
        near = [*before, *after]
        every = [counts_in(facts, near, model.num_relations, one) for one in asked]
        counts = [sum(column) / len(asked) for column in zip(*every, strict=True)]
        inner, _, outer = model.gates[int(turned ^ bool(answers))]
        known = torch.tensor([math.log(1 + count) for count in counts], dtype=torch.float64)
        units = torch.relu(inner.weight @ known + inner.bias)
        share = torch.sigmoid(outer.weight @ units + outer.bias).item()
    scores = []
    for entity in range(model.num_entities):
        of_window = score(describe(s), describe(entity))
        local = score(now(s) + tau(t), now(entity) + tau(t))
        scores.append(share * of_window + (1 - share) * local)
    return scores


def gru(cell: Any, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    """One step of a gated recurrent unit."""
    of_x = (cell.weight_ih @ x + cell.bias_ih).chunk(3)
    of_state = (cell.weight_hh @ state + cell.bias_hh).chunk(3)
    reset, update = (torch.sigmoid(a + b) for a, b in list(zip(of_x, of_state, strict=True))[:2])
    new = torch.tanh(of_x[2] + reset * of_state[2])
    return (1 - update) * new + update * state
