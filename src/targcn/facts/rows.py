"""Choose among the rows of a table: those that an expression keeps, and a sample for a look."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.cells import encode_text
from targcn.facts.columns import FactTable, find_columns, unused_interval
from targcn.facts.read_options import ReadOptions


def needed_columns(columns: Sequence[str], where: str, options: ReadOptions) -> list[str]:
    """The columns of all roles and those that --where names.

    >>> needed_columns(["s", "r", "o", "t", "n", "x"], "the frame", ReadOptions(where="n > 1"))
    ['s', 'r', 'o', 't', 'n']
    """
    chosen = find_columns(columns, where, options)
    # Beside a time, so that a note can tell of them.
    unused = unused_interval(columns, chosen) or ()
    asked: list[str] = []
    if options.where is not None:
        known = dict.fromkeys([*columns, *chosen])
        asked = _find_asked(options.where, list(known), where)
    used = [*chosen.values(), *unused, *(name for name in asked if name in columns)]
    return list(dict.fromkeys(used))


def choose_rows(table: pl.LazyFrame, where: str, options: ReadOptions) -> FactTable:
    """The columns of all roles, of the rows that --where keeps and --sample draws."""
    schema = table.collect_schema()
    names = schema.names()
    chosen = find_columns(names, where, options)
    roles = {role: pl.col(name) for role, name in chosen.items()}
    notes = []
    if (unused := unused_interval(names, chosen)) and options.time is None:
        start, end = unused
        notes.append(
            f"the times are in {chosen['time']!r}; --start {start!r} --end {end!r} reads intervals"
        )
    encoded = {role: encode_text(column, schema[chosen[role]]) for role, column in roles.items()}
    facts = table.select(**encoded).collect(engine="streaming")
    num_rows = facts.height
    if options.where is not None:
        # A role is also known by its own name, unless a column of that name is something else.
        aliases = {role: column for role, column in roles.items() if role not in names}
        kept = facts.filter(
            _mask(table.with_columns(**aliases), where, options.where, facts.height)
        )
        notes.append(f"--where kept {kept.height:,} of {facts.height:,} rows")
        if not kept.height:
            raise InputError(
                f"{where}: --where {options.where!r} keeps none of {facts.height:,} rows"
            )
        facts = kept
    if options.sample is not None and (total := facts.height) > options.sample:
        drawn = np.random.default_rng(options.split_seed).choice(
            total, options.sample, replace=False
        )
        facts = facts[np.sort(drawn)]
        notes.append(f"a sample of {options.sample:,} of {total:,} rows")
    if len(facts) < num_rows:
        where += " (rows counted after --where and --sample)"
    return FactTable(where, facts, notes=tuple(notes))


def _mask(table: pl.LazyFrame, where: str, condition: str, num_rows: int) -> pl.Series:
    """Which rows of a table a condition keeps."""
    asked = table.select(_find_asked(condition, table.collect_schema().names(), where))
    kept = _parse(condition)
    try:
        mask = asked.select(kept).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        try:
            mask = _loosen(asked.collect()).select(kept)
        except pl.exceptions.PolarsError:
            raise _misfit(condition, where, str(error).splitlines()[0]) from None
    if mask.height != num_rows or mask.dtypes != [pl.Boolean]:
        raise _misfit(condition, where, "it is not true or false for each row")
    return mask.to_series()


def _find_asked(condition: str, columns: Sequence[str], where: str) -> list[str]:
    """The columns that a condition names, among those of the table and its roles."""
    asked = _parse(condition).meta.root_names()
    for name in asked:
        if name not in columns:
            listed = ", ".join(columns[:12]) + (", …" if len(columns) > 12 else "")
            raise _misfit(condition, where, f"there is no column {name!r} among {listed}")
    return asked


def _parse(condition: str) -> pl.Expr:
    try:
        return pl.sql_expr(condition)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(
            f"--where {condition!r} is no SQL expression: {str(error).splitlines()[0]}; write it "
            "like \"relation != 'x'\""
        ) from None


def _loosen(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that is all numbers as numbers, and dates as ISO text, for comparisons with those."""
    loose = {}
    for column in frame:
        if column.dtype == pl.String:
            numbers = column.cast(pl.Float64, strict=False)
            loose[column.name] = numbers if numbers.null_count() == column.null_count() else column
        elif column.dtype.is_temporal():
            # Midnight is the date alone, so that it equals that date.
            loose[column.name] = column.cast(pl.String).str.replace(r" 00:00:00(\.0+)?$", "")
    return frame.with_columns(**loose)


def _misfit(condition: str, where: str, problem: str) -> InputError:
    return InputError(f"--where {condition!r} does not fit {where}: {problem}")
