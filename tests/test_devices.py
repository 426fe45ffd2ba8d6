import pytest
import torch

from targcn import devices
from targcn.devices import available_bytes, choose_device, is_out_of_memory
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


class FakeFiles:
    """Stands in for Path: the control group's two files with given contents."""

    def __init__(self, limit: str, used: str) -> None:
        self.contents = {"memory.max": limit, "memory.current": used}

    def __call__(self, path: str) -> "FakeFiles":
        self.asked = path.rsplit("/", 1)[1]
        return self

    def read_text(self) -> str:
        return self.contents[self.asked] + "\n"


@pytest.mark.parametrize(("limit", "used", "free"), [("5000", "4000", 1000), ("5000", "6000", 0)])
def test_memory_is_what_the_control_group_leaves(
    monkeypatch: pytest.MonkeyPatch, limit: str, used: str, free: int
) -> None:
    monkeypatch.setattr(devices, "Path", FakeFiles(limit, used))
    assert available_bytes(torch.device("cpu")) == free


@pytest.mark.parametrize("limit", ["max", "nonsense"])
def test_no_limit_leaves_what_the_machine_has(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(devices, "Path", FakeFiles(limit, "4000"))
    monkeypatch.setattr(devices.os, "sysconf", {"SC_AVPHYS_PAGES": 7, "SC_PAGE_SIZE": 100}.get)
    assert available_bytes(torch.device("cpu")) == 700


def test_memory_without_control_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "Path", lambda path: devices_missing())
    monkeypatch.setattr(devices.os, "sysconf", {"SC_AVPHYS_PAGES": 7, "SC_PAGE_SIZE": 100}.get)
    assert available_bytes(torch.device("cpu")) == 700


def devices_missing() -> None:
    raise FileNotFoundError


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
