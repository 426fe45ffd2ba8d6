import pytest
import torch

from targcn import devices, memory
from targcn.devices import MemoryWatch, available_bytes, choose_device, is_out_of_memory
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


def test_a_tensor_that_would_not_fit_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 100 << 20)
    monkeypatch.setattr(MemoryWatch, "LEAST", 1000)
    sentence = "^this needs at least 190 MB of memory, and only 100 MB are left; do that$"
    with MemoryWatch("this", "do that"):
        assert torch.randn(3, 1000).shape == (3, 1000)
        assert torch.full((9,), 2.0).sum() == 18
        # That takes none here.
        assert torch.empty(10**12, device="meta").is_meta
        for make in (torch.empty, torch.randn):
            with pytest.raises(InputError, match=sentence):
                make(50_000, 1000)
        with pytest.raises(InputError, match=sentence):
            torch.nn.Linear(1000, 50_000)
    assert len(torch.empty(30 << 20)) == 30 << 20


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
