"""How to read a source whose own names and forms do not say enough.

The command line shows these options in its help, so this module imports nothing heavy.
"""

from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import Literal, get_args

from targcn.config import require_at_least
from targcn.errors import InputError

Unit = Literal["year", "month", "day", "hour", "minute", "second", "step"]


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a table; whatever is left out is inferred."""

    subject: str | None = None
    """Name of the column with the subjects."""

    relation: str | None = None
    """Name of the column with the relations."""

    object: str | None = None
    """Name of the column with the objects."""

    time: str | None = None
    """Name of the column with the times."""

    start: str | None = None
    """Name of the column with the first times, of facts that hold for a while."""

    end: str | None = None
    """Name of the column with the last times; like a start it may be empty: an open end."""

    table: str | None = None
    """Which table of a database, sheet of a workbook or file of a zip archive."""

    query: str | None = None
    """A SELECT of a database, in place of a whole table."""

    encoding: str | None = None
    """Encoding of a text file that is not UTF-8, such as latin-1."""

    where: str | None = None
    """Keep only the rows of which this SQL expression is true, such as "relation != 'x'"."""

    unit: Unit | None = None
    """Unit of time; finer times are rounded down to it."""

    tick: int | str | None = None
    """What whole numbers count: hour, day, …; or how many of them make one --unit, such as 24."""

    origin: str | None = None
    """The date that the whole number 0 stands for."""

    timezone: str | None = None
    """Zone in which times with a zone are read, such as Europe/Berlin, or as-written; else UTC."""

    date_order: Literal["dmy", "mdy"] | None = None
    """Whether the day or the month comes first in dates like 4/7/2012."""

    date_format: str | None = None
    """How the times are written, as in strptime: '%d.%m.%Y %H:%M'."""

    missing: Literal["refuse", "drop", "keep"] = "refuse"
    """Rows with a cell like NA, null or -: refuse them, drop them, or keep the cell as a name."""

    reversed: Literal["refuse", "open"] = "refuse"
    """Facts whose end is before their start: refuse them, or take such ends as open."""

    split: Literal["random", "time", "none"] = "random"
    """How to split one table 80/10/10: at random, or by time; none: all facts are in train."""

    split_seed: int = 0
    """Seed of the random split."""

    def __post_init__(self) -> None:
        ticks = [*get_args(Unit)[:-1], "millisecond", "microsecond", "nanosecond"]
        is_count = isinstance(self.tick, int) and self.tick >= 1
        if self.tick is not None and self.tick not in ticks and not is_count:
            raise InputError(
                f"tick {self.tick!r} should be a whole number above 0, or {', '.join(ticks)}"
            )
        require_at_least(0, split_seed=self.split_seed)
        if self.table is not None and self.query is not None:
            raise InputError("--table and --query name two tables; leave one of them out")
        try:
            TextIOWrapper(BytesIO(), self.encoding)
        except (LookupError, ValueError):
            raise InputError(
                f"encoding {self.encoding!r} is unknown; write it like latin-1, cp1252 or utf-16"
            ) from None
