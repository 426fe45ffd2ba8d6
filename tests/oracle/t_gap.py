"""T-GAP, walked path by path."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from oracle.worlds import Fact, Query, with_reciprocals
from targcn.models.tgap import TGAP

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
