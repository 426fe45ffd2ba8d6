"""Writes that are either whole or not there: into a hidden neighbour first, then one rename.

Used by everything that leaves something on disk (prepared data, downloads, runs).
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from targcn.errors import InputError


def require_absent(path: Path) -> None:
    """Refuse, before any work is done, to write where something already is."""
    if os.path.lexists(path):
        raise InputError(f"{path} already exists; choose another --out or remove it first")


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; it takes that name only if the block succeeds."""
    with explained(path):
        require_absent(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent))
        try:
            yield draft
            draft.chmod(0o755)
            # rename replaces an empty folder silently, so look again before the last step.
            require_absent(path)
            draft.rename(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a file name beside `path`; what was written there replaces `path` in one step."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent))
        try:
            yield folder / path.name
            (folder / path.name).chmod(0o644)
            (folder / path.name).replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_drafts(folder: Path) -> None:
    """Clear away what a process that was killed in the middle of a write left in a folder."""
    for draft in folder.glob(".*.draft"):
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system says of a failed write into one sentence."""
    try:
        yield
    except OSError as error:
        # numpy reports a write cut short by its size alone, without an errno.
        if error.errno == errno.ENOSPC or " requested and " in str(error):
            reason = "no space left on the disk"
        elif error.errno == errno.EEXIST:
            reason = "a file stands where a folder is needed"
        else:
            reason = error.strerror or str(error)
        raise InputError(f"cannot write {path}: {reason}; nothing was written there") from error
