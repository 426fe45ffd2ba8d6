"""The result of a benchmark as a table."""

from collections.abc import Mapping
from typing import Any, Final

from targcn.bench.measure import Result
from targcn.output.tables import Column, Table, Value


def _gigabytes(value: Value) -> str:
    return f"{float(value or 0) / 1e9:.2f}"


COLUMNS: Final = (
    Column("what", ""),
    Column("decay", "decay", "g"),
    Column("weight_floor", "floor", ".0e"),
    Column("window", "window"),
    Column("rows", "rows", ","),
    Column("facts", "facts", ","),
    Column("file_bytes", "file GB", _gigabytes),
    Column("generate_seconds", "generate s", ".1f"),
    Column("save_seconds", "save s", ".1f"),
    Column("load_seconds", "load s", ".2f"),
    Column("graph_seconds", "graph s", ".1f"),
    Column("milliseconds_per_step", "ms/step", ",.2f"),
    Column("seconds_per_epoch", "s/epoch", ",.2f"),
    Column("seconds", "seconds", ",.2f"),
    Column("p50_milliseconds", "p50 ms", ",.1f"),
    Column("p95_milliseconds", "p95 ms", ",.1f"),
    Column("microseconds_per_query", "µs/query", ",.1f"),
    Column("facts_per_second", "facts/s", ",.0f"),
    Column("rows_per_second", "rows/s", ",.0f"),
    Column("queries_per_second", "queries/s", ",.0f"),
    Column("questions_per_second", "questions/s", ",.0f"),
    Column("bytes_per_fact", "bytes/fact", ".1f"),
    Column("missed_mean", "missed mean", ".1e"),
    Column("missed_worst", "worst", ".1e"),
    Column("ratio_to_products", "× products", ".2f"),
    Column("ratio_to_plain", "plain ×", ".1f"),
    Column("generate_peak_bytes", "generate GB", _gigabytes),
    Column("peak_bytes", "peak GB", _gigabytes),
    Column("peak_device_bytes", "GPU GB", _gigabytes),
)


def result_table(result: Result) -> Table:
    """The rows of a result under the columns that it has."""
    found = tuple(column for column in COLUMNS if any(column.key in row for row in result.rows))
    title = f"{result.bench}, {result.data['name']}, {_listed(result.arguments)}; {result.device}"
    summary = [f"{name.replace('_', ' ')}: {value:.2f}" for name, value in result.summary.items()]
    notes = [f"note: {note}" for note in result.notes]
    return Table(found, tuple(result.rows), title, (*summary, *notes))


def _listed(arguments: Mapping[str, Any]) -> str:
    settings = arguments.get("settings", {})
    shown = {name: settings[name] for name in ("dim", "neighbors") if name in settings}
    shown |= {name: arguments[name] for name in arguments if name not in ("settings", "device")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
