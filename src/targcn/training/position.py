"""Where a training stands: kept with its weights and its optimiser, and read back with care."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from targcn.config import build
from targcn.errors import DamagedError, InputError
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.runs.store import STATE, read_state, write_state
from targcn.runs.tensors import expect_like
from targcn.training.optimizers import expected_state, restore_state, state_of


@dataclass
class Position:
    """Where a training stands."""

    # Epochs that have ended, which is the index of the present one, and its steps so far.
    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    best_mrr: float = -1.0
    best_epoch: int = 0
    # Of the whole training, and of the present epoch.
    seconds: float = 0.0
    epoch_seconds: float = 0.0
    # Of the first step, before any weight had changed; 0 if nobody knows.
    first_loss: float = 0.0

    def require_possible(self, num_epochs: int, num_steps: int) -> None:
        """Refuse a position that no training of so many epochs and steps comes to."""
        ranges = {
            "epoch": (0, self.epoch, num_epochs),
            "step": (0, self.step, num_steps),
            "best_epoch": (0, self.best_epoch, self.epoch),
            "best_mrr": (-1, self.best_mrr, max(1, self.epoch)),
            "seconds": (0, self.seconds, math.inf),
            "epoch_seconds": (0, self.epoch_seconds, math.inf),
        }
        for name, (least, value, most) in ranges.items():
            if not least <= value <= most:
                raise InputError(f"{name} is {value}; {least} to {most} was expected")


def save_position(
    folder: Path,
    position: Position,
    model: Learner,
    optimizer: torch.optim.Optimizer,
    settings: TrainingSettings,
) -> None:
    """Keep all that the next step depends on, in one file that is replaced in one step."""
    kept = state_of(optimizer, expected_state(model, settings))
    tensors = {f"model/{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"optimizer/{name}": value for name, value in kept.items()}
    write_state(folder, tensors, asdict(position))


def restore_position(
    folder: Path,
    model: Learner,
    optimizer: torch.optim.Optimizer,
    settings: TrainingSettings,
    num_steps: int,
) -> Position | None:
    """Give model and optimiser what was kept; the position, or None where nothing was kept yet."""
    expected = expect_like(model.state_dict(), "model/")
    for name, tensor in expected_state(model, settings).items():
        expected[f"optimizer/{name}"] = tensor
    tensors, said = read_state(folder, expected)
    if not tensors:
        return None
    try:
        position = build(Position, said, "state")
        position.require_possible(settings.epochs, num_steps)
    except InputError as error:
        raise DamagedError(
            f"{folder / STATE} does not say where it stands ({error}); train it again"
        ) from None
    model.load_state_dict(_below("model/", tensors))
    restore_state(optimizer, _below("optimizer/", tensors))
    return position


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
