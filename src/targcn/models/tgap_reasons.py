"""What brought T-GAP's mass to an answer: the paths that it flowed along, and the mass of each.

A path is a sequence of facts from the subject to the answer; waiting at a node is not part of it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.hidden import without_facts
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.reasons import NO_FACT, Reasons

if TYPE_CHECKING:
    from targcn.models.tgap import TGAP, Step

# Paths followed at once, the strongest; the mass of the others is told as that of other paths.
MOST_PATHS = 1 << 18


@dataclass(frozen=True, eq=False)
class Paths(Columns):
    """Paths from the subject, one per row."""

    # Four columns of as many facts as there are steps; where there are fewer, NO_FACT.
    facts: Tensor
    lengths: Tensor
    nodes: Tensor
    # In each head.
    masses: Tensor


@torch.no_grad()
def find_reasons(model: "TGAP", query: Queries, answer: int, context: TemporalGraph) -> Reasons:
    """The paths to an answer; their masses add up to its probability."""
    subject, relation, time = (int(column) for column in query.tensors())
    fact = (subject, relation, answer, time)
    if relation >= context.num_relations:
        fact = (answer, relation - context.num_relations, subject, time)
    # In the place of the explained fact the next nearest one is seen.
    shared = model.share(time, without_facts(context, [fact]))
    mass, steps = model.flow(query, shared)
    paths = _walk(steps, query, answer, context.num_entities)
    total, effects = mass[0, :, answer].double().mean(), paths.masses.double().mean(1)
    moves = paths.lengths > 0
    others = [("waiting at the given entity", float(effects[~moves].sum()))] * bool((~moves).any())
    if len(paths.lengths) == MOST_PATHS:
        others.append(("weaker paths", float(total - effects.sum())))
    subjects, relations, objects, times = paths.facts[moves].unbind(1)
    # The reciprocal of a fact is turned back into it.
    backward = relations >= context.num_relations
    return Reasons(
        subjects=torch.where(backward, objects, subjects),
        relations=torch.where(backward, relations - context.num_relations, relations),
        objects=torch.where(backward, subjects, objects),
        times=times,
        effects=effects[moves],
        scores=model.log_masses(mass)[0],
        others=tuple(others),
        of_probability=True,
    )


def _walk(steps: list["Step"], query: Queries, answer: int, num_entities: int) -> Paths:
    """All paths to the answer, or the strongest ones if they are very many."""
    subject, device = query.subjects, query.subjects.device
    ends = torch.zeros(num_entities, dtype=torch.bool, device=device)
    ends[answer] = True
    # From which nodes the answer can still be reached, before each step and after the last.
    leads = [ends]
    for step in reversed(steps):
        before = leads[0].clone()
        before[step.nodes[0]] = leads[0][step.targets[0]].any(1)
        leads.insert(0, before)
    facts = torch.full((1, 4, len(steps)), NO_FACT, device=device)
    ones = steps[0].masses.new_ones(1, steps[0].masses.shape[1])
    paths = Paths(facts, torch.zeros_like(subject), subject, ones)
    paths = paths[leads[0][paths.nodes]]
    for step, leading in zip(steps, leads[1:], strict=True):
        paths = _merged(_longer(paths, step, leading, int(query.times), num_entities))
    return paths


def _longer(paths: Paths, step: "Step", leading: Tensor, time: int, num_entities: int) -> Paths:
    """The paths one step on, as far as they still lead to the answer."""
    senders = torch.full((num_entities,), -1, device=leading.device)
    senders[step.nodes[0]] = torch.arange(step.nodes.shape[1], device=leading.device)
    places = senders[paths.nodes]
    waiting = paths[(places < 0) & leading[paths.nodes]]
    goes_on = (leading[step.targets[0]] & (step.shares[0].amax(0) > 0))[places.clamp(min=0)]
    rows, edges = (goes_on & (places >= 0)[:, None]).nonzero(as_tuple=True)
    moved, nodes = paths[rows], places[rows]
    columns = (step.relations, step.targets, step.deltas)
    relations, targets, deltas = (column[0, nodes, edges] for column in columns)
    fact = torch.stack([moved.nodes, relations, targets, deltas + time], dim=1)
    # The last edge of a node is its loop, which is no fact.
    is_fact = edges < step.targets.shape[2] - 1
    facts = moved.facts.clone()
    which = is_fact.nonzero().flatten()
    facts[which, :, moved.lengths[which]] = fact[which]
    masses = moved.masses * step.shares[0, :, nodes, edges].T
    moved = Paths(facts, moved.lengths + is_fact, targets, masses)
    pairs = zip(waiting.tensors(), moved.tensors(), strict=True)
    return Paths(*map(torch.cat, pairs))


def _merged(paths: Paths) -> Paths:
    """Each sequence of facts once, however its steps waited; the strongest if there are many."""
    if len(paths.lengths) == 0:
        return paths
    facts, places = torch.unique(paths.facts, dim=0, return_inverse=True)
    count = len(facts)
    # Paths of the same facts are as long and end at the same node.
    lengths, nodes = (
        column.new_empty(count).scatter(0, places, column)
        for column in (paths.lengths, paths.nodes)
    )
    masses = paths.masses.new_zeros(count, paths.masses.shape[1]).index_add(0, places, paths.masses)
    merged = Paths(facts, lengths, nodes, masses)
    return merged[masses.mean(1).topk(min(count, MOST_PATHS)).indices]
