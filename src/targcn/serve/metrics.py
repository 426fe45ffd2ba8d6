"""What the server has done so far, in the text form that Prometheus reads."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from targcn.serve.served_run import ServedRun

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Seconds within which requests are answered.
BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

# Name, kind, what it is, and its value for a run.
OF_RUNS: Final[tuple[tuple[str, str, str, Callable[["ServedRun"], int]], ...]] = (
    (
        "targcn_questions_total",
        "counter",
        "Questions answered; explanations and what-ifs count as one.",
        lambda run: run.num_questions,
    ),
    (
        "targcn_batches_total",
        "counter",
        "Batches in which they were answered.",
        lambda run: run.worker.num_batches,
    ),
    (
        "targcn_refused_total",
        "counter",
        "Requests refused because too many questions waited.",
        lambda run: run.worker.num_refused,
    ),
    (
        "targcn_questions_waiting",
        "gauge",
        "Questions, of ten answers each, that wait or are being answered.",
        lambda run: run.worker.num_waiting,
    ),
)


class Metrics:
    """Counts of requests; runs count their questions themselves."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    def in_text(self, runs: Iterable["ServedRun"]) -> str:
        return "".join(f"{line}\n" for line in self._lines(list(runs)))

    def _lines(self, runs: list["ServedRun"]) -> Iterator[str]:
        yield from _head("targcn_requests_total", "counter", "Requests, by address and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'targcn_requests_total{{route="{_escaped(route)}",status="{status}"}} {count}'
        name = "targcn_request_seconds"
        yield from _head(name, "histogram", "Seconds from a request to the end of its answer.")
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.buckets, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.seconds:.6f}"
        yield f"{name}_count {total}"
        yield from _head("targcn_requests_in_flight", "gauge", "Requests being answered now.")
        yield f"targcn_requests_in_flight {self.in_flight}"
        for name, kind, text, figure in OF_RUNS:
            yield from _head(name, kind, text)
            for run in runs:
                yield f'{name}{{run="{_escaped(run.name)}"}} {figure(run)}'
        yield from _head("process_cpu_seconds_total", "counter", "Processor time used.")
        yield f"process_cpu_seconds_total {time.process_time():.3f}"
        if (held := resident_bytes()) is not None:
            yield from _head("process_resident_memory_bytes", "gauge", "Memory held.")
            yield f"process_resident_memory_bytes {held}"


def resident_bytes() -> int | None:
    """The memory that this process holds, where the system says so."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _escaped(label: str) -> str:
    r"""
    >>> _escaped('a "b"\\')
    'a \\"b\\"\\\\'
    """
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
