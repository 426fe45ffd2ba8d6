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
# Cells that stand for nothing.
MISSING: Final = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "-"),
    *("####-##-##", "0000-00-00"),
)
ROLE_OF_NAME: Final = {name: role for role, names in USUAL_NAMES.items() for name in names.split()}


@dataclass(frozen=True)
class FactTable:
    """Names as text, times as written, no empty cells; `where` is what messages call the table."""

    where: str
    frame: pl.DataFrame
    # The positions of its rows in the source, if some were left out.
    rows: pl.Series | None = None
    # What a user should know about the cells.
    notes: tuple[str, ...] = ()
    # What is wrong with rows that were left out; whoever reads the times says all that is wrong.
    problems: tuple[str, ...] = ()


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


def check_cells(frame: pl.DataFrame, where: str, options: ReadOptions) -> FactTable:
    """Tidy names, and leave out blank rows and rows with a missing cell.

    Unless missing cells may be dropped, they are a problem, to be raised with all others.
    """
    frame = _cast_names(frame, where)
    written, frame = frame, frame.select(_tidy(frame[role]) for role in ROLES)
    notes = _note_merged_names(written, frame)
    del written  # frees the text that was tidied
    words = MISSING if options.missing != "keep" else ("",)
    missing = pl.DataFrame([_find_missing(frame[role], words) for role in ROLES])
    rows, problems = None, []
    if missing.select(pl.any_horizontal(pl.all().any())).item():
        is_blank = missing.select(pl.all_horizontal(pl.all())).to_series()
        rows = (~missing.select(pl.any_horizontal(pl.all())).to_series()).arg_true()
        holes = {role: (missing[role] & ~is_blank).arg_true() for role in ROLES}
        holes = {role: found for role, found in holes.items() if len(found)}
        if holes and options.missing == "drop":
            counts = ", ".join(f"{role} {len(found):,}" for role, found in holes.items())
            dropped = frame.height - len(rows) - int(is_blank.sum())
            notes.append(f"{dropped:,} rows were dropped since a cell is missing: {counts}")
        elif holes:
            problems = _describe_holes(frame, holes)
        frame = frame[rows]
    if not problems:
        require_rows(frame, where)
    return FactTable(where, frame, rows, tuple(notes), tuple(problems))


def _find_missing(cells: pl.Series, words: tuple[str, ...]) -> pl.Series:
    return cells.is_in(words).fill_null(True) if cells.dtype == pl.String else cells.is_null()


def _describe_holes(frame: pl.DataFrame, holes: dict[str, pl.Series]) -> list[str]:
    problems, has_words = [], False
    for role, rows in holes.items():
        cells = frame[role].cast(pl.String)
        problems.append(f"the {role} is missing in {list_rows(rows, cells)}")
        has_words |= role != "time" and bool((cells[rows] != "").any())
    keep = ", or --missing keep if these are names" if has_words else ""
    return [*problems, f"fill it in, or give --missing drop to drop the rows{keep}"]


def _cast_names(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Names as text, and times as text if they are any."""
    for role in ROLES[:3]:
        dtype = frame[role].dtype
        try:
            if dtype.is_nested() or dtype == pl.Binary:
                raise pl.exceptions.InvalidOperationError
            frame = frame.with_columns(frame[role].cast(pl.String))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(f"{where}: the {role} column holds {dtype}, not names") from None
    if frame["time"].dtype in (pl.Categorical, pl.Enum):
        frame = frame.with_columns(pl.col("time").cast(pl.String))
    if frame["time"].dtype.is_float():
        frame = frame.with_columns(pl.col("time").fill_nan(None))
    return frame.select(ROLES)


def _tidy(cells: pl.Series) -> pl.Series:
    """Remove blanks around texts, and write each in one Unicode form (NFC)."""
    if cells.dtype != pl.String:
        return cells
    cells = cells.str.strip_chars()
    accented = cells.filter(cells.str.len_bytes() != cells.str.len_chars()).unique()
    composed = accented.str.normalize("NFC")
    changed = accented != composed
    return cells.replace(accented.filter(changed), composed.filter(changed))


def _note_merged_names(written: pl.DataFrame, tidied: pl.DataFrame) -> list[str]:
    num_merged = 0
    for roles in (["subject", "object"], ["relation"]):
        before, after = (pl.concat([frame[role] for role in roles]) for frame in (written, tidied))
        changed = after.filter(before != after).unique()
        if len(changed):
            num_merged += before.filter(after.is_in(changed.implode())).n_unique() - len(changed)
    if not num_merged:
        return []
    what = "names that differed in outer blanks or Unicode form alone were"
    return [f"{num_merged:,} {what} merged with others"]


def require_rows(frame: pl.DataFrame, where: str) -> None:
    if frame.height == 0:
        raise InputError(f"{where} has columns but no facts")


def list_rows(
    rows: pl.Series, cells: pl.Series | None = None, numbers: pl.Series | None = None
) -> str:
    """The first of these rows, for messages, with what their cells hold.

    `numbers` are the positions of the rows in the source, if it has others as well.

    >>> list_rows(pl.Series([2, 6, 7, 9, 11])), list_rows(pl.Series([1]), pl.Series(["a", "b"]))
    ('row 3, row 7, row 8 and 2 more', "row 2 ('b')")
    """
    shown = []
    for row in rows.head(3):
        cell = "" if cells is None or cells[row] is None else str(cells[row])[:40].strip()
        number = row if numbers is None else numbers[row]
        shown.append(f"row {number + 1}" + (f" ({cell!r})" if cell else ""))
    return ", ".join(shown) + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")
