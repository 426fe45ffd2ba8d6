"""Equations 1 and 2 taken neighbour by neighbour, and Φ against its formula."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from targcn.graph.neighbors import Neighborhood
from targcn.models import targcn
from targcn.models.targcn import Aggregator, TimeEncoding

DIM, RELATION_DIM = 4, 6
NUM_SUBJECTS = 6


def example(num_places: int, own_vectors: bool, num_entities: int = 9) -> dict[str, Any]:
    """Subjects with 0, 1, 2, … neighbours, empty places between them."""
    generator = torch.Generator().manual_seed(num_places)

    def some(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    def rows(below: int, num_columns: int) -> Tensor:
        return torch.randint(below, (NUM_SUBJECTS, num_columns), generator=generator)

    order = torch.rand(NUM_SUBJECTS, num_places, generator=generator).argsort(1)
    return {
        "subjects": rows(num_entities, 1)[:, 0],
        "near": Neighborhood(
            entities=rows(num_entities, num_places),
            relations=rows(5, num_places),
            deltas=torch.zeros_like(order),
            filled=order < torch.arange(NUM_SUBJECTS)[:, None],
        ),
        "codes": (some(7, DIM), rows(7, num_places + 1)),
        "entities": some(num_entities, DIM),
        "relations": some(5, RELATION_DIM),
        "vectors": some(NUM_SUBJECTS, num_places, DIM) if own_vectors else None,
    }


def by_hand(
    step: Aggregator,
    subjects: Tensor,
    near: Neighborhood,
    codes: tuple[Tensor, Tensor],
    entities: Tensor,
    relations: Tensor,
    vectors: Tensor | None,
) -> Tensor:
    found, code_of = [], codes[0][codes[1]]
    for row in range(NUM_SUBJECTS):
        own, messages = entities[subjects[row]], []
        for place in near.filled[row].nonzero().flatten().tolist():
            h_e = entities[near.entities[row, place]] if vectors is None else vectors[row, place]
            h_et = step.f.weight @ torch.cat([h_e, code_of[row, place]]) + step.f.bias  # equation 1
            h_r = relations[near.relations[row, place]]
            messages.append(step.W.weight @ torch.cat([h_et, h_r]) + step.W.bias)
        if messages:
            mean = sum(messages) / len(messages)  # equation 2
            found.append(mean + own if step.own_vector else mean)
        else:
            found.append(step.f.weight @ torch.cat([own, code_of[row, -1]]) + step.f.bias)
    return torch.stack(found)


def gradients(step: Aggregator, given: dict[str, Any], value: Tensor) -> list[Tensor]:
    tables = [given["entities"], given["relations"], given["codes"][0], given["vectors"]]
    inputs = [*(table for table in tables if table is not None), *step.parameters()]
    return list(torch.autograd.grad(value.sin().sum(), inputs))


@pytest.mark.parametrize("own_vectors", [False, True])
@pytest.mark.parametrize("own_vector", [False, True])
@pytest.mark.parametrize("num_entities", [9, 300])
def test_an_aggregator_follows_the_equations(
    own_vector: bool, own_vectors: bool, num_entities: int
) -> None:
    step = Aggregator(DIM, RELATION_DIM, own_vector).double()
    given = example(5, own_vectors, num_entities)
    found, table = step(**given)
    expected = by_hand(step, **given)
    torch.testing.assert_close(found, expected)
    assert torch.equal(table, given["entities"])
    # The table is used once more, as it is for the candidates.
    torch.testing.assert_close(
        gradients(step, given, found @ table.T),
        gradients(step, given, expected @ given["entities"].T),
    )


def test_without_neighbours_every_subject_stands_in_for_itself() -> None:
    given = example(3, own_vectors=False)
    given["near"].filled.zero_()
    step = Aggregator(DIM, RELATION_DIM, True).double()
    torch.testing.assert_close(step(**given)[0], by_hand(step, **given))


def encoding_of(span: int, **options: float) -> TimeEncoding:
    encoding = TimeEncoding(6, span, **options).double().requires_grad_(False)
    torch.nn.init.normal_(encoding.phases, generator=torch.Generator().manual_seed(0))
    return encoding


@pytest.mark.parametrize("factor", [1.0, 24.0])
@pytest.mark.parametrize("scaled", [False, True])
def test_codes_follow_the_formula(factor: float, scaled: bool) -> None:
    encoding = encoding_of(10, factor=factor, scaled=scaled)
    deltas = [-400, -1, 0, 1, 7]
    expected = [
        [
            math.cos(frequency * factor * delta + phase) / (math.sqrt(6) if scaled else 1)
            for frequency, phase in zip(
                encoding.frequencies.tolist(), encoding.phases.tolist(), strict=True
            )
        ]
        for delta in deltas
    ]
    found = encoding(torch.tensor(deltas))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("most", [0, 65_536])
@pytest.mark.parametrize(
    ("span", "deltas"),
    [
        (4, [[0, 3, -3, 1], [1, 1, 0, -2]]),  # every difference of the timeline in one table
        (9, [[0, 8, -8], [1, 1, 0]]),  # fewer numbers than differences
        (1, [[0], [0]]),
    ],
)
def test_looking_codes_up_is_computing_them(
    span: int, deltas: list[list[int]], most: int, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targcn, "MOST_CODES", most)
    encoding = encoding_of(span).train(training)
    table, rows = encoding.look_up(torch.tensor(deltas))
    torch.testing.assert_close(table[rows], encoding(torch.tensor(deltas)))


def test_differences_outside_the_timeline_have_codes_too() -> None:
    encoding = encoding_of(2).eval()
    deltas = torch.tensor([[0, 1, -1], [500, -500, 2]])
    table, rows = encoding.look_up(deltas)
    torch.testing.assert_close(table[rows], encoding(deltas))
