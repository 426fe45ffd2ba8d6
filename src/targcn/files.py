"""Writes that are either whole or not there: into a hidden neighbour first, then one rename.

Used by everything that leaves something on disk (prepared data, downloads, runs).
"""

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from targcn.errors import InputError


def require_absent(path: Path) -> None:
    """Refuse, before any work is done, to write where something already is."""
    if path.exists() or path.is_symlink():
        raise InputError(f"{path} already exists; choose another --out or remove it first")


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; it takes that name only if the block succeeds."""
    with _explained(path):
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
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent))
        try:
            yield folder / path.name
            (folder / path.name).replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            reason = "no space left on the disk"
        else:
            reason = error.strerror or str(error)
        raise InputError(f"cannot write {path}: {reason}; nothing was written there") from error
