"""TeMP, snapshot by snapshot."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from oracle.factorization import numbers, time_row
from oracle.graph import counts_in, window_around
from oracle.worlds import Fact, Query


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
