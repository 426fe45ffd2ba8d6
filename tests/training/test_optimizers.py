"""The optimiser of our own."""

import pytest
import torch

from targcn.training.optimizers import CapturableAdagrad, set_learning_rate


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
