"""Where to compute, how much memory may still be taken there, and kernels made for it."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from targcn.errors import InputError
from targcn.memory import memory_left


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """The device of this name; "auto" takes a GPU where there is one.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError):
        raise InputError(
            f"device {name!r} is not to be had here; choose auto, cpu, or cuda on a machine with "
            "an NVIDIA GPU and a torch built for it"
        ) from None
    return device


def describe_device(device: torch.device) -> str:
    """The device in words, for people who compare times."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} with {torch.get_num_threads()} threads"


def available_bytes(device: torch.device) -> int:
    """Memory free for this process on a device; on a CPU within its control group's limit."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    left = memory_left()
    return int(left) if left < float("inf") else 1 << 30


class SizeWatch(TorchFunctionMode):
    """Within it, `check` is given the size in bytes of every tensor before it is made."""

    FACTORIES: ClassVar = (
        torch.empty,
        torch.zeros,
        torch.ones,
        torch.full,
        torch.rand,
        torch.randn,
    )

    def __init__(self, check: Callable[[int], None]) -> None:
        super().__init__()
        self.check = check

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.FACTORIES:
            shape = args[0] if args and isinstance(args[0], Sequence) else args
            dtype = kwargs.get("dtype") or torch.get_default_dtype()
            self.check(math.prod(kwargs.get("size", shape)) * dtype.itemsize)
        return func(*args, **kwargs)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    signs = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


def compiled(
    function: Callable[..., Tensor], instead: Callable[..., Tensor], **options: Any
) -> Callable[..., Tensor]:
    """A function in kernels that torch writes when it is first called; if it cannot, `instead`."""
    made = torch.compile(function, **options)

    def call(*arguments: Any) -> Tensor:
        nonlocal made
        try:
            return made(*arguments)
        except (
            torch._dynamo.exc.TorchDynamoException,
            torch._dynamo.exc.FailOnRecompileLimitHit,
        ) as error:
            reason = str(error).strip().splitlines()[0]
            warnings.warn(f"going on uncompiled: {reason}", RuntimeWarning, stacklevel=2)
            made = instead
            return made(*arguments)

    return call
