"""How the figures of a benchmark are shown and kept. Next room: cli/bench."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from targcn.terminal import show, show_json, table_of

if TYPE_CHECKING:
    from targcn.bench import Result

# What the table calls each figure, how it is written, and what it is divided by.
COLUMNS = {
    "what": ("", "{}", 1),
    "decay": ("decay", "{:g}", 1),
    "weight_floor": ("floor", "{:.0e}", 1),
    "window": ("window", "{}", 1),
    "rows": ("rows", "{:,}", 1),
    "facts": ("facts", "{:,}", 1),
    "file_bytes": ("file GB", "{:.2f}", 1e9),
    "generate_seconds": ("generate s", "{:.1f}", 1),
    "save_seconds": ("save s", "{:.1f}", 1),
    "load_seconds": ("load s", "{:.2f}", 1),
    "graph_seconds": ("graph s", "{:.1f}", 1),
    "milliseconds_per_step": ("ms/step", "{:,.2f}", 1),
    "seconds_per_epoch": ("s/epoch", "{:,.2f}", 1),
    "seconds": ("seconds", "{:,.2f}", 1),
    "p50_milliseconds": ("p50 ms", "{:,.1f}", 1),
    "p95_milliseconds": ("p95 ms", "{:,.1f}", 1),
    "microseconds_per_query": ("µs/query", "{:,.1f}", 1),
    "facts_per_second": ("facts/s", "{:,.0f}", 1),
    "rows_per_second": ("rows/s", "{:,.0f}", 1),
    "queries_per_second": ("queries/s", "{:,.0f}", 1),
    "questions_per_second": ("questions/s", "{:,.0f}", 1),
    "bytes_per_fact": ("bytes/fact", "{:.1f}", 1),
    "missed_mean": ("missed mean", "{:.1e}", 1),
    "missed_worst": ("worst", "{:.1e}", 1),
    "ratio_to_products": ("× products", "{:.2f}", 1),
    "ratio_to_plain": ("plain ×", "{:.1f}", 1),
    "generate_peak_bytes": ("generate GB", "{:.2f}", 1e9),
    "peak_bytes": ("peak GB", "{:.2f}", 1e9),
    "peak_device_bytes": ("GPU GB", "{:.2f}", 1e9),
}


def report(result: "Result", out: Path | None, as_json: bool) -> None:
    """Print a result, and keep it in a file where one is given."""
    try:
        if as_json:
            show_json(result.to_json())
        else:
            _show(result)
    finally:
        # Kept even if whoever reads what is shown leaves early.
        if out is not None:
            from json import dumps

            from targcn.files import atomic_file

            with atomic_file(out) as draft:
                draft.write_text(dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")


def _show(result: "Result") -> None:
    show(f"{result.bench}, {result.data['name']}, {_in_words(result.arguments)}; {result.device}")
    found = [name for name in COLUMNS if any(name in row for row in result.rows)]
    table = table_of(*(COLUMNS[name][0] for name in found))
    for row in result.rows:
        table.add_row(*(_written(row, name) for name in found))
    show(table)
    for name, value in result.summary.items():
        show(f"{name.replace('_', ' ')}: {value:.2f}")
    for note in result.notes:
        show(f"note: {note}")


def _written(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        return ""
    _, form, unit = COLUMNS[name]
    return form.format(row[name] if unit == 1 else row[name] / unit)


def _in_words(arguments: Mapping[str, Any]) -> str:
    settings = arguments.get("settings", {})
    shown = {name: settings[name] for name in ("size", "rank", "neighbors") if name in settings}
    shown |= {name: arguments[name] for name in arguments if name not in ("settings", "device")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
