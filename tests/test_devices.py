import pytest
import torch

from targcn import devices
from targcn.devices import SizeWatch, available_bytes, choose_device, is_out_of_memory
from targcn.errors import InputError


def test_auto_takes_a_gpu_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, kind in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto").type == kind


# Each fails in a way of its own in torch: unknown, not built in, no module, no memory behind it.
@pytest.mark.parametrize("name", ["bogus", "", "cuda:99", "hpu", "meta"])
def test_a_device_that_cannot_compute_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"device '{name}' is not to be had here; choose auto"):
        choose_device(name)


@pytest.mark.parametrize(("left", "free"), [(700.0, 700), (float("inf"), 1 << 30)])
def test_memory_of_a_cpu_is_what_is_left(
    monkeypatch: pytest.MonkeyPatch, left: float, free: int
) -> None:
    monkeypatch.setattr(devices, "memory_left", lambda: left)
    assert available_bytes(torch.device("cpu")) == free


def test_sizes_are_known_before_a_tensor_is_made() -> None:
    sizes: list[int] = []
    with SizeWatch(sizes.append):
        torch.randn(3, 1000)
        torch.full((9,), 2, dtype=torch.int64)
        torch.zeros(())
        torch.empty(size=(2, 3), dtype=torch.uint8)
        torch.nn.Linear(10, 50)
    assert sizes == [12_000, 72, 4, 6, 2000, 200]


def test_a_tensor_that_is_refused_is_not_made() -> None:
    def check(size: int) -> None:
        raise InputError(f"no room for {size >> 30:,} GB")

    with SizeWatch(check), pytest.raises(InputError, match="no room for 3,725,290 GB"):
        torch.empty(10**9, 10**6)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 B"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("NaN"), False),
    ],
)
def test_out_of_memory_is_told_from_other_errors(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected
