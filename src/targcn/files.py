"""Write files and folders whole or not at all: into a hidden draft first, then one rename.

Everything that is left on disk (prepared data, downloads, runs) is written this way.
"""

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from targcn.errors import InputError

# How libraries written in Rust report a system error, often in exceptions of their own.
SYSTEM_ERROR: Final = re.compile(r"\(os error (\d+)\)")


def require_absent(path: Path) -> None:
    """Refuse, before any work is done, to write where something already exists."""
    if os.path.lexists(path):
        raise InputError(f"{path} already exists; choose another name or remove it first")


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder, which is renamed to `path` if the block succeeds."""
    with explained(path):
        require_absent(path)
        with _draft_of(path) as draft:
            draft.mkdir()
            yield draft
            # rename silently replaces an empty folder, so this is checked once more.
            require_absent(path)
            draft.rename(path)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a file name to write to; the file then replaces `path` in one step."""
    with explained(path), _draft_of(path) as draft:
        # safetensors writes files that only their owner can read; a plain file has the usual mode.
        draft.touch()
        mode = stat.S_IMODE((path if path.exists() else draft).stat().st_mode)
        draft.unlink()
        yield draft
        draft.chmod(mode)
        draft.replace(path)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Yield a free name in a hidden folder next to `path` that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent))
    try:
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Let only one process at a time enter this block for a folder."""
    with ExitStack() as held:
        # Windows and some file systems have no such locks; then every process may enter. On a
        # network file system a lock may hold on one machine only.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"another process is writing into {folder}; wait for it to finish, or stop it"
                ) from None
        yield


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that a killed process left in a folder."""
    for draft in folder.glob(".*.draft"):
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a system error about a failed write into one sentence."""
    try:
        yield
    except Exception as error:
        reason = _reason(error)
        if not reason:
            raise
        raise InputError(f"cannot write {path}: {reason}; nothing was written there") from error


def _reason(error: Exception) -> str:
    """Why the system refused a write, or nothing if the error is of another kind."""
    named = SYSTEM_ERROR.search(str(error))
    if not (named or isinstance(error, OSError)):
        return ""
    number = int(named[1]) if named else getattr(error, "errno", None)
    # numpy reports an incomplete write by its size, without an errno.
    if number == errno.ENOSPC or " requested and " in str(error):
        return "no space left on the disk"
    if number == errno.EEXIST:
        return "a file is where a folder is needed"
    return getattr(error, "strerror", None) or (os.strerror(number) if number else str(error))
