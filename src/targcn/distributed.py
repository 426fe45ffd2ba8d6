"""The process group: several processes, started by torchrun, that train one model together.

Each process takes a shard of every batch and of every evaluation; gradients are averaged by
PyTorch's DistributedDataParallel. The main process, number 0, is the only one that writes files and
prints. It opens the data before the others (`train` in cli/train.py) and makes or reads the run
folder before any trains (`fit` and `resume` in training/fit.py); all wait while it saves
(`_save_state` in training/loop.py).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from targcn.devices import choose_device
from targcn.errors import InputError


@dataclass(frozen=True)
class ProcessGroup:
    """The place of this process among all that work together; by default it is the only one.

    What processes tell each other goes through the CPU; only gradients stay on the device.
    """

    index: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        return self.index == 0

    def shard(self, rows: Tensor) -> Tensor:
        """The rows that this process works on: every `size`-th one.

        >>> ProcessGroup(1, 3).shard(torch.arange(8)).tolist()
        [1, 4, 7]
        """
        return rows[self.index :: self.size]

    def gather_shards(self, mine: Tensor, num_rows: int) -> Tensor:
        """The rows of all processes, in the order they had before they were sharded."""
        if self.size == 1:
            return mine
        joined = mine.new_zeros(num_rows)
        joined[self.index :: self.size] = mine
        distributed.all_reduce(joined)
        return joined

    def mean(self, value: float) -> float:
        """The mean of a number over all processes."""
        joined = self.gather_shards(torch.tensor([value], dtype=torch.float64), self.size)
        return float(joined.mean())

    def sum(self, values: Tensor) -> Tensor:
        """The sum of tensors of one shape over all processes."""
        if self.size == 1:
            return values
        joined = values.clone()
        distributed.all_reduce(joined)
        return joined

    def any_process(self, *flags: bool) -> list[bool]:
        """Which of these flags are set in any process."""
        if self.size == 1:
            return list(flags)
        return [bool(count) for count in self.sum(torch.tensor(flags, dtype=torch.int64))]

    @contextmanager
    def barrier(self) -> Iterator[None]:
        """Wait for all processes; an InputError of one of them is raised in every one."""
        if self.size == 1:
            yield
            return
        failed = None
        try:
            yield
        except InputError as error:
            failed = error
        sentences: list[str | None] = [None] * self.size
        distributed.all_gather_object(sentences, None if failed is None else str(failed))
        for sentence in sentences:
            if sentence is not None:
                raise failed or InputError(sentence)


SINGLE_PROCESS = ProcessGroup()


def distributed_loss(model: Any, processes: ProcessGroup) -> Callable[..., Tensor]:
    """The model's loss; with several processes, its gradients are averaged over all of them."""
    if processes.size == 1:
        loss: Callable[..., Tensor] = model.loss
        return loss
    return DistributedDataParallel(_Loss(model), gradient_as_bucket_view=True)


class _Loss(nn.Module):
    """A model's loss as a forward pass, which is what DistributedDataParallel wraps.

    It exposes the model's parameters alone, since the buffers of a model never change.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.weights = nn.ParameterList(model.parameters())
        self.loss: Callable[..., Tensor] = model.loss

    def forward(self, *arguments: Any) -> Tensor:
        return self.loss(*arguments)


@contextmanager
def join_process_group(device: str = "auto") -> Iterator[tuple[ProcessGroup, torch.device]]:
    """The process group that torchrun started this process in, and the device it works on."""
    place = choose_device(device)
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield SINGLE_PROCESS, place
        return
    on_gpu = place.type == "cuda"
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    try:
        store, rank, _ = next(rendezvous("env://"))
        if os.environ.get("GROUP_WORLD_SIZE") == "1":
            # torchrun keeps its store when it restarts processes, with the addresses of those
            # before. Several machines count their restarts apart, and need what scale.md says.
            store = PrefixStore(f"attempt {_num_restarts()}", store)
        # The group is left as the process is: without waiting for what the others may never send.
        distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
        processes = ProcessGroup(rank, size)
        if on_gpu:
            with processes.barrier():
                place = _own_gpu(int(os.environ["LOCAL_RANK"]), torch.cuda.device_count())
            torch.cuda.set_device(place)
        yield processes, place
    except RuntimeError as error:
        if not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
            raise
        raise InputError(
            "the other processes are gone, or were silent for half an hour; start all of them "
            "again, and a training with --resume"
        ) from None


def _own_gpu(number: int, num_gpus: int) -> torch.device:
    if number >= num_gpus:
        raise InputError(
            f"process {number} of its machine has no GPU of its own: there are {num_gpus}; start "
            "as many with --nproc-per-node, or use --device cpu"
        )
    return torch.device("cuda", number)


def was_restarted() -> bool:
    """Whether torchrun restarted this process after one of its group had died."""
    return _num_restarts() > 0


def _num_restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
