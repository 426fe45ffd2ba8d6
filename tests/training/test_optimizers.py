"""Learning rates and the two optimisers."""

import pytest
import torch

from targcn.recipes.training_settings import TrainingSettings
from targcn.training.optimizers import CapturableAdagrad, learning_rate, set_learning_rate


def test_the_rate_goes_down_along_half_a_cosine_or_stays() -> None:
    cosine = TrainingSettings(learning_rate=0.2, schedule="cosine")
    rates = [learning_rate(cosine, step, 100) for step in (0, 25, 50, 75, 100)]
    assert rates == pytest.approx([0.2, 0.1707, 0.1, 0.0293, 0], abs=1e-4)
    constant = TrainingSettings(learning_rate=0.2, schedule="constant")
    assert {learning_rate(constant, step, 100) for step in (0, 7, 99)} == {0.2}


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_the_gpus_adagrad_is_torchs(decay: float) -> None:
    torch.manual_seed(0)
    start, gradients = torch.randn(5, 3), torch.randn(4, 5, 3)
    found = []
    for make in (
        lambda weight: torch.optim.Adagrad([weight], lr=0.1, weight_decay=decay),
        lambda weight: CapturableAdagrad([weight], torch.tensor(0.1), weight_decay=decay),
    ):
        weight = torch.nn.Parameter(start.clone())
        optimizer = make(weight)
        for step, gradient in enumerate(gradients):
            set_learning_rate(optimizer, 0.1 / (step + 1))
            weight.grad = gradient.clone()
            optimizer.step()
        found.append(weight.detach())
    torch.testing.assert_close(found[0], found[1])
