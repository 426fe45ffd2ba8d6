"""Read a column of times, in any form, as whole numbers of one unit.

Each distinct time of a column is read once: as text, as a number, or as a date that already is one.
What a time may look like is the table of forms.py; what does not fit is refused, with its rows.
"""

from dataclasses import dataclass, field, replace
from typing import Final, Literal, NoReturn

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.cells import (
    as_cells,
    distinct_texts,
    find_cells,
    is_text,
    list_rows,
    translate,
)
from targcn.facts.reading.options import ReadOptions
from targcn.facts.times.forms import (
    ABSENT,
    AS_WRITTEN,
    DEFAULT_STYLE,
    IN_NO_CALENDAR,
    INTERVAL_FORMS,
    NUMBER,
    NUMBER_FORMS,
    UNITS,
    WORD_PARTS,
    WORDS,
    Form,
    Moments,
    NumberForm,
    Numbers,
    TimeStyle,
    assemble,
)
from targcn.facts.times.timeline import (
    CALENDAR_CODES,
    MAX_TIME,
    TICK_CODES,
    calendar_value,
    unknown_zone,
)

EXAMPLES: Final = "2014-10-15, 2014-10-15T08:30, 7 Apr 2014, 2014-10, 2014 or 17"
WHOLE: Final = "a start is the first of what is left open, an end the last"
# What is known about each distinct text: how it is written; its parts are further columns.
ABOUT: Final = {
    "text": pl.String,
    "kind": pl.String,
    "precision": pl.Int64,
    "span": pl.Int64,
    "is_marked": pl.Boolean,
    "has_order": pl.Boolean,
    "has_zone": pl.Boolean,
}
# What numbers may count if all are multiples of the first, and the unit that these are.
MULTIPLES: Final = (
    (86400, "second", "day"),
    (3600, "second", "hour"),
    (1440, "minute", "day"),
    (24, "hour", "day"),
)


@dataclass(frozen=True)
class Times:
    """Whole numbers of one unit, one per row, counted from 1970 if `dated`.

    While a column is read, there is one per distinct cell, and `ends` are the last ones that each
    cell stands for.
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


def read_times(
    cells: pl.Series,
    where: str,
    options: ReadOptions,
    rows: pl.Series | None = None,
    ends: pl.Series | None = None,
) -> Times:
    """Read text, dates, datetimes or numbers, or say which rows are unreadable.

    `rows` are the positions of the cells in the source, if it has others as well. With `ends` the
    cells are starts; both are null where they are open. Of a start that leaves something out, such
    as its day, the first one counts, of an end the last.

    >>> months = read_times(pl.Series(["2014-03", "2013-12"]), "the table", ReadOptions())
    >>> months.unit, months.dated, months.values.to_list()
    ('month', True, [530, 527])
    >>> starts, ends = pl.Series(["1970", None]), pl.Series(["1971", "1970-02-01"])
    >>> days = read_times(starts, "the table", ReadOptions(unit="day"), ends=ends)
    >>> days.values.to_list(), days.ends.to_list()
    ([0, None], [729, 31])
    """
    cells = _as_formatted(cells, options)
    if ends is None:
        return replace(TimeColumn(cells, where, options, rows).read(), ends=None)
    rows = pl.int_range(len(cells), eager=True) if rows is None else rows
    both = _join(cells, _as_formatted(ends, options))
    column = TimeColumn(both, where, options, pl.concat([rows, rows]), has_intervals=True)
    times = column.read()
    assert times.ends is not None
    num_starts = len(cells)
    first, last = times.values.head(num_starts), times.ends.tail(num_starts)
    is_reversed = (last < first).fill_null(False)
    if is_reversed.any():
        which = is_reversed.arg_true()
        shown = {row: f"{both[row]} – {both[num_starts + row]}" for row in which[:3]}
        listed = list_rows(which, shown, rows)
        if options.reversed == "refuse":
            column.refuse(
                f"the end is before the start in {listed}; correct them, or give --reversed open "
                "to take such ends as open"
            )
        count = int(is_reversed.sum())
        column.notes.append(f"{count:,} ends before their starts are taken as open: {listed}")
        last = last.set(is_reversed, None)
    return replace(times, values=first, ends=last, notes=tuple(column.notes))


def _as_formatted(column: pl.Series, options: ReadOptions) -> pl.Series:
    """Text as encoded cells; so are numbers, if --date-format says what their digits mean."""
    is_formatted = options.date_format and column.dtype.is_integer()
    return as_cells(column.cast(pl.String) if is_formatted else column)


def _join(starts: pl.Series, ends: pl.Series) -> pl.Series:
    """Starts and then ends, of the same type; text if nothing else holds both."""
    frames = [pl.DataFrame({"time": column}) for column in (starts, ends)]
    try:
        joined = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        joined = pl.concat([frame.cast(pl.String) for frame in frames])
    return as_cells(joined["time"])


@dataclass
class TimeColumn:
    """A column of times while it is read: it collects what is to be said of it."""

    # Of intervals the starts and then the ends; what is open is null.
    cells: pl.Series
    where: str
    options: ReadOptions
    # The positions of the cells in the source, if these are not their own.
    rows: pl.Series | None = None
    has_intervals: bool = False
    style: TimeStyle = DEFAULT_STYLE
    notes: list[str] = field(default_factory=list)

    def read(self) -> Times:
        """The first and the last number that each cell stands for."""
        is_dated = self.cells.dtype in (pl.Date, pl.Datetime)
        times = self._read_dates() if is_dated else self._read_distinct()
        return replace(times, style=self.style, notes=tuple(self.notes))

    def refuse(self, problem: str) -> NoReturn:
        raise InputError(f"{self.where}: {problem}")

    def rows_with(self, values: pl.Series) -> str:
        """The rows of some values, for messages."""
        wanted = values.implode()
        if is_text(self.cells):
            rows = find_cells(self.cells, lambda texts: texts.is_in(wanted)).arg_true()
        else:
            rows = self.cells.is_in(wanted).arg_true()
        if self.rows is not None:
            # In the order of the source, its starts and ends together.
            rows = rows.gather(self.rows.gather(rows).arg_sort())
        return list_rows(rows, self.cells, self.rows)

    def _read_distinct(self) -> Times:
        """Read each distinct cell, of which there are far fewer than facts."""
        cells, dtype = self.cells, self.cells.dtype
        if is_text(cells):
            distinct = distinct_texts(cells)
        elif dtype.is_integer() or dtype.is_float():
            distinct = cells.unique().drop_nulls()
        else:
            self.refuse(f"times of type {dtype} cannot be read; write ISO dates")
        if not is_text(cells):
            times = self._read_numbers(distinct, distinct)
        elif not self.options.date_format and distinct.str.contains(NUMBER).all():
            whole = distinct.str.replace(r"[.]0*$", "").cast(pl.Int64, strict=False)
            numbers = distinct.cast(pl.Float64) if whole.null_count() else whole
            times = self._read_numbers(distinct, numbers)
        else:
            distinct, times = self._read_texts(distinct)
        first = last = self._translate(distinct, times.values)
        if self.has_intervals and times.ends is not None:
            last = self._translate(distinct, times.ends)
        return replace(times, values=first, ends=last)

    def _translate(self, distinct: pl.Series, values: pl.Series) -> pl.Series:
        """The number of each cell, which is null where it is open."""
        if is_text(self.cells):
            return translate(self.cells, distinct, values)
        return self.cells.replace_strict(distinct, values, default=None, return_dtype=pl.Int64)

    # Dates and datetimes

    def _read_dates(self) -> Times:
        """Read a column of dates or datetimes; what is open counts as one of its neighbours."""
        cells = self.cells
        # Years of other than four digits: polars cannot even print some of them.
        days = cells.cast(pl.Date, strict=False).to_physical()
        first, last = (calendar_value(day, "day") for day in ("0001-01-01", "9999-12-31"))
        is_within = days.is_between(first, last).fill_null(False) | cells.is_null()
        if not is_within.all():
            rows = list_rows((~is_within).arg_true(), numbers=self.rows)
            self.refuse(f"times outside the years 1 to 9999 in {rows}; correct them")
        known = cells.fill_null(strategy="forward").fill_null(strategy="backward")
        if isinstance(known.dtype, pl.Datetime) and known.dtype.time_zone:
            in_utc = known.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            clock = _to_numpy(known.dt.replace_time_zone(None))
            moments = self._choose_zone(clock, _to_numpy(in_utc))
        else:
            moments = _to_numpy(known)
        times = self._count(moments, "day")
        values = times.values.set(cells.is_null(), None) if cells.null_count() else times.values
        return replace(times, values=values, ends=values)

    def _choose_zone(self, clock: Moments, in_utc: Moments, about: str = "") -> Moments:
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
            moments = _at_zone(in_utc, zone)
        self.style = replace(self.style, timezone=zone)
        self.notes.append(about + note)
        return moments

    def _count(self, moments: Moments, precision: str) -> Times:
        """The times of moments, in the unit that is asked for or found."""
        unit = self.options.unit
        if unit == "step":
            self.refuse("unit step is for integers, but these times are dates")
        counted = unit or (_finest_unit(moments) if precision == "day" else precision)
        return Times(counted, True, count_units(moments, counted))

    # Texts

    def _read_texts(self, distinct: pl.Series) -> tuple[pl.Series, Times]:
        """The texts in some order, and their times."""
        options = self.options
        self.style = TimeStyle(date_order=options.date_order, date_format=options.date_format)
        has_more = self.has_intervals and not options.date_format
        dates, rest = _match_forms(
            distinct, self.style.forms + (INTERVAL_FORMS if has_more else ())
        )
        self._refuse_misfits(dates, rest)
        if dates["has_order"].any():
            dates = self._put_day_first(dates)
        precision = UNITS[int(dates["precision"].min())]  # type: ignore[arg-type]
        clock, offsets = _assemble(dates.drop(ABOUT))
        clock[(dates["kind"] == IN_NO_CALENDAR.kind).to_numpy()] = np.datetime64("NaT", "us")
        if np.isnat(clock).any():
            unknown = dates["text"].filter(pl.Series(np.isnat(clock)))
            strays = f"times that are not in the calendar: {self.rows_with(unknown)}"
            if self.has_intervals and "year" in (options.unit, precision):
                clock = np.where(np.isnat(clock), _assemble(dates.select("year"))[0], clock)
                self.notes.append(f"{strays}; only their years are read")
            if np.isnat(clock).any():
                self.refuse(f"{strays}; correct them")
        self._find_vague(dates, precision)
        if dates["has_zone"].any():
            clock = self._choose_zone(clock, clock - offsets * np.timedelta64(1, "m"))
        elif options.timezone:
            self.notes.append("the times have no zone, so that --timezone changes nothing")
        times = self._count(clock, precision)
        return dates["text"], replace(times, ends=_last_units(dates, clock, times.unit))

    def _refuse_misfits(self, dates: pl.DataFrame, rest: pl.Series) -> None:
        """Say what is wrong with texts without a form, and with texts of different forms."""
        date_format = self.options.date_format
        is_number = rest.str.contains(NUMBER) & (date_format is None)
        if not is_number.all():
            what, remedy = (
                "neither dates nor whole numbers",
                f"write them like {EXAMPLES}, or say how they are, like --date-format '%d/%m/%y'",
            )
            if date_format:
                what, remedy = f"not like {date_format}", "correct them or --date-format"
            rows = self.rows_with(rest.filter(~is_number))
            self.refuse(f"times that are {what}: {rows}; {remedy}")
        # A date whose day is marked as unknown is a date; so is a month that begins an interval.
        is_date = pl.col("is_marked")
        if self.has_intervals:
            is_date |= ~pl.col("kind").str.starts_with("a datetime")
        kinds = dates.select("text", kind=pl.when(is_date).then(pl.lit("a date")).otherwise("kind"))
        numbers = pl.DataFrame({"text": rest.filter(is_number)})
        by_kind = pl.concat([kinds, numbers.with_columns(kind=pl.lit("a number"))])
        by_kind = by_kind.group_by("kind").agg("text").sort(pl.col("text").list.len(), "kind")
        if by_kind.height > 1:
            rarest, *others = by_kind["kind"]
            self.refuse(
                f"times of different forms: {rarest} in {self.rows_with(by_kind['text'][0])}, "
                f"{' and '.join(others)} elsewhere; write all in the same form"
            )

    def _put_day_first(self, dates: pl.DataFrame) -> pl.DataFrame:
        """Dates like 4/7/2012 with their day as such, in the order that some date shows."""
        order = self.options.date_order or self._find_order(dates.filter("has_order"))
        self.style = replace(self.style, date_order=order)
        is_swapped = pl.col("has_order") & (order == "mdy")
        return dates.with_columns(
            day=pl.when(is_swapped).then("month").otherwise("day"),
            month=pl.when(is_swapped).then("day").otherwise("month"),
        )

    def _find_order(self, dates: pl.DataFrame) -> Literal["dmy", "mdy"] | None:
        # What is above 12 is a day; dates with two such numbers are in no calendar.
        late_first, late_second = pl.col("day") > 12, pl.col("month") > 12
        day_first = dates.filter(late_first & ~late_second)["text"]
        month_first = dates.filter(late_second & ~late_first)["text"]
        unclear = dates.filter(~late_first)["text"]
        if len(day_first) and len(month_first):
            first, second = self.rows_with(day_first), self.rows_with(month_first)
            self.refuse(f"the day comes first in {first}, but the month in {second}; correct them")
        if len(day_first):
            example = repr(day_first.min())
            self.notes.append(f"dates begin with the day (--date-order dmy), like {example}")
            return "dmy"
        if len(month_first):
            example = repr(month_first.min())
            self.notes.append(f"dates begin with the month (--date-order mdy), like {example}")
            return "mdy"
        if len(unclear):
            self.refuse(
                f"dates like {unclear.min()!r} may begin with the day or with the month, and no "
                "row decides it; give --date-order dmy or --date-order mdy"
            )
        return None

    def _find_vague(self, dates: pl.DataFrame, precision: str) -> None:
        """Note times that leave out a month, a day, or some of their years."""
        unit = self.options.unit
        is_coarsest = dates["precision"] == UNITS.index(precision)
        is_vague = dates["is_marked"] | (is_coarsest & self.has_intervals)
        is_finer = unit is not None and UNITS.index(unit) > UNITS.index(precision)
        if is_vague.any() and (is_finer or (not unit and dates["precision"].n_unique() > 1)):
            rows = self.rows_with(dates["text"].filter(is_vague))
            vague = f"{rows} leave out a month or day"
            if not is_finer:
                self.notes.append(f"all times are read by {precision}, as {vague}")
            elif self.has_intervals:
                self.notes.append(f"{vague}: {WHOLE}")
            else:
                self.refuse(f"{vague}; give --unit {precision}")
        is_long = dates["kind"].is_in(("a decade", "a century"))
        if is_long.any():
            rows = self.rows_with(dates["text"].filter(is_long))
            self.notes.append(f"{rows} leave out some of the year: {WHOLE}")
        if (dates["kind"] == "a quarter").any():
            whole = f"whole: {WHOLE}" if self.has_intervals else "as their first month"
            self.notes.append(f"quarters are read {whole}")

    # Numbers: dates in digits, counts since 1970, or plain counts

    def _read_numbers(self, distinct: pl.Series, numbers: pl.Series) -> Times:
        """Read distinct cells, given as numbers too."""
        whole = numbers.cast(pl.Int64, strict=False)
        is_whole = whole.is_between(-MAX_TIME, MAX_TIME) & (whole.cast(numbers.dtype) == numbers)
        is_whole = is_whole.fill_null(False)
        values = (whole if is_whole.all() else numbers.cast(pl.Float64)).to_numpy()
        if form := _find_form(values, self.options):
            return self._read_form(form, values, distinct)
        if not is_whole.all():
            problem = "too large" if numbers.dtype.is_integer() else "not whole numbers"
            rows = self.rows_with(distinct.filter(~is_whole))
            self.refuse(f"times that are {problem}: {rows}; write them like 2014-10-15, 2014 or 17")
        self._question_multiples(values)
        if self.options.origin is not None:
            return self._date_counts(values)
        unit, step = self._find_step()
        return Times(unit, False, pl.Series(values // step), step=step)

    def _read_form(self, form: NumberForm, values: Numbers, distinct: pl.Series) -> Times:
        tick, unit, moments = self.options.tick, self.options.unit, form.moments(values)
        if (misfits := np.isnat(moments)).any():
            rows = self.rows_with(distinct.filter(pl.Series(misfits)))
            plain = "--unit step if all are plain numbers"
            if form.unit == "year":
                plain += ", or --unit year --tick 1 if all are years"
            if form.is_utc:
                plain += f", or --origin 1970-01-01 --tick {form.unit} if all count from there"
            self.refuse(
                f"most times are {form.name}, but not {rows}; correct them, or give {plain}"
            )
        # Of an interval, the start of a year is its first day, and the end its last.
        is_finer = unit is not None and UNITS.index(unit) > _position(form.unit)
        is_finer &= not self.has_intervals
        if tick is None and (unit not in (None, form.unit) if form.is_count else is_finer):
            self.refuse(
                f"the times are {form.name}, not {unit}s; leave out --unit, or add --tick "
                f"{form.unit} to have them by {unit}, or --tick 1 if they do count {unit}s"
            )
        if form.is_utc:
            moments = self._choose_zone(moments, moments, f"the times are {form.name}; ")
        elif form.is_count:
            self.notes.append(f"the times are {form.name}")
        is_found = form.is_count or form.unit == "second"
        counted = unit or (_finest_unit(moments) if is_found else form.unit)
        ends = None if form.is_count else count_last_units(moments, form.unit, counted)
        return Times(counted, True, count_units(moments, counted), ends)

    def _question_multiples(self, values: Numbers) -> None:
        """Ask what numbers like 0, 24, 48 count: in a note, or as an error if it was said wrong."""
        options, common = self.options, int(np.gcd.reduce(values))
        if isinstance(options.tick, int) or len(values) < 3 or not common:
            return
        said = options.tick or options.unit or ("day" if options.origin is not None else None)
        for number, unit, larger in MULTIPLES:
            if common % number == 0:
                question = (
                    f"every time is a multiple of {number}: {unit}s? --unit {unit}, or --unit "
                    f"{larger} --tick {number}"
                )
                if not said:
                    self.notes.append(question)
                elif said != "step" and _position(str(said)) < UNITS.index(unit):
                    self.refuse(f"{question}; --tick 1 if they do count {said}s")
                return
        if common > 1 and len(values) >= 10 and not said:
            self.notes.append(f"every time is a multiple of {common}: --tick {common} counts these")

    def _date_counts(self, values: Numbers) -> Times:
        """Count from the origin on, in the unit of the numbers."""
        tick, origin = self.options.tick, str(self.options.origin)
        if tick == "nanosecond":  # of which 64 bits hold no more than 584 years
            values, tick = values // 1000, "microsecond"
        unit = str(self.options.unit or (tick if tick in CALENDAR_CODES else "day"))
        if unit not in CALENDAR_CODES:
            self.refuse(f"--origin needs a calendar unit, not {unit}")
        counted = tick if isinstance(tick, str) else unit
        if isinstance(tick, int):
            values = values // tick
        start, first, last = (
            calendar_value(day, counted) for day in (origin, "0001-01-01", "9999-12-31")
        )
        low, high = int(values.min()), int(values.max())
        if not first <= start + low <= start + high <= last:
            self.refuse(
                f"times from {low} to {high}, counted in {counted}s from {origin}, are outside the "
                "years 1 to 9999; give another --unit"
            )
        moments = (start + values).astype(f"M8[{TICK_CODES[counted]}]")
        # Parts of a second are shorter than any unit.
        precision = counted if counted in CALENDAR_CODES else "second"
        ends = count_last_units(moments, precision, unit)
        return Times(unit, True, count_units(moments, unit), ends)

    def _find_step(self) -> tuple[str, int]:
        """The unit of plain counts, and how many of the numbers make one."""
        tick = self.options.tick
        if tick is None or isinstance(tick, int):
            return self.options.unit or "step", tick or 1
        unit = self.options.unit or (tick if tick in UNITS else "step")
        if unit == "step":
            return unit, 1
        codes = TICK_CODES | {"nanosecond": "ns"}
        try:
            step = int(np.ones((), f"m8[{codes[unit]}]") // np.ones((), f"m8[{codes[tick]}]"))
        except TypeError:  # months have no length in days
            step = 0
        if not step:
            self.refuse(f"{tick}s can be counted by {unit} only from a date on; add --origin")
        return unit, step


def _to_numpy(column: pl.Series) -> Moments:
    return column.cast(pl.Datetime("us")).to_numpy()


def _at_zone(in_utc: Moments, zone: str) -> Moments:
    moments = pl.Series(in_utc).dt.replace_time_zone("UTC")
    try:
        return moments.dt.convert_time_zone(zone).dt.replace_time_zone(None).to_numpy()
    except pl.exceptions.PolarsError:
        raise unknown_zone(zone) from None


def _finest_unit(moments: Moments) -> str:
    """The coarsest unit, from day down to second, that loses at most fractions of a second."""
    units = ("day", "hour", "minute")
    return next((unit for unit in units if _is_whole(moments, CALENDAR_CODES[unit])), "second")


def _is_whole(moments: Moments, code: str) -> bool:
    return bool((moments == moments.astype(f"M8[{code}]")).all())


def count_units(moments: Moments, unit: str) -> pl.Series:
    """Units since 1970, rounded down."""
    return pl.Series(moments.astype(f"M8[{CALENDAR_CODES[unit]}]").astype(np.int64))


def count_last_units(moments: Moments, precision: str, unit: str, span: int = 1) -> pl.Series:
    """The last unit of what each moment stands for: a month, if that is the precision."""
    if UNITS.index(unit) <= UNITS.index(precision) and span == 1:
        return count_units(moments, unit)
    code = CALENDAR_CODES[precision]
    after = moments.astype(f"M8[{code}]") + np.timedelta64(span, code)  # type: ignore[call-overload]
    return count_units(after.astype("M8[us]") - np.timedelta64(1, "us"), unit)


def _match_forms(texts: pl.Series, forms: tuple[Form, ...]) -> tuple[pl.DataFrame, pl.Series]:
    """The texts that have a form, each with its parts, and the rest."""
    frames = [pl.DataFrame(schema=ABOUT)]
    for form in forms:
        hits = texts.str.contains(form.pattern)
        if hits.any():
            frames.append(_find_parts(texts.filter(hits), form))
            texts = texts.filter(~hits)
    return pl.concat(frames, how="diagonal"), texts


def _find_parts(texts: pl.Series, form: Form) -> pl.DataFrame:
    parts = texts.str.extract_groups(form.pattern).struct.unnest()
    kind = pl.lit(form.kind)
    if form.kind == "a date":
        with_hour = pl.when(pl.col("hour").is_not_null())
        with_zone = pl.when(pl.col("zone").is_not_null())
        kind = with_hour.then(pl.lit("a datetime")).otherwise(kind)
        kind = with_zone.then(pl.lit("a datetime with zone")).otherwise(kind)
    return parts.select(
        *(_to_numbers(parts[name]) for name in parts.columns if name != "zone"),
        text=texts,
        kind=kind,
        precision=pl.lit(UNITS.index(form.unit), dtype=pl.Int64),
        span=pl.lit(form.span, dtype=pl.Int64),
        is_marked=pl.lit(form.is_marked),
        has_order=pl.lit(form.has_order),
        has_zone=pl.col("zone").is_not_null() if "zone" in parts.columns else pl.lit(False),
    )


def _to_numbers(part: pl.Series) -> pl.Series:
    if part.name in WORD_PARTS:
        words = part.str.to_lowercase().str.head(3)
        return words.replace_strict(WORDS, default=None, return_dtype=pl.Int64)
    if part.name == "fraction":
        part = part.str.pad_end(6, "0").str.head(6)
    return part.cast(pl.Int64)


def _assemble(parts: pl.DataFrame) -> tuple[Moments, Numbers]:
    """Moments, and their minutes before UTC."""
    return assemble({part.name: part.fill_null(ABSENT).to_numpy() for part in parts})


def _last_units(dates: pl.DataFrame, clock: Moments, unit: str) -> pl.Series:
    """The last unit of what each text stands for."""
    last = np.zeros(len(clock), dtype=np.int64)
    with_clock = dates["kind"].str.starts_with("a datetime")
    precisions = dates["precision"].set(with_clock, UNITS.index("second")).to_numpy()
    spans = dates["span"].to_numpy()
    for precision, span in {*zip(precisions.tolist(), spans.tolist(), strict=True)}:
        chosen = (precisions == precision) & (spans == span)
        last[chosen] = count_last_units(clock[chosen], UNITS[precision], unit, span).to_numpy()
    return pl.Series(last)


def _find_form(values: Numbers, options: ReadOptions) -> NumberForm | None:
    """The form that at least two thirds of the numbers have, unless they are said to be counts."""
    if options.origin is not None or options.unit == "step" or isinstance(options.tick, int):
        return None
    low, high = values.min(), values.max()
    if low in (0, 1) and len(values) > (high - low) / 2:  # they count from the first one on
        return None
    for form in NUMBER_FORMS:
        in_range = int(((values >= form.low) & (values <= form.high)).sum())
        if options.tick not in (None, form.unit) or 3 * in_range < 2 * len(values):
            continue
        if 3 * int(np.isnat(form.moments(values)).sum()) <= len(values):
            return form
    return None


def _position(unit: str) -> int:
    """The place of a unit from coarse to fine; parts of a second come last."""
    return UNITS.index(unit) if unit in UNITS else len(UNITS)
