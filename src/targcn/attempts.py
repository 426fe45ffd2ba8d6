"""Attempts at cells: by which process, beside how many others, how far, and whether in vain.

Takes a cell and the folder of results; keeps what there is to say of it under `.unfinished/` until
it is finished, so that processes share the cells and one that was stopped goes on. Next room:
reproduction.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from targcn.cells import Cell, require_same_meaning
from targcn.checkpoint import MANIFEST
from targcn.files import atomic_file, explained

UNFINISHED: Final = ".unfinished"


@dataclass(frozen=True)
class Attempt:
    """What is known of a cell in a folder of results until it is finished."""

    cell: Cell
    results: Path

    @property
    def folder(self) -> Path:
        """Where the cell is trained."""
        return self._aside("")

    @property
    def is_finished(self) -> bool:
        return self.cell.path(self.results).exists()

    @property
    def has_failed(self) -> bool:
        return self._aside(".failed").exists()

    @property
    def is_settled(self) -> bool:
        """Whether no process needs to try, since the cell is finished or has failed."""
        return self.is_finished or self.has_failed

    @property
    def is_begun(self) -> bool:
        """Whether the folder holds the beginning of this cell, as it is meant today."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            require_same_meaning(self.cell, manifest)
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return False
        return True

    def note_failure(self) -> None:
        self._aside(".failed").touch()

    def forget_failure(self) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            self._aside(".failed").unlink()

    def note_jobs(self, jobs: int) -> int:
        """The most jobs the cell was ever run beside, also where it was stopped and goes on."""
        path = self._aside(".jobs")
        most = max(jobs, _num_running(self.results))
        with suppress(FileNotFoundError, ValueError):
            most = max(most, int(path.read_text()))
        with atomic_file(path) as draft:
            draft.write_text(str(most))
        return most

    def clear_up(self) -> None:
        """Remove what was kept to go on with the cell."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._aside(".jobs").unlink(missing_ok=True)

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Whether this process may run the cell; a claim ends with its process, however it does."""
        import fcntl

        path = self._aside(".claim")
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            claim = path.open("a")
        with claim:
            mine = False
            with explained(path), suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Not one that was given up and removed since it was opened.
                mine = os.path.samestat(os.fstat(claim.fileno()), path.stat())
            if mine:
                claim.truncate(0)
                print(os.getpid(), file=claim, flush=True)
            try:
                yield mine
            finally:
                if mine:
                    path.unlink(missing_ok=True)

    def _aside(self, ending: str) -> Path:
        return self.results / UNFINISHED / f"{self.cell.key}{ending}"


def _num_running(results: Path) -> int:
    """How many cells are being run into a folder now, by whomever."""
    return sum(map(_is_held, (results / UNFINISHED).glob("*.claim")))


def _is_held(claim: Path) -> bool:
    """Whether the process that a claim names is there; one that was killed leaves its claims."""
    try:
        os.kill(int(claim.read_text()), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
