"""Replayed steps are the steps; only where there is a GPU."""

import pytest
import torch

from targcn.graph.queries import Queries
from targcn.training.cuda_graph import CUDAGraphed

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def test_a_replay_computes_with_the_inputs_of_its_call() -> None:
    device = torch.device("cuda")
    weight = torch.ones(3, device=device)

    def step(queries: Queries) -> torch.Tensor:
        weight.add_(queries.subjects)
        return weight.sum() + queries.times.sum()

    replay, expected = CUDAGraphed(step, device), torch.ones(3)
    for number in range(2 * CUDAGraphed.NUM_WARM_UP):
        columns = [torch.full((3,), float(number + place)) for place in range(3)]
        found = replay(Queries(*columns).to(device))
        expected += number
        assert float(found) == float(expected.sum() + 3 * (number + 2))
    assert weight.tolist() == expected.tolist()
