"""What an evaluation is of, and what it found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from targcn.evaluation.filters import Filter
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.ranking import Ties
from targcn.facts.dataset import Context, Split
from targcn.output.tables import Column, Shown, Table, Value

if TYPE_CHECKING:
    from targcn.evaluation.calibration import Calibration
    from targcn.evaluation.intervals import Overlap

Side = Literal["both", "object", "subject", "relation", "time"]
# How facts that hold over intervals are asked about: at each of their ticks, or once for all.
Protocol = Literal["enumerate-time", "identical"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("enumerate-time", "identical")


@dataclass(frozen=True)
class Setting:
    """What is evaluated: the split that is asked about, the context, and how ties count.

    Every evaluation ranks under all three filters; which one a figure is under stands beside it.
    """

    split: Split
    context: Context
    ties: Ties = "mean"
    # Of facts with a beginning and an end: how they are asked about, and if they are asked at each
    # of their ticks, at how many at most; for a relation or a time, at the first known tick. None:
    # as the evaluator does it by default, or no such facts.
    intervals: Protocol | Literal["first-tick"] | None = None
    most_ticks: int | None = None

    def __str__(self) -> str:
        words = f"{self.split} split, context {self.context}, {self.ties} rank on ties"
        words += f", intervals {self.intervals}" if self.intervals else ""
        return words + (f" (at most {self.most_ticks} ticks a fact)" if self.most_ticks else "")

    def to_json(self) -> dict[str, Any]:
        """The setting as plain data; nothing about intervals where there are none."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The metrics of one model in one setting, under every filter."""

    dataset: str
    model: str
    setting: Setting
    num_queries: int
    metrics: Mapping[Filter, Mapping[Side, Mapping[str, float]]]
    mrr_interval: Mapping[Filter, Mapping[Side, tuple[float, float]]]
    # Metrics of both sides together, by relation, with the number of queries behind them.
    by_relation: Mapping[str, Mapping[Filter, Mapping[str, float]]]
    # Which facts were added to the context, in words.
    notes: tuple[str, ...] = ()
    # How well probabilities fit, where there are any and it was measured.
    calibration: "Calibration | None" = None
    # What a mean absolute error counts, where times are asked for.
    unit: str | None = None
    # How well intervals are found, where times of facts with both ends are asked for.
    overlap: "Overlap | None" = None

    def as_table(self) -> Table:
        """The metrics under every filter; `report_table` has those of each direction too."""
        table = report_table(self)
        return replace(table, rows=tuple(row for row in table.rows if row["filter"]))

    def to_json(self, by_relation: bool = False) -> dict[str, Any]:
        """The report as plain data for json.dumps."""
        content = {
            "dataset": self.dataset,
            "model": self.model,
            **self.setting.to_json(),
            "num_queries": self.num_queries,
            "metrics": self.metrics,
            "mrr_interval_95": self.mrr_interval,
        }
        content |= {"notes": list(self.notes)} if self.notes else {}
        content |= {"calibration": asdict(self.calibration)} if self.calibration else {}
        content |= {"unit": self.unit} if self.unit else {}
        content |= {"overlap": asdict(self.overlap)} if self.overlap else {}
        return content | ({"by_relation": self.by_relation} if by_relation else {})


def report_table(report: Report) -> Table:
    """The metrics under every filter, of both directions together and of each."""
    mrr, *others = (Column(metric.key, metric.label, metric.format) for metric in METRICS)
    interval = Column("interval", "±95%", ".3f")
    if report.unit:
        others.append(Column("mean_absolute_error", f"error, {report.unit}s", ",.1f"))
    columns = (Column("filter", "filter"), Column("side", "side"), mrr, interval, *others)
    rows: list[dict[str, Value]] = []
    for which, sides in report.metrics.items():
        for side, metrics in sides.items():
            low, high = report.mrr_interval[which][side]
            name = "" if side in ("object", "subject") else which
            rows.append({"filter": name, "side": side, "interval": (high - low) / 2, **metrics})
    title = f"{report.model} on {report.dataset}: {report.num_queries:,} queries, {report.setting}"
    measured = (report.calibration, report.overlap)
    notes = report.notes + tuple(str(figures) for figures in measured if figures)
    return Table(columns, tuple(rows), title, notes)


def relation_table(report: Report) -> Table:
    """The MRR of every relation under every filter, the most frequent relation first."""
    counts = {
        name: next(iter(of_filters.values()))["num_queries"]
        for name, of_filters in report.by_relation.items()
    }
    rows: list[dict[str, Value]] = []
    for name in sorted(counts, key=lambda name: -counts[name]):
        mrrs = {str(which): of["mrr"] for which, of in report.by_relation[name].items()}
        rows.append({"relation": name, "num_queries": counts[name], **mrrs})
    columns = (
        Column("relation", "relation"),
        Column("num_queries", "queries", ",.0f"),
        *(Column(which, f"{which} MRR", ".3f") for which in report.metrics),
    )
    return Table(columns, tuple(rows))
