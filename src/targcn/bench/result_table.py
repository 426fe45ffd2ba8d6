"""The result of a benchmark as a table."""

from collections.abc import Mapping
from typing import Any, Final

from targcn.bench.measure import Result, describe_machine
from targcn.output.tables import Column, Table

# Words of a figure's name that are shown in another form.
SHOWN: Final = {"seconds": "s", "second": "s", "milliseconds": "ms", "microseconds": "µs"}


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
    """
    >>> _three_digits(72826), _three_digits(1234.5), _three_digits(0.00123456)
    ('72,826', '1,234', '0.00123')
    """
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def _listed(arguments: Mapping[str, Any]) -> str:
    settings = arguments.get("settings", {})
    shown = {name: settings[name] for name in ("dim", "neighbors") if name in settings}
    shown |= {name: arguments[name] for name in arguments if name not in ("settings", "device")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
