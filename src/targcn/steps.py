"""What the loop steps with: the optimiser, a GPU's recording of a step, a polite way to stop.

Next room: training.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from targcn.batches import Batch
from targcn.devices import compiled


def make_optimizer(
    model: torch.nn.Module, name: str, learning_rate: float, compile: bool
) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    on_gpu = parameters[0].device.type == "cuda"
    # On a GPU the rate is a tensor, so that a recorded step reads the rate of the day.
    rate = torch.tensor(learning_rate, device=parameters[0].device) if on_gpu else learning_rate
    if name == "adam":
        return torch.optim.Adam(parameters, lr=rate, fused=True, capturable=on_gpu)
    if on_gpu:
        return RecordableAdagrad(parameters, rate, compile)
    return torch.optim.Adagrad(parameters, lr=learning_rate, fused=True)


class RecordableAdagrad(torch.optim.Optimizer):
    """Adagrad whose rate is read from a tensor, which torch's own cannot do in a recorded step."""

    def __init__(
        self, parameters: Iterable[Tensor], rate: Tensor | float, compile: bool = False
    ) -> None:
        super().__init__(parameters, {"lr": rate})
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
                    state = self.state[weight]
                    state["step"] += 1
                    self.update(weight.detach(), weight.grad, state["sum"], group["lr"])


def _adagrad(weight: Tensor, slope: Tensor, squares: Tensor, rate: Tensor | float) -> Tensor:
    squares.addcmul_(slope, slope)
    return weight.addcdiv_(slope, squares.sqrt().add_(1e-10).div_(rate), value=-1)


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
def matmul_precision(name: str) -> Iterator[None]:
    """Matrix products of this precision, for a while; everyone else's stay as they are."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def stop_on_signal(patient: bool = False) -> Iterator[threading.Event]:
    """Let Ctrl-C and a polite kill finish the step; a second one stops at once, unless patient.

    In a team everyone may be signalled twice, by whoever stops it and by the launcher.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: object) -> None:
        if asked.is_set() and not patient:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
