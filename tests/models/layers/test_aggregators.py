"""The aggregator against equations 1 and 2, taken neighbour by neighbour."""

import pytest
import torch
from torch import Tensor

from targcn.graph.neighbors import Neighborhood
from targcn.models.layers.aggregators import Aggregator, Neighbors

DIM, RELATION_DIM = 4, 6
NUM_SUBJECTS = 6


def example(num_places: int, own_vectors: bool, num_entities: int = 9) -> Neighbors:
    """Subjects with 0, 1, 2, … neighbours, empty places between them."""
    generator = torch.Generator().manual_seed(num_places)

    def some(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def rows(below: int, num_columns: int) -> Tensor:
        return torch.randint(below, (NUM_SUBJECTS, num_columns), generator=generator)

    order = torch.rand(NUM_SUBJECTS, num_places, generator=generator).argsort(1)
    return Neighbors(
        subjects=rows(num_entities, 1)[:, 0],
        facts=Neighborhood(
            entities=rows(num_entities, num_places),
            relations=rows(5, num_places),
            deltas=torch.zeros_like(order),
            filled=order < torch.arange(NUM_SUBJECTS)[:, None],
        ),
        codes=rows(7, num_places + 1),
        entity_table=some(num_entities, DIM).requires_grad_(),
        relation_table=some(5, RELATION_DIM).requires_grad_(),
        code_table=some(7, DIM).requires_grad_(),
        vectors=some(NUM_SUBJECTS, num_places, DIM).requires_grad_() if own_vectors else None,
    )


def by_hand(step: Aggregator, near: Neighbors) -> Tensor:
    found = []
    for row in range(NUM_SUBJECTS):
        own = near.entity_table[near.subjects[row]]
        messages = []
        for place in near.facts.filled[row].nonzero().flatten().tolist():
            h_e = near.entity_table[near.facts.entities[row, place]]
            if near.vectors is not None:
                h_e = near.vectors[row, place]
            phi = near.code_table[near.codes[row, place]]
            h_et = step.f.weight @ torch.cat([h_e, phi]) + step.f.bias  # equation 1
            h_r = near.relation_table[near.facts.relations[row, place]]
            messages.append(step.W.weight @ torch.cat([h_et, h_r]) + step.W.bias)
        if messages:
            mean = sum(messages) / len(messages)  # equation 2
            found.append(mean + own if step.own_vector else mean)
        else:
            now = near.code_table[near.codes[row, -1]]
            found.append(step.f.weight @ torch.cat([own, now]) + step.f.bias)
    return torch.stack(found)


def gradients(step: Aggregator, near: Neighbors, value: Tensor) -> list[Tensor]:
    tables = [near.entity_table, near.relation_table, near.code_table]
    inputs = [*tables, *([] if near.vectors is None else [near.vectors]), *step.parameters()]
    return list(torch.autograd.grad(value.sin().sum(), inputs))


@pytest.mark.parametrize("own_vectors", [False, True])
@pytest.mark.parametrize("own_vector", [False, True])
@pytest.mark.parametrize("num_entities", [9, 300])
def test_an_aggregator_follows_the_equations(
    own_vector: bool, own_vectors: bool, num_entities: int
) -> None:
    step = Aggregator(DIM, RELATION_DIM, own_vector).double()
    near = example(5, own_vectors, num_entities)
    found, table = step(near)
    expected = by_hand(step, near)
    torch.testing.assert_close(found, expected)
    assert torch.equal(table, near.entity_table)
    # The table is used once more, as it is for the candidates.
    torch.testing.assert_close(
        gradients(step, near, found @ table.T),
        gradients(step, near, expected @ near.entity_table.T),
    )


def test_without_neighbours_every_subject_stands_in_for_itself() -> None:
    near = example(3, own_vectors=False)
    near.facts.filled.zero_()
    step = Aggregator(DIM, RELATION_DIM, True).double()
    torch.testing.assert_close(step(near)[0], by_hand(step, near))
