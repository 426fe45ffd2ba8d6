"""Values that show themselves: a few lines of text, and a small table in a notebook."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final

from targcn.output.tables import Table, to_html, to_text

MOST_LINES: Final = 10
MOST_NOTES: Final = 3


class Shown(ABC):
    """What has a table that it is shown as; a dataclass of this kind is declared `repr=False`.

    >>> class Team(Shown):
    ...     def as_table(self) -> Table:
    ...         return Table.of_text(["name"], [[f"player {number}"] for number in range(50)])
    >>> Team()
    name
    player 0
    player 1
    player 2
    player 3
    player 4
    player 5
    player 6
    player 7
    … and 42 more rows
    """

    @abstractmethod
    def as_table(self) -> Table:
        """What there is to see at a glance."""

    def __repr__(self) -> str:
        return to_text(cut(self.as_table()))

    def _repr_html_(self) -> str:
        return to_html(cut(self.as_table()))


def cut(table: Table) -> Table:
    """The beginning of a table: with its title, labels and notes it takes ten lines at most."""
    notes, rows = table.notes, table.rows
    if len(notes) > MOST_NOTES:
        kept = MOST_NOTES - 1
        notes = (*notes[:kept], f"… and {len(notes) - kept} more notes")
    room = MOST_LINES - bool(table.title) - bool(table.labels) - len(notes)
    if len(rows) > room:
        notes = (f"… and {len(rows) - room + 1:,} more rows", *notes)
        rows = rows[: room - 1]
    return replace(table, rows=rows, notes=notes)
