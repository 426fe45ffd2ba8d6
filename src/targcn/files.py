"""Writes that are either whole or not there: into a hidden neighbour first, then one rename.

Used by everything that leaves something on disk (prepared data, downloads, runs).
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

# How libraries written in Rust name an error of the system, often in exceptions of their own.
SYSTEM_ERROR: Final = re.compile(r"\(os error (\d+)\)")


def require_absent(path: Path) -> None:
    """Refuse, before any work is done, to write where something already is."""
    if os.path.lexists(path):
        raise InputError(f"{path} already exists; choose another name or remove it first")


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; it takes that name only if the block succeeds."""
    with explained(path):
        require_absent(path)
        with _draft_of(path) as draft:
            draft.mkdir()
            yield draft
            # rename replaces an empty folder silently, so look again before the last step.
            require_absent(path)
            draft.rename(path)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a file name beside `path`; what was written there replaces `path` in one step."""
    with explained(path), _draft_of(path) as draft:
        # safetensors keeps what it writes to its owner, so a plain file says what is usual here.
        draft.touch()
        mode = stat.S_IMODE((path if path.exists() else draft).stat().st_mode)
        draft.unlink()
        yield draft
        draft.chmod(mode)
        draft.replace(path)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Yield a free name in a hidden folder beside `path`, into which nobody else can look."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent))
    try:
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keep other processes that ask for the same from writing into a folder meanwhile."""
    with ExitStack() as held:
        # Where nothing can be locked, as on some file systems and on Windows, all are trusted;
        # on file systems of many machines a lock may hold on one of them alone.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"another process is writing into {folder}; wait until it is done, or stop it"
                ) from None
        yield


def remove_drafts(folder: Path) -> None:
    """Clear away what a process that was killed in the middle of a write left in a folder."""
    for draft in folder.glob(".*.draft"):
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system says of a failed write into one sentence."""
    try:
        yield
    except Exception as error:
        reason = _reason(error)
        if not reason:
            raise
        raise InputError(f"cannot write {path}: {reason}; nothing was written there") from error


def _reason(error: Exception) -> str:
    """What the system had against a write; empty where something else went wrong."""
    named = SYSTEM_ERROR.search(str(error))
    if not (named or isinstance(error, OSError)):
        return ""
    number = int(named[1]) if named else getattr(error, "errno", None)
    # numpy reports a write cut short by its size alone, without an errno.
    if number == errno.ENOSPC or " requested and " in str(error):
        return "no space left on the disk"
    if number == errno.EEXIST:
        return "a file stands where a folder is needed"
    return getattr(error, "strerror", None) or (os.strerror(number) if number else str(error))
