"""Claims: which process runs which cell, so that several can share the work.

All that is known about an unfinished cell is kept under `.unfinished/` in the folder of results:
its claim, the run folder that a stopped training goes on from, and whether it has failed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from targcn.experiments.cells import Cell
from targcn.files import atomic_file, explained, read_json
from targcn.runs.store import MANIFEST

UNFINISHED: Final = ".unfinished"


@dataclass(frozen=True)
class Attempt:
    """An attempt to finish a cell in a folder of results."""

    cell: Cell
    results: Path

    @property
    def folder(self) -> Path:
        """The run folder that the cell is trained in."""
        return self._file("")

    @property
    def is_finished(self) -> bool:
        return self.cell.path(self.results).exists()

    @property
    def has_failed(self) -> bool:
        return self._file(".failed").exists()

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to do: the cell is finished or has failed."""
        return self.is_finished or self.has_failed

    @property
    def is_begun(self) -> bool:
        """Whether the run folder holds a training of this cell with its present settings."""
        try:
            manifest = read_json(self.folder / MANIFEST)
            self.cell.require_same_meaning(manifest)
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return False
        return True

    def note_failure(self) -> None:
        self._file(".failed").touch()

    def forget_failure(self) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            self._file(".failed").unlink()

    def note_jobs(self, jobs: int) -> int:
        """Record how many processes share the machine; gives the most there ever were."""
        path = self._file(".jobs")
        # Cells of this folder that are being run now, by any process.
        most = max(jobs, sum(map(is_held, (self.results / UNFINISHED).glob("*.claim"))))
        with suppress(FileNotFoundError, ValueError):
            most = max(most, int(path.read_text()))
        with atomic_file(path) as draft:
            draft.write_text(str(most))
        return most

    def clear_up(self) -> None:
        """Remove the run folder and the record of jobs."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._file(".jobs").unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove what a process that was killed left of a finished cell: run folder and claim."""
        self.clear_up()
        if self._file(".claim").exists():
            with self.claimed():
                pass

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Yield whether this process may run the cell; a claim ends when its process does."""
        import fcntl

        path = self._file(".claim")
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            claim = path.open("a")
        with claim:
            mine = False
            with explained(path), suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another process may have removed the file after it was opened here.
                mine = os.path.samestat(os.fstat(claim.fileno()), path.stat())
            try:
                if mine:
                    claim.truncate(0)
                    print(os.getpid(), file=claim, flush=True)
                yield mine
            finally:
                if mine:
                    path.unlink(missing_ok=True)

    def _file(self, ending: str) -> Path:
        return self.results / UNFINISHED / f"{self.cell.key}{ending}"


def is_held(claim: Path) -> bool:
    """Whether the process of a claim still runs; one that was killed leaves its claims behind."""
    try:
        os.kill(int(claim.read_text()), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
