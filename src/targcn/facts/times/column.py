"""The times of a table while they are read: what is shared by texts, numbers and dates."""

from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.cells import find_cells, list_rows
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.times.forms import AS_WRITTEN, DEFAULT_STYLE, Moments, TimeStyle
from targcn.facts.times.timeline import CALENDAR_CODES, TICK_CODES, unknown_zone


@dataclass(frozen=True)
class Times:
    """Whole numbers of one unit, one per row, counted from 1970 if `dated`.

    While a column is read, these are the first and the last number of each cell.
    """

    unit: str
    dated: bool
    # The times, or the starts and the ends; what is open is null.
    columns: tuple[pl.Series, ...]
    # How many of the source's numbers are one of these; 1 if `dated`.
    step: int = 1
    style: TimeStyle = DEFAULT_STYLE
    # What a user should know about how the times were read.
    notes: tuple[str, ...] = ()


@dataclass
class TimeColumn:
    """The times of a table, and what is found out about them."""

    table: FactTable
    # The times, or the starts and the ends, of one type; what is open is null.
    parts: list[pl.Series]
    options: ReadOptions
    # What dates are counted in, if that is not for the options or the times to say.
    unit: str | None = None
    style: TimeStyle = DEFAULT_STYLE
    notes: list[str] = field(default_factory=list)

    @property
    def has_intervals(self) -> bool:
        return len(self.parts) > 1

    def refuse(self, problem: str) -> NoReturn:
        raise InputError(f"{self.table.where}: {problem}")

    def rows_with(self, values: pl.Series) -> str:
        """The rows of some values, for messages: those of starts and ends together."""
        cells, wanted = pl.concat(self.parts), values.implode()
        places = find_cells(cells, lambda found: found.is_in(wanted)).arg_true()
        rows = self.table.rows
        if rows is None:
            rows = pl.int_range(self.table.frame.height, eager=True)
        rows = pl.concat([rows] * len(self.parts))
        # polars cannot print every date that it can hold.
        shown = None if cells.dtype.is_temporal() else cells
        return list_rows(places.gather(rows.gather(places).arg_sort()), shown, rows)

    def choose_zone(self, clock: Moments, in_utc: Moments, about: str = "") -> Moments:
        """The moments by one clock, with a note about it.

        Moments that are all midnights by the clock of their writer, but not in UTC, are days.
        """
        zone, moments = self.options.timezone, in_utc
        if zone is None and _is_whole(clock, "D") and not _is_whole(in_utc, "D"):
            offsets = np.unique((clock - in_utc) // np.timedelta64(1, "m"))
            shown = " or ".join(f"{offset / 60:+.4g} h" for offset in offsets[:3])
            note = f"every time is midnight by its own clock (UTC {shown}) and is read as that day"
            zone, moments = AS_WRITTEN, clock
        elif zone == AS_WRITTEN:
            moments, note = clock, "times are read by the clock where they were written"
        elif zone in (None, "UTC"):
            zone = "UTC"
            note = "times are in UTC; --timezone reads them in another zone"
        else:
            note = f"times are in the zone {zone}"
            in_zone = pl.Series(in_utc).dt.replace_time_zone("UTC")
            try:
                in_zone = in_zone.dt.convert_time_zone(zone)
            except pl.exceptions.PolarsError:
                raise unknown_zone(zone) from None
            moments = in_zone.dt.replace_time_zone(None).to_numpy()
        self.style = replace(self.style, timezone=zone)
        self.notes.append(about + note)
        return moments

    def count(self, first: Moments, last: Moments, precision: str) -> Times:
        """The times between moments, in the unit that is asked for or found."""
        if self.options.unit == "step":
            self.refuse("unit step is for integers, but these times are dates")
        found = precision if precision in ("year", "month") else _finest_unit(first)
        unit = self.unit or self.options.unit or found
        return Times(unit, True, (count_units(first, unit), count_units(last, unit)))


def _finest_unit(moments: Moments) -> str:
    """The coarsest unit, from day down to second, that loses at most fractions of a second."""
    units = ("day", "hour", "minute")
    return next((unit for unit in units if _is_whole(moments, CALENDAR_CODES[unit])), "second")


def _is_whole(moments: Moments, code: str) -> bool:
    return bool((moments == moments.astype(f"M8[{code}]")).all())


def count_units(moments: Moments, unit: str) -> pl.Series:
    """Units since 1970, rounded down."""
    return pl.Series(moments.astype(f"M8[{CALENDAR_CODES[unit]}]").astype(np.int64))


def last_moments(moments: Moments, unit: str, span: int = 1) -> Moments:
    """The last microsecond of the units that begin with that of each moment."""
    return (moments.astype(f"M8[{TICK_CODES[unit]}]") + span).astype("M8[us]") - 1
