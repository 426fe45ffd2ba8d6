"""Several processes that train one model together, as torchrun starts them.

Each takes its share of every batch and of every judgement; gradients are averaged by PyTorch's
DistributedDataParallel. The first process leads: it alone writes and prints. Next room: batches,
evaluation, training.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from targcn.devices import choose_device
from targcn.errors import InputError


@dataclass(frozen=True)
class Team:
    """The place of this process among all that work together; by default it is alone."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, rows: Tensor) -> Tensor:
        """The rows that are this process's to work on.

        >>> Team(1, 3).share(torch.arange(8)).tolist()
        [1, 4, 7]
        """
        return rows[self.rank :: self.size]

    def join_shares(self, mine: Tensor, num_rows: int, device: torch.device) -> Tensor:
        """The rows of everyone in their old order, each taken from the one who had it."""
        if self.size == 1:
            return mine
        everyone = torch.zeros(num_rows, dtype=mine.dtype, device=device)
        everyone[self.rank :: self.size] = mine.to(device)
        distributed.all_reduce(everyone)
        return everyone.to(mine.device)

    def mean(self, value: Tensor) -> Tensor:
        """The mean over all processes of a number each of them has."""
        if self.size > 1:
            distributed.all_reduce(value)
        return value / self.size

    def anyone(self, flag: bool, device: torch.device) -> bool:
        """Whether it holds for any of them."""
        if self.size == 1:
            return flag
        return bool(self.mean(torch.tensor(float(flag), device=device)) > 0)

    def wait(self) -> None:
        """Until everyone is here."""
        if self.size > 1:
            distributed.barrier()


ALONE = Team()


def shared_loss(model: Any, team: Team) -> Callable[..., Tensor]:
    """The model's loss; in a team, one whose gradients come out as the mean over everyone."""
    if team.size == 1:
        loss: Callable[..., Tensor] = model.loss
        return loss
    return DistributedDataParallel(_Loss(model), gradient_as_bucket_view=True)


class _Loss(nn.Module):
    """A model whose forward pass is its loss, which is what DistributedDataParallel listens to."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, *arguments: Any) -> Tensor:
        loss: Tensor = self.model.loss(*arguments)
        return loss


@contextmanager
def join(device: str = "auto") -> Iterator[tuple[Team, torch.device]]:
    """The team that torchrun started this process for, and the device this process works on."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE, choose_device(device)
        return
    place = choose_device(device)
    if place.type == "cuda":
        local = int(os.environ["LOCAL_RANK"])
        if local >= torch.cuda.device_count():
            raise InputError(
                f"process {local} of this machine has no GPU of its own: there are "
                f"{torch.cuda.device_count()}; start as many with --nproc-per-node, or use "
                "--device cpu"
            )
        place = torch.device("cuda", local)
        torch.cuda.set_device(place)
    distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    try:
        yield Team(distributed.get_rank(), size), place
    finally:
        distributed.destroy_process_group()


def was_restarted() -> bool:
    """Whether torchrun started this team anew after one of its processes had died."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
