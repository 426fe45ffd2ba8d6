"""How a source is to be read, where its own names and forms do not say enough.

Kept apart from tables.py so that the command line can show these choices without loading polars.
"""

from dataclasses import dataclass
from typing import Literal

from targcn.config import require_seed

Unit = Literal["year", "month", "day", "hour", "minute", "second", "step"]


@dataclass(frozen=True)
class Reading:
    """Choices for reading a table; what is left out is found by itself."""

    subject: str | None = None
    """Name of the column with the subjects."""

    relation: str | None = None
    """Name of the column with the relations."""

    object: str | None = None
    """Name of the column with the objects."""

    time: str | None = None
    """Name of the column with the times."""

    unit: Unit | None = None
    """Unit of time; finer times are cut down to it."""

    origin: str | None = None
    """The date that the integer 0 stands for; only times that are integers need it."""

    split: Literal["random", "time"] = "random"
    """How one table becomes 80 % train, 10 % valid, 10 % test: at random, or the latest last."""

    split_seed: int = 0
    """Seed of the random split."""

    def __post_init__(self) -> None:
        require_seed(self.split_seed, "split_seed")
