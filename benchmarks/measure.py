"""What every benchmark needs: a clock, the peak of memory, a fresh process, the result.

Torch is imported only where a device is given: what does without torch is measured without it.
"""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import targcn
from targcn.errors import InputError
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress

if TYPE_CHECKING:
    from torch import device as Device  # noqa: N812

Row = dict[str, Any]

# Words of a figure's name that are shown in another form.
SHOWN: Final = {"seconds": "s", "second": "s", "milliseconds": "ms", "microseconds": "µs"}
T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """What a benchmark found."""

    bench: str
    arguments: Mapping[str, Any]
    data: Mapping[str, Any]
    # Where it was measured; None is a CPU that needed no torch.
    device: "Device | None"
    rows: Sequence[Row]
    # Figures over all rows.
    summary: Mapping[str, float] = field(default_factory=dict)
    # What a reader has to know: what was left out, what was scaled.
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as plain data for json.dumps."""
        versions = {"targcn": targcn.__version__, "python": platform.python_version()}
        versions |= {name: version(name) for name in ("torch", "numpy")}
        return {**vars(self), "device": describe_machine(self.device), "versions": versions}


def clock(device: "Device | None" = None) -> float:
    """Seconds since some moment, once the device has done all it was told to."""
    if cuda := _cuda(device):
        cuda.synchronize(device)
    return time.perf_counter()


def timed(call: Callable[[], T], device: "Device | None" = None) -> tuple[T, float]:
    """What a call returns, and the seconds it took."""
    begin = clock(device)
    returned = call()
    return returned, clock(device) - begin


def forget_peak(device: "Device | None" = None) -> None:
    """Let the peak of memory start from what is held now, where the system allows it."""
    if cuda := _cuda(device):
        cuda.init()
        cuda.reset_peak_memory_stats(device)
        return
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes(device: "Device | None" = None) -> int:
    """The most memory held: allocated on a GPU, resident elsewhere.

    On Linux not what getrusage says, which begins with the peak of the parent process.
    """
    if cuda := _cuda(device):
        return int(cuda.max_memory_allocated(device))
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def describe_machine(device: "Device | None") -> str:
    """The GPU by name, or the processor and how many threads were used."""
    if cuda := _cuda(device):
        return str(cuda.get_device_name(device))
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    if device is None:
        return f"{model}, {os.cpu_count()} cores"
    import torch

    return f"{model}, {torch.get_num_threads()} threads"


def note_load() -> tuple[str, ...]:
    """A note if others use the machine too: more processes want to run than it has cores."""
    with suppress(AttributeError, OSError):  # not every system knows
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if load > cores + 1:
            return (f"the machine was busy: load {load:.1f} on {cores} cores",)
    return ()


def _cuda(device: "Device | None") -> Any:
    """torch.cuda if the device is a GPU, else None."""
    if device is None or device.type != "cuda":
        return None
    import torch

    return torch.cuda


def run_apart(function: Callable[..., Row], **arguments: Any) -> Row:
    """What a function gives in a process whose memory is its own."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            return process.submit(function, **arguments).result()
    except BrokenProcessPool:
        raise InputError(
            "the process that was to be measured was ended; where nothing is said above, memory "
            "is likely to have run out: ask for less"
        ) from None


def counted(items: Sequence[T], label: str, what: str) -> Iterator[T]:
    """The items one by one, behind a bar of progress."""
    with count_progress(label, what) as progress:
        for number, item in enumerate(items, 1):
            yield item
            if progress is not None:
                progress(number, len(items))


def take_turns(
    turns: Mapping[str, Callable[[], object]], repeats: int, device: "Device"
) -> dict[str, float]:
    """The median seconds of each of some calls, which are made in turns."""
    taken: dict[str, list[float]] = {name: [] for name in turns}
    for name, call in counted([*turns.items()] * repeats, "timing", "turns"):
        taken[name].append(timed(call, device)[1])
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def compare_sizes(rows: Sequence[Row], size: str, figure: str, name: str) -> dict[str, float]:
    """A figure of the largest row over that of the smallest, where there are several."""
    ordered = sorted(rows, key=lambda row: int(row[size]))
    return {name: ordered[-1][figure] / ordered[0][figure]} if len(rows) > 1 else {}


def result_table(result: Result) -> Table:
    """The rows of a result under the columns that it has."""
    names = dict.fromkeys(name for row in result.rows for name in row)
    machine = describe_machine(result.device)
    title = f"{result.bench}, {result.data['name']}, {_listed(result.arguments)}; {machine}"
    summary = [f"{name.replace('_', ' ')}: {value:.2f}" for name, value in result.summary.items()]
    notes = [f"note: {note}" for note in result.notes]
    return Table(tuple(map(_column, names)), tuple(result.rows), title, (*summary, *notes))


def _column(name: str) -> Column:
    """The column of a figure: milliseconds_per_step is shown as ms/step, peak_bytes as peak GB."""
    if name == "what":
        return Column(name, "")
    words = [SHOWN.get(word, word) for word in name.split("_")]
    label, in_bytes = " ".join(words).replace(" per ", "/"), name.endswith("_bytes")
    return Column(name, label.replace(" bytes", " GB"), _gigabytes if in_bytes else _three_digits)


def _gigabytes(size: Any) -> str:
    return f"{size / 1e9:.2f}"


def _three_digits(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def _listed(arguments: Mapping[str, Any]) -> str:
    settings = arguments.get("settings", {})
    shown = {name: settings[name] for name in ("dim", "neighbors") if name in settings}
    shown |= {name: arguments[name] for name in arguments if name not in ("settings", "device")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
