"""The optimisers, and the learning rate of each step."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import torch
from torch import Tensor

from targcn.devices import compiled
from targcn.memory import require_memory
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.runs.tensors import Expected

# What an optimiser keeps of each weight, besides the number of its steps, and its least value.
KEPT: Final[dict[str, dict[str, float]]] = {
    "adam": {"exp_avg": -math.inf, "exp_avg_sq": 0.0},
    "adagrad": {"sum": 0.0},
}


def learning_rate(settings: TrainingSettings, step: int, num_steps: int) -> float:
    """The learning rate of a step, counted over the whole training.

    >>> settings = TrainingSettings(learning_rate=0.2, schedule="cosine")
    >>> [round(learning_rate(settings, step, 100), 3) for step in (0, 50, 100)]
    [0.2, 0.1, 0.0]
    """
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / num_steps))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def create_optimizer(model: Learner, settings: TrainingSettings) -> torch.optim.Optimizer:
    """The optimiser that the settings name, for all parameters of a model."""
    parameters = list(model.parameters())
    device = parameters[0].device
    # On a GPU the rate is a tensor, so that a replayed step reads its present value.
    on_gpu = device.type == "cuda"
    if device.type == "cpu":
        # A gradient, and what is kept, for each weight.
        trained = (weight for weight in parameters if weight.requires_grad)
        size = sum(weight.numel() * weight.element_size() for weight in trained)
        needed = size * (1 + len(KEPT[settings.optimizer]))
        require_memory(needed, "training", "smaller vectors would do")
    rate = torch.tensor(settings.learning_rate, device=device) if on_gpu else settings.learning_rate
    decay = settings.weight_decay
    if settings.optimizer == "adam":
        return torch.optim.Adam(
            parameters, lr=rate, weight_decay=decay, fused=True, capturable=on_gpu
        )
    if on_gpu:
        return CapturableAdagrad(parameters, rate, settings.compile, decay)
    return torch.optim.Adagrad(parameters, lr=rate, weight_decay=decay, fused=True)


def expected_state(model: Learner, settings: TrainingSettings) -> dict[str, Expected]:
    """What `state_of` gives, by number of the weight and name."""
    expected = {}
    for number, weight in enumerate(model.parameters()):
        expected[f"{number}/step"] = Expected((), torch.float32, 0.0)
        for name, least in KEPT[settings.optimizer].items():
            expected[f"{number}/{name}"] = Expected(tuple(weight.shape), weight.dtype, least)
    return expected


def state_of(
    optimizer: torch.optim.Optimizer, expected: Mapping[str, Expected]
) -> dict[str, Tensor]:
    """What an optimiser keeps, also of weights that had no gradient yet: nothing but zeros."""
    kept = {
        f"{number}/{name}": value
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }
    blank = {name: tensor.blank() for name, tensor in expected.items() if name not in kept}
    return kept | blank


def restore_state(optimizer: torch.optim.Optimizer, kept: Mapping[str, Tensor]) -> None:
    """Give an optimiser back what `state_of` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in kept.items():
        number, key = name.split("/")
        state.setdefault(int(number), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


class CapturableAdagrad(torch.optim.Optimizer):
    """Adagrad that reads its rate from a tensor, as a CUDA graph needs and torch's own does not."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        rate: Tensor | float,
        compile: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, {"lr": rate, "weight_decay": weight_decay})
        # In one kernel a table is passed over 5 times instead of 13.
        self.update = compiled(_adagrad, instead=_adagrad, dynamic=False) if compile else _adagrad
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                state["step"], state["sum"] = torch.zeros(()), torch.zeros_like(weight)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    state, gradient = self.state[weight], weight.grad
                    if group["weight_decay"]:
                        gradient = gradient.add(weight, alpha=group["weight_decay"])
                    state["step"] += 1
                    self.update(weight.detach(), gradient, state["sum"], group["lr"])


def _adagrad(weight: Tensor, gradient: Tensor, squares: Tensor, rate: Tensor | float) -> Tensor:
    squares.addcmul_(gradient, gradient)
    return weight.addcdiv_(gradient, squares.sqrt().add_(1e-10).div_(rate), value=-1)
