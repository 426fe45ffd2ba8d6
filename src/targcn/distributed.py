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
    """The place of this process among all that work together; by default it is alone.

    What they tell each other goes through the CPU; only gradients stay on the device.
    """

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

    def join_shares(self, mine: Tensor, num_rows: int) -> Tensor:
        """The rows of everyone in their old order, each taken from the one who had it."""
        if self.size == 1:
            return mine
        everyone = mine.new_zeros(num_rows)
        everyone[self.rank :: self.size] = mine
        distributed.all_reduce(everyone)
        return everyone

    def mean(self, value: float) -> float:
        """The mean over all processes of a number each of them has."""
        everyone = self.join_shares(torch.tensor([value], dtype=torch.float64), self.size)
        return float(everyone.mean())

    def anyone(self, *flags: bool) -> list[bool]:
        """Which of these hold for any of them."""
        if self.size == 1:
            return list(flags)
        held = torch.tensor(flags, dtype=torch.int32)
        distributed.all_reduce(held, distributed.ReduceOp.MAX)
        return [bool(flag) for flag in held]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Nobody goes on before everyone is through; what one cannot do, everyone complains of."""
        if self.size == 1:
            yield
            return
        own = None
        try:
            yield
        except InputError as error:
            own = error
        said = list(f"{own}\n".encode(errors="surrogateescape")) if own else []
        lengths = self.join_shares(torch.tensor([len(said)]), self.size)
        if not lengths.any():
            return
        # As bytes: a whole object would be sent as a pickle, and none is ever read here.
        speaker = int(lengths.nonzero()[0])
        sentence = torch.zeros(int(lengths[speaker]), dtype=torch.uint8)
        if self.rank == speaker:
            sentence = torch.tensor(said, dtype=torch.uint8)
        distributed.broadcast(sentence, speaker)
        text = bytes(sentence.tolist()).decode(errors="surrogateescape")
        raise own or InputError(text.removesuffix("\n"))


ALONE = Team()


def shared_loss(model: Any, team: Team) -> Callable[..., Tensor]:
    """The model's loss; in a team, one whose gradients come out as the mean over everyone."""
    if team.size == 1:
        loss: Callable[..., Tensor] = model.loss
        return loss
    return DistributedDataParallel(_Loss(model), gradient_as_bucket_view=True)


class _Loss(nn.Module):
    """A model's loss as a forward pass, which is what DistributedDataParallel listens to.

    It shows the model's parameters alone: what else a model holds never changes.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.weights = nn.ParameterList(model.parameters())
        self.loss: Callable[..., Tensor] = model.loss

    def forward(self, *arguments: Any) -> Tensor:
        return self.loss(*arguments)


# Groups are left but kept: one that DistributedDataParallel is the last to hold would wait, with
# Python's lock in its hands, for threads of its own that wait for the lock.
_LEFT: list[Any] = []


@contextmanager
def join(device: str = "auto") -> Iterator[tuple[Team, torch.device]]:
    """The team that torchrun started this process for, and the device this process works on."""
    place = choose_device(device)
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE, place
        return
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    on_gpu = place.type == "cuda"
    store, rank, size = next(rendezvous("env://"))
    # torchrun keeps one store through all restarts: without a shelf of its own, a team that was
    # restarted may find the addresses of the dead. (Machines may count restarts differently.)
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        store = PrefixStore(f"start {_num_restarts()}", store)
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
    _LEFT.append(distributed.group.WORLD)
    try:
        team = Team(rank, size)
        if on_gpu:
            with team.together():
                place = _own_gpu(int(os.environ["LOCAL_RANK"]), torch.cuda.device_count())
            torch.cuda.set_device(place)
        yield team, place
    finally:
        distributed.destroy_process_group()


def _own_gpu(number: int, num_gpus: int) -> torch.device:
    if number >= num_gpus:
        raise InputError(
            f"process {number} of its machine has no GPU of its own: there are {num_gpus}; start "
            "as many with --nproc-per-node, or use --device cpu"
        )
    return torch.device("cuda", number)


def was_restarted() -> bool:
    """Whether torchrun started this process anew after one of its team had died."""
    return _num_restarts() > 0


def _num_restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
