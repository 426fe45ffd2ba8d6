import math

import pytest
import torch

from targcn.models.layers.decay import Decay


@pytest.mark.parametrize("learned", [True, False])
def test_what_is_far_away_fades_and_nothing_grows(learned: bool) -> None:
    decay = Decay(learned)
    assert len(list(decay.parameters())) == learned
    found = decay(torch.tensor([0, 1, 30])).tolist()
    assert found == pytest.approx([1, math.exp(-0.1), math.exp(-3)])
    decay.line.data = torch.tensor([0.5, -1.0])
    found = decay(torch.tensor([0, 1, 4])).tolist()
    # A line below 0 would let what is near grow.
    assert found == pytest.approx([1, 1, math.exp(-1)])
