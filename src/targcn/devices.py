"""Where to compute, how much memory may still be taken there, and kernels made for it."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from targcn.errors import InputError


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
    free = 1 << 30
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
        if limit.isdigit():
            free = min(free, int(limit) - int(used))
    except (OSError, ValueError, AttributeError):
        pass  # not Linux, or no control group: what is known so far has to do
    return max(free, 0)


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
