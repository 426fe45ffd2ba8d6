"""What the server has done so far, for Prometheus."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from targcn.serve.served_run import ServedRun

# Seconds within which requests are answered.
BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts of requests, and those that runs keep of their questions."""

    def __init__(self, runs: Iterable["ServedRun"]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "targcn_requests",
            "Requests, by address and status.",
            ("route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "targcn_request_seconds",
            "Seconds from a request to the end of its answer.",
            buckets=BOUNDS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "targcn_requests_in_flight", "Requests being answered now.", registry=self.registry
        )
        self.registry.register(RunCounts(list(runs)))
        ProcessCollector(registry=self.registry)

    def in_text(self) -> bytes:
        return generate_latest(self.registry)


class RunCounts(Collector):
    """What runs have counted, read when it is asked for."""

    def __init__(self, runs: list["ServedRun"]) -> None:
        self.runs = runs

    def collect(self) -> Iterator[Metric]:
        questions = CounterMetricFamily(
            "targcn_questions",
            "Questions answered; explanations and what-ifs count as one.",
            labels=["run"],
        )
        batches = CounterMetricFamily(
            "targcn_batches", "Batches in which they were answered.", labels=["run"]
        )
        refused = CounterMetricFamily(
            "targcn_refused",
            "Requests refused because too many questions waited.",
            labels=["run"],
        )
        waiting = GaugeMetricFamily(
            "targcn_questions_waiting",
            "Questions, of ten answers each, that wait or are being answered.",
            labels=["run"],
        )
        for run in self.runs:
            questions.add_metric([run.name], run.num_questions)
            batches.add_metric([run.name], run.worker.num_batches)
            refused.add_metric([run.name], run.worker.num_refused)
            waiting.add_metric([run.name], run.worker.num_waiting)
        yield from (questions, batches, refused, waiting)
