"""From moments to whole numbers of one unit: the zone and the unit of a column of times."""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.cells import distinct_texts, find_cells, is_text
from targcn.facts.columns import list_rows
from targcn.facts.read_options import ReadOptions
from targcn.facts.time_forms import AS_WRITTEN, Moments, TimeStyle
from targcn.facts.timeline import CALENDAR_CODES, DEFAULT_STYLE, UNITS


@dataclass(frozen=True)
class Times:
    """Whole numbers of one unit, one per row, counted from 1970 if `dated`.

    While a column is read, `ends` are the last ones that each cell stands for.
    """

    unit: str
    dated: bool
    values: pl.Series
    # Of intervals: the last ones. What is open is null, here and among the values.
    ends: pl.Series | None = None
    # How many of the source's numbers are one of these; 1 if `dated`.
    step: int = 1
    style: TimeStyle = DEFAULT_STYLE
    # What a user should know about how the times were read.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimeColumn:
    """A column of times as written, to name the rows in which some of them stand."""

    where: str
    cells: pl.Series
    # The positions of the cells in the source, if it has others as well.
    rows: pl.Series | None = None
    # Of intervals: the ends; the cells are then the starts. What is open is null.
    ends: pl.Series | None = None

    @property
    def has_intervals(self) -> bool:
        return self.ends is not None

    @property
    def known_cells(self) -> pl.Series:
        """All cells, those of the ends last, without nulls."""
        if self.ends is None:
            return self.cells
        return pl.concat([self.cells, self.ends]).drop_nulls()

    @property
    def known_rows(self) -> pl.Series | None:
        """The positions of the known cells in the source, unless they are their own."""
        if self.ends is None:
            return self.rows
        rows = pl.int_range(len(self.cells), eager=True) if self.rows is None else self.rows
        is_known = pl.concat([self.cells, self.ends]).is_not_null()
        return pl.concat([rows, rows]).filter(is_known)

    def distinct(self) -> pl.Series:
        """The distinct cells; text as plain text."""
        columns = [self.cells, *([] if self.ends is None else [self.ends])]
        if is_text(self.cells):
            return distinct_texts(*columns)
        return pl.concat([column.unique() for column in columns]).unique().drop_nulls()

    def rows_with(self, values: pl.Series) -> str:
        cells, rows = self.known_cells, self.known_rows
        wanted = values.implode()
        if is_text(cells):
            found = find_cells(cells, lambda texts: texts.is_in(wanted)).arg_true()
        else:
            found = cells.is_in(wanted).arg_true()
        if self.has_intervals and rows is not None:
            # In the order of the source, its starts and ends together.
            found = found.gather(rows.gather(found).arg_sort())
        return list_rows(found, cells, rows)

    def refuse(self, *problems: str) -> NoReturn:
        raise InputError(f"{self.where}: {'; '.join(problems)}")


def choose_zone(clock: Moments, in_utc: Moments, options: ReadOptions) -> tuple[Moments, str, str]:
    """The moments by one clock, its zone, and a note about it.

    Moments that are all midnights by the clock of their writer, but not in UTC, are days.
    """
    zone = options.timezone
    if zone is None and _is_whole(clock, "D") and not _is_whole(in_utc, "D"):
        offsets = np.unique((clock - in_utc) // np.timedelta64(1, "m"))
        shown = " or ".join(f"{offset / 60:+.4g} h" for offset in offsets[:3])
        note = f"every time is midnight by its own clock (UTC {shown}) and is read as that day"
        return clock, AS_WRITTEN, note
    if zone == AS_WRITTEN:
        return clock, zone, "times are read by the clock where they were written"
    if zone in (None, "UTC"):
        hours = np.unique(in_utc - in_utc.astype("M8[D]"))
        note = "times are in UTC; --timezone reads them in another zone"
        # Midnights of one zone have two hours in UTC, in summer and in winter.
        is_daily = len(np.unique(in_utc)) >= 5 and len(hours) <= 2 and _is_whole(in_utc, "m")
        if is_daily and not _is_whole(in_utc, "D"):
            shown = " or ".join(str(np.datetime64(0, "us") + hour)[11:16] for hour in hours)
            note += f" (all are at {shown}: the days of another zone?)"
        return in_utc, "UTC", note
    moments = pl.Series(in_utc).dt.replace_time_zone("UTC")
    try:
        local = moments.dt.convert_time_zone(str(zone)).dt.replace_time_zone(None)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"the time zone {zone!r} is unknown; write it like Europe/Berlin"
        ) from None
    return local.to_numpy(), str(zone), f"times are in the zone {zone}"


def finest_unit(moments: Moments) -> str:
    """The coarsest unit, from day down to second, that loses at most fractions of a second."""
    units = ("day", "hour", "minute")
    return next((unit for unit in units if _is_whole(moments, CALENDAR_CODES[unit])), "second")


def count_units(moments: Moments, unit: str) -> pl.Series:
    """Units since 1970, rounded down."""
    return pl.Series(moments.astype(f"M8[{CALENDAR_CODES[unit]}]").astype(np.int64))


def count_last_units(moments: Moments, precision: str, unit: str, span: int = 1) -> pl.Series:
    """The last unit of what each moment stands for: a month, if that is the precision.

    >>> count_last_units(np.array(["1970-02-01"], "M8[us]"), "month", "day").to_list()
    [58]
    """
    if UNITS.index(unit) <= UNITS.index(precision) and span == 1:
        return count_units(moments, unit)
    code = CALENDAR_CODES[precision]
    after = moments.astype(f"M8[{code}]") + np.timedelta64(span, code)  # type: ignore[call-overload]
    return count_units(after.astype("M8[us]") - np.timedelta64(1, "us"), unit)


def count_moments(
    moments: Moments,
    precision: str,
    written: TimeColumn,
    options: ReadOptions,
    style: TimeStyle,
    notes: list[str],
) -> Times:
    """The times of moments, in the unit that is asked for or found."""
    if options.unit == "step":
        written.refuse("unit step is for integers, but these times are dates")
    unit = options.unit or (finest_unit(moments) if precision == "day" else precision)
    counted = count_units(moments, unit)
    return Times(unit, True, counted, counted, style=style, notes=tuple(notes))


def _is_whole(moments: Moments, code: str) -> bool:
    return bool((moments == moments.astype(f"M8[{code}]")).all())
