"""What all tables of facts share: columns found by their names, without empty cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import polars as pl

from targcn.errors import InputError
from targcn.facts.cells import as_cells, distinct_texts, find_cells, is_text, replace_texts
from targcn.facts.read_options import ReadOptions

NAMES: Final = ("subject", "relation", "object")
ROLES: Final = (*NAMES, "time")
# Instead of a time, facts may have the first and the last one at which they hold.
INTERVAL_ROLES: Final = (*NAMES, "start", "end")
# The usual names of the columns; the first is our own.
USUAL_NAMES: Final = {
    "subject": "subject subj head source src from actor1 source_name s h",
    "relation": "relation rel predicate property relationship edge verb action event_text r p",
    "object": "object obj tail target dst dest destination to actor2 target_name o",
    "time": "time date datetime timestamp day month year when at ts t event_date sqldate",
    "start": "start begin beginning begins since start_date start_time start_year startdate "
    "starttime startyear begin_date begin_time begin_year from_date from_year date_from valid_from "
    "validfrom valid_since time_begin time_start occur_since occurs_since first first_date "
    "first_year",
    "end": "end ending ends until till end_date end_time end_year enddate endtime endyear to_date "
    "to_year date_to valid_to validto valid_until time_end occur_until occurs_until last last_date "
    "last_year",
}
# Cells that stand for nothing.
MISSING: Final = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "-"),
    *("####-##-##", "0000-00-00"),
)
# What an end may hold as well where there is none yet.
STILL: Final = ("present", "now", "today", "current", "ongoing")
# The last day of databases, which stands for an end that is not known.
LAST_DAY: Final = "9999-12-31"
ROLE_OF_NAME: Final = {name: role for role, names in USUAL_NAMES.items() for name in names.split()}


@dataclass(frozen=True)
class FactTable:
    """Names as text, times as written, no empty cells; `where` is what messages call the table.

    All text is encoded (cells.py). Of intervals, a start or an end that is open is null.
    """

    where: str
    frame: pl.DataFrame
    # The positions of its rows in the source, if some were left out.
    rows: pl.Series | None = None
    # What a user should know about the cells.
    notes: tuple[str, ...] = ()
    # What is wrong with rows that were left out; whoever reads the times says all that is wrong.
    problems: tuple[str, ...] = ()

    @property
    def has_intervals(self) -> bool:
        return "end" in self.frame.columns


def usual_role(column: str) -> str | None:
    """The role that a column of this name usually has, if any.

    >>> usual_role("Event Date"), usual_role("colour")
    ('time', None)
    """
    return ROLE_OF_NAME.get(_fold(column))


def _fold(column: str) -> str:
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def find_columns(columns: Sequence[str], where: str, options: ReadOptions) -> dict[str, str]:
    """The column of each role: the one given, or the only one with a usual name.

    A table has times, or starts and ends; if it has all of them, the times count unless the others
    are given. A start without an end is a time.

    >>> find_columns(["head", "rel", "tail", "year"], "the frame", ReadOptions())
    {'subject': 'head', 'relation': 'rel', 'object': 'tail', 'time': 'year'}
    >>> list(find_columns(["s", "r", "o", "since", "until"], "the frame", ReadOptions()))
    ['subject', 'relation', 'object', 'start', 'end']
    """
    given = {role: cast("str | None", getattr(options, role)) for role in USUAL_NAMES}
    usual = _usual_roles(columns, {role for role, name in given.items() if name is not None})
    fitting = {}
    for role, name in given.items():
        if name is not None:
            fitting[role] = [column for column in columns if column == name]
        else:
            free = (column for column in columns if column not in given.values())
            fitting[role] = [column for column in free if usual[column] == role]
    has_interval = bool(given["start"] or given["end"])
    if has_interval and given["time"]:
        raise InputError("--time is for facts of one time; leave it out, or --start and --end")
    if not has_interval and not fitting["time"] and not given["time"]:
        has_interval = bool(fitting["start"])
    if has_interval and not given["end"] and not fitting["end"]:
        has_interval = False
        given["time"], fitting["time"] = given["start"], fitting["start"]
    roles = INTERVAL_ROLES if has_interval else ROLES
    if misfits := [role for role in roles if len(fitting[role]) != 1]:
        raise _misfit(misfits, given, fitting, columns, where)
    return {role: fitting[role][0] for role in roles}


def unused_interval(columns: Sequence[str], chosen: dict[str, str]) -> tuple[str, str] | None:
    """The columns of a start and an end that a table has beside its time, if it has both."""
    roles = {role: name for name, role in _usual_roles(columns, set(chosen)).items()}
    if "time" not in chosen or not {"start", "end"} <= set(roles):
        return None
    found = roles["start"], roles["end"]
    return None if set(found) & set(chosen.values()) else found


def _usual_roles(columns: Sequence[str], given: set[str]) -> dict[str, str | None]:
    """The usual role of each column; from and to are times beside a subject and an object.

    These may be given, or have usual names themselves.
    """
    usual = {column: usual_role(column) for column in columns}
    times = {"from": "start", "to": "end"}
    ours: dict[str, str | None] = {
        column: times[_fold(column)] for column in columns if _fold(column) in times
    }
    others = {usual[column] for column in columns if column not in ours} | given
    is_interval = set(ours.values()) == {"start", "end"} and {"subject", "object"} <= others
    return usual | ours if is_interval else usual


def _misfit(
    roles: Sequence[str],
    given: dict[str, str | None],
    fitting: dict[str, list[str]],
    columns: Sequence[str],
    where: str,
) -> InputError:
    """What is wrong with the columns of these roles, all of it in one sentence."""
    problems = []
    absent = [role for role in roles if not fitting[role] and not given[role]]
    if absent:
        it, one = ("it", "one") if len(absent) == 1 else ("them", "them")
        problems.append(
            f"no column for the {', '.join(absent)} among {_quote(columns)}; rename {it} to "
            f"{_quote(absent)}, or choose {one} with {' '.join(f'--{role}' for role in absent)}"
        )
    for role in (role for role in roles if role not in absent):
        problem = f"no column {given[role]!r} among {_quote(columns)}; rename it to {role!r}"
        if listed := fitting[role]:
            problem = f"{len(listed)} columns could hold the {role}: {_quote(listed)}; rename all "
            problem += "but one"
        problems.append(f"{problem}, or choose one with --{role}")
    return InputError(f"{where}: {'; '.join(problems)} if this is a data set")


def _quote(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:12]) or "none"


def check_cells(frame: pl.DataFrame, where: str, options: ReadOptions) -> FactTable:
    """Tidy names, and leave out blank rows and rows with a missing cell.

    Unless missing cells may be dropped, they are a problem, to be raised with all others. A start
    or an end may be missing, not both.
    """
    frame, notes = _tidy(_cast_cells(frame, where))
    words = MISSING if options.missing != "keep" else ("",)
    missing = {name: _find_missing(frame[name], words) for name in NAMES}
    if "end" in frame.columns:
        frame, said = _open_ends(frame)
        notes += said
        missing["start and end"] = frame["start"].is_null() & frame["end"].is_null()
    else:
        missing["time"] = _find_missing(frame["time"], words)
    rows, problems = None, []
    if any(found.any() for found in missing.values()):
        holed = pl.DataFrame(missing)
        is_blank = holed.select(pl.all_horizontal(pl.all())).to_series()
        rows = (~holed.select(pl.any_horizontal(pl.all())).to_series()).arg_true()
        holes = {role: (found & ~is_blank).arg_true() for role, found in missing.items()}
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


def _open_ends(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Starts and ends with null where they are open, and a note about ends that say so in words."""
    end, notes = frame["end"], []
    is_open = pl.Series([False]).new_from_index(0, frame.height)
    if is_text(end):
        is_open = find_cells(end, _says_open)
    elif end.dtype in (pl.Date, pl.Datetime):
        is_open = end.dt.year() == int(LAST_DAY[:4])
    if is_open.any():
        said = list_rows(is_open.arg_true(), end)
        notes.append(f"facts whose end is {LAST_DAY} or a word like 'present' have none: {said}")
    starts = pl.when(~_find_missing(frame["start"], MISSING)).then(frame["start"])
    is_open = is_open.fill_null(True) | _find_missing(end, MISSING)
    return frame.with_columns(start=starts, end=pl.when(~is_open).then(end)), notes


def _says_open(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().is_in(STILL) | texts.str.starts_with(LAST_DAY)


def _find_missing(cells: pl.Series, words: tuple[str, ...]) -> pl.Series:
    if not is_text(cells):
        return cells.is_null()
    return find_cells(cells, lambda texts: texts.is_in(words)).fill_null(True)


def _describe_holes(frame: pl.DataFrame, holes: dict[str, pl.Series]) -> list[str]:
    problems, has_words = [], False
    for role, rows in holes.items():
        if role not in frame.columns:
            problems.append(f"{role} are both missing in {list_rows(rows)}")
            continue
        cells = frame[role]
        problems.append(f"the {role} is missing in {list_rows(rows, cells)}")
        has_words |= role in NAMES and bool((distinct_texts(cells[rows]) != "").any())
    keep = ", or --missing keep if these are names" if has_words else ""
    return [*problems, f"fill it in, or give --missing drop to drop the rows{keep}"]


def _cast_cells(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Names as text, and times as text if they are any."""
    for role in NAMES:
        dtype = frame[role].dtype
        try:
            if dtype.is_nested() or dtype == pl.Binary:
                raise pl.exceptions.InvalidOperationError
            if not is_text(frame[role]):
                frame = frame.with_columns(as_cells(frame[role].cast(pl.String)))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(f"{where}: the {role} column holds {dtype}, not names") from None
    for role in frame.columns[len(NAMES) :]:
        frame = frame.with_columns(as_cells(frame[role]))
        if frame[role].dtype.is_float():
            frame = frame.with_columns(pl.col(role).fill_nan(None))
    return frame


def _tidy(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Remove blanks around texts, write each in one Unicode form (NFC), and note merged names."""
    num_merged = 0
    for roles in (["subject", "object"], ["relation"], frame.columns[len(NAMES) :]):
        cells = [frame[role] for role in roles if is_text(frame[role])]
        if not cells:
            continue
        written = distinct_texts(*cells)
        tidied = _tidy_texts(written)
        is_changed = written != tidied
        if not is_changed.any():
            continue
        changed = tidied.filter(is_changed)
        if roles[0] in NAMES:
            num_merged += int(tidied.is_in(changed.implode()).sum()) - changed.n_unique()
        texts = written.filter(is_changed)
        frame = frame.with_columns(replace_texts(one, texts, changed) for one in cells)
    if not num_merged:
        return frame, []
    what = "names that differed in outer blanks or Unicode form alone were"
    return frame, [f"{num_merged:,} {what} merged with others"]


def _tidy_texts(texts: pl.Series) -> pl.Series:
    texts = texts.str.strip_chars()
    is_accented = texts.str.len_bytes() != texts.str.len_chars()
    composed = texts.filter(is_accented).str.normalize("NFC")
    return texts.scatter(is_accented.arg_true(), composed)


def require_rows(frame: pl.DataFrame, where: str) -> None:
    if frame.height == 0:
        raise InputError(f"{where} has columns but no facts")


def list_rows(
    rows: pl.Series,
    cells: pl.Series | Mapping[int, str] | None = None,
    numbers: pl.Series | None = None,
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
