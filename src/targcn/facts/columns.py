"""What all tables of facts share: four columns, found by their names, without empty cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import polars as pl

from targcn.errors import InputError
from targcn.facts.read_options import ReadOptions

ROLES: Final = ("subject", "relation", "object", "time")
# The usual names of the four columns; the first is our own.
USUAL_NAMES: Final = {
    "subject": "subject subj head source src from actor1 source_name s h",
    "relation": "relation rel predicate property relationship edge verb action event_text r p",
    "object": "object obj tail target dst dest destination to actor2 target_name o",
    "time": "time date datetime timestamp day month year when at ts t event_date sqldate",
}
ROLE_OF_NAME: Final = {name: role for role, names in USUAL_NAMES.items() for name in names.split()}


@dataclass(frozen=True)
class FactTable:
    """Names as text, times as written, no empty cells; `where` is what messages call the table."""

    where: str
    frame: pl.DataFrame
    # What a user should know about how the table was read.
    notes: tuple[str, ...] = ()


def usual_role(column: str) -> str | None:
    """The role that a column of this name usually has, if any.

    >>> usual_role("Event Date"), usual_role("colour")
    ('time', None)
    """
    folded = column.strip().casefold().replace(" ", "_").replace("-", "_")
    return ROLE_OF_NAME.get(folded)


def find_columns(columns: Sequence[str], where: str, options: ReadOptions) -> dict[str, str]:
    """The column of each role: the one given, or the only one with a usual name.

    >>> find_columns(["head", "rel", "tail", "year"], "the frame", ReadOptions())
    {'subject': 'head', 'relation': 'rel', 'object': 'tail', 'time': 'year'}
    """
    given = {role: cast("str | None", getattr(options, role)) for role in ROLES}
    chosen: dict[str, str] = {}
    for role in ROLES:
        if given[role] is not None:
            matching = [name for name in columns if name == given[role]]
        else:
            free = (name for name in columns if name not in given.values())
            matching = [name for name in free if usual_role(name) == role]
        if len(matching) != 1:
            listed = ", ".join(repr(name[:40]) for name in (matching or columns)[:12]) or "none"
            missing = f"no column {given[role]!r}" if given[role] else f"no column for the {role}"
            problem = f"{missing} among {listed}; rename it to {role!r}"
            if matching:
                problem = (
                    f"{len(matching)} columns could hold the {role}: {listed}; rename all but one"
                )
            raise InputError(
                f"{where}: {problem}, or choose one with --{role} if this is a data set"
            )
        chosen[role] = matching[0]
    return chosen


def check_cells(frame: pl.DataFrame, where: str) -> FactTable:
    """Strip names and drop blank rows; a row with some cells empty is an InputError."""
    for role in ROLES[:3]:
        dtype = frame[role].dtype
        try:
            if dtype.is_nested() or dtype == pl.Binary:
                raise pl.exceptions.InvalidOperationError
            names = frame[role].cast(pl.String).str.strip_chars()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(f"{where}: the {role} column holds {dtype}, not names") from None
        frame = frame.with_columns(names.alias(role))
    if frame["time"].dtype in (pl.String, pl.Categorical, pl.Enum):
        frame = frame.with_columns(pl.col("time").cast(pl.String).str.strip_chars())
    text = [role for role in ROLES if frame[role].dtype == pl.String]
    frame = frame.with_columns(pl.when(pl.col(text) != "").then(pl.col(text)).name.keep())
    if frame.null_count().sum_horizontal().item():
        blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
        for role in ROLES:
            empty = (frame[role].is_null() & ~blank).arg_true()
            if len(empty):
                raise InputError(
                    f"{where}: the {role} is empty in {list_rows(empty)}; fill it in or remove "
                    "the rows"
                )
        frame = frame.filter(~blank)
    require_rows(frame, where)
    return FactTable(where, frame)


def require_rows(frame: pl.DataFrame, where: str) -> None:
    if frame.height == 0:
        raise InputError(f"{where} has columns but no facts")


def list_rows(rows: pl.Series, cells: pl.Series | None = None) -> str:
    """The first of these rows, for messages, with what their cells hold.

    >>> list_rows(pl.Series([2, 6, 7, 9, 11])), list_rows(pl.Series([1]), pl.Series(["a", "b"]))
    ('row 3, row 7, row 8 and 2 more', "row 2 ('b')")
    """
    shown = [
        f"row {row + 1}" + ("" if cells is None else f" ({str(cells[row])[:40]!r})")
        for row in rows.head(3)
    ]
    return ", ".join(shown) + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")
