"""How to read a source whose own names and forms do not say enough.

The command line shows these options in its help, so this module imports nothing heavy.
"""

from dataclasses import dataclass
from typing import Literal

from targcn.config import require_seed

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

    unit: Unit | None = None
    """Unit of time; finer times are rounded down to it."""

    origin: str | None = None
    """The date that the integer 0 stands for; only needed for times that are integers."""

    split: Literal["random", "time", "none"] = "random"
    """How to split one table 80/10/10 into train, valid and test: at random, or by time; none: all
    facts, of any source, are in train, for a final model."""

    split_seed: int = 0
    """Seed of the random split."""

    def __post_init__(self) -> None:
        require_seed(self.split_seed, "split_seed")
