"""What the loop steps with: the optimiser, a GPU's recording of a step, a polite way to stop.

Next room: training.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from targcn.batches import Batch


def make_optimizer(
    model: torch.nn.Module, name: str, learning_rate: float
) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    on_gpu = parameters[0].device.type == "cuda"
    if name == "adagrad":
        return torch.optim.Adagrad(parameters, lr=learning_rate)
    # On a GPU the rate is a tensor, so that a recorded step reads the rate of the day.
    rate = torch.tensor(learning_rate, device=parameters[0].device)
    return torch.optim.Adam(
        parameters,
        lr=rate if on_gpu else learning_rate,
        fused=True,
        capturable=on_gpu,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


class Replay:
    """A step recorded once on a GPU and replayed, so that small batches are not launch-bound."""

    NUM_WARM_UP = 3

    def __init__(self, step: Callable[[Batch], Tensor], device: torch.device) -> None:
        self.step = step
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.loss = torch.zeros((), device=device)
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.num_taken = 0

    def take(self, batch: Batch) -> Tensor:
        if not self.inputs:
            self.inputs = tuple(tensor.clone() for tensor in batch.tensors)
        for held, new in zip(self.inputs, batch.tensors, strict=True):
            held.copy_(new)
        held_batch = Batch.of_tensors(self.inputs)
        self.num_taken += 1
        if self.num_taken <= self.NUM_WARM_UP:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                loss = self.step(held_batch)
            torch.cuda.current_stream().wait_stream(self.stream)
            return loss
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.step(held_batch)
        self.graph.replay()
        return self.loss


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Let Ctrl-C and a polite kill finish the step; a second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
