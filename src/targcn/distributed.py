"""The process group: several processes, started by torchrun, that train one model together.

Each process takes a shard of every batch, of every evaluation and of many questions; gradients are
averaged by PyTorch's DistributedDataParallel. The main process, number 0, is the only one that
writes files and prints. It opens the data before the others (cli/train.py) and makes the run folder
before any trains (training/fit.py); all wait while it saves (training/loop.py).

A table of entities may be sharded too: a DTensor, of which each process holds some rows. What is
kept or sent of one is the rows of this process; models read it by models/layers/sharded_tables.py.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.peers import (
    SECONDS_TO_START,
    agree_on_a_name,
    given_up_after,
    seconds_of_silence,
    watched,
)

# What one process may do while the others wait, such as reading the data; that it is there at all
# is watched by itself (peers.py).
LONGEST_WORK: Final = timedelta(days=1)
Rows = TypeVar("Rows", Tensor, list[Any])


@dataclass(frozen=True)
class ProcessGroup:
    """The place of this process among all that work together; by default it is the only one.

    What processes tell each other goes through the CPU; only gradients stay on the device.
    """

    index: int = 0
    size: int = 1
    # The same processes once more, for the rows of sharded tables: while these are sent, gradients
    # of other weights may be under way.
    for_tables: Any = field(default=None, compare=False, repr=False)

    @property
    def is_main(self) -> bool:
        return self.index == 0

    def shard(self, rows: Rows) -> Rows:
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

    def gather(self, mine: Tensor) -> list[Tensor]:
        """The tensors of all processes, which may differ in their number of rows."""
        if self.size == 1:
            return [mine]
        lengths = self.gather_shards(torch.tensor([len(mine)]), self.size).tolist()
        parts = [mine.new_empty(length, *mine.shape[1:]) for length in lengths]
        parts[self.index] = mine.contiguous()
        for sender, part in enumerate(parts):
            if len(part):
                distributed.broadcast(part, sender)
        return parts

    def gather_bytes(self, mine: bytes) -> list[bytes]:
        """What each process has to say. A whole object would be a pickle, and none is read here."""
        said = torch.from_numpy(np.frombuffer(bytearray(mine), dtype=np.uint8))
        return [part.numpy().tobytes() for part in self.gather(said)]

    def mean(self, value: float) -> float:
        """The mean of a number over all processes."""
        joined = self.gather_shards(torch.tensor([value], dtype=torch.float64), self.size)
        return float(joined.mean())

    def smallest(self, number: int) -> int:
        """The smallest of the numbers that the processes have."""
        return -self.largest(-number)[0]

    def sum(self, values: Tensor) -> Tensor:
        """The sum of tensors of one shape over all processes."""
        if self.size == 1:
            return values
        joined = values.clone()
        distributed.all_reduce(joined)
        return joined

    def largest(self, *numbers: int) -> list[int]:
        """Each of some whole numbers as it is in the process where it is largest."""
        if self.size == 1:
            return list(numbers)
        held = torch.tensor(numbers, dtype=torch.int64)
        distributed.all_reduce(held, distributed.ReduceOp.MAX)
        return [int(number) for number in held]

    def any_process(self, *flags: bool) -> list[bool]:
        """Which of these flags are set in any process."""
        return [bool(flag) for flag in self.largest(*flags)]

    @contextmanager
    def barrier(self) -> Iterator[None]:
        """Wait for all processes; an InputError of one of them is raised in every one."""
        if self.size == 1:
            yield
            return
        own = None
        try:
            yield
        except InputError as error:
            own = error
        said = self.gather_bytes(f"{own}\n".encode(errors="surrogateescape") if own else b"")
        if sentence := next(filter(None, said), None):
            text = sentence.decode(errors="surrogateescape")
            raise own or InputError(text.removesuffix("\n"))


SINGLE_PROCESS = ProcessGroup()


def rows_of_process(num_rows: int, index: int, size: int) -> range:
    """The rows of a sharded table that a process holds, by the rule of torch's Shard(0).

    >>> [list(rows_of_process(5, index, 4)) for index in range(4)]
    [[0, 1], [2, 3], [4], []]
    """
    most = -(-num_rows // size)
    return range(min(index * most, num_rows), min((index + 1) * most, num_rows))


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process holds only some rows of a tensor."""
    # By its name: importing the type takes a second, and most trainings have none.
    return type(tensor).__name__ == "DTensor"


def rows_here(tensor: Any) -> range | None:
    """Which rows of a sharded tensor this process holds; None if it holds all."""
    if not is_sharded(tensor):
        return None
    mesh = tensor.device_mesh
    return rows_of_process(len(tensor), mesh.get_local_rank(), mesh.size())


def own_rows(tensor: Tensor) -> Tensor:
    """The rows of a tensor that this process holds, which are those of the tensor itself."""
    if not is_sharded(tensor):
        return tensor
    held: Any = tensor.detach()
    with torch.no_grad():
        rows: Tensor = held.to_local()
    return rows


def distributed_loss(model: Any, processes: ProcessGroup) -> Callable[..., Tensor]:
    """The model's loss; with several processes, its gradients are averaged over all of them."""
    if processes.size == 1:
        loss: Callable[..., Tensor] = model.loss
        return loss
    return DistributedDataParallel(_Loss(model), gradient_as_bucket_view=True)


class _Loss(nn.Module):
    """A model's loss as a forward pass, which is what DistributedDataParallel wraps.

    It exposes the model's parameters alone, since the buffers of a model never change, and of these
    no sharded table: every process has the whole gradient of its own rows.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.weights = nn.ParameterList(one for one in model.parameters() if not is_sharded(one))
        self.loss: Callable[..., Tensor] = model.loss

    def forward(self, *arguments: Any) -> Tensor:
        return self.loss(*arguments)


# Groups that were left are kept: if DistributedDataParallel held the last reference to one, its
# destructor would wait, holding Python's lock, for threads that wait for that lock.
_LEFT: list[Any] = []


@contextmanager
def join_process_group(device: str = "auto") -> Iterator[tuple[ProcessGroup, torch.device]]:
    """The process group that torchrun started this process in, and the device it works on."""
    place = choose_device(device)
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield SINGLE_PROCESS, place
        return
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    seconds = seconds_of_silence()
    on_gpu = place.type == "cuda"
    with given_up_after(SECONDS_TO_START):
        store, rank, size = next(rendezvous("env://"))
        store = PrefixStore(agree_on_a_name(store, rank, size), store)
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
        distributed.init_process_group(
            backend, store=store, rank=rank, world_size=size, timeout=LONGEST_WORK
        )
        for_tables = distributed.new_group(timeout=LONGEST_WORK)
        beats = distributed.new_group(backend="gloo", timeout=timedelta(seconds=seconds))
    _LEFT.extend([distributed.group.WORLD, for_tables, beats])
    try:
        processes = ProcessGroup(rank, size, for_tables)
        with watched(beats, seconds):
            if on_gpu:
                with processes.barrier():
                    place = _own_gpu(int(os.environ["LOCAL_RANK"]), torch.cuda.device_count())
                torch.cuda.set_device(place)
            yield processes, place
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
    """Whether torchrun restarted this process after one of its group had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
