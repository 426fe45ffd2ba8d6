"""Read and write files whole or not at all.

What is written goes into a hidden draft first, is made to be on the disk and not only in memory,
and then takes its place by one rename: neither a kill nor a power cut leaves half of it.
Everything that is left on disk (prepared data, downloads, runs) is written this way.
"""

import errno
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from targcn.errors import InputError

# How libraries written in Rust report a system error, often in exceptions of their own.
SYSTEM_ERROR: Final = re.compile(r"\(os error (\d+)\)")
HALF_CHARACTER: Final = re.compile(r"\\u[dD][89a-fA-F]")
DRAFT: Final = ".targcn-draft"


def require_absent(path: Path) -> None:
    """Refuse, before any work is done, to write where something already exists."""
    require_unicode(path)
    if os.path.lexists(path):
        raise InputError(f"{path} already exists; choose another name or remove it first")


def free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name, or where that is taken the first that is free of name-2, name-3 and so on.

    >>> free_name("run", ["run", "run-2"].__contains__)
    'run-3'
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return next(free for free in chain([name], numbered) if not is_taken(free))


def require_ending(path: Path, *endings: str) -> None:
    """Refuse, before any work is done, a file whose name does not say how it is written."""
    if path.suffix.lower() not in endings:
        listed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise InputError(f"{path} should end in {listed}")


def require_unicode(path: Path) -> None:
    """Refuse a name that is not Unicode, which some of the libraries cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"the name {os.fsencode(path)!r} is not UTF-8; choose another") from None


def require_plain(folder: Path) -> None:
    """Refuse a folder that holds anything but files and folders.

    A link leads out of it, and reading from a pipe or a device may never end.
    """
    require_unicode(folder)
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            mode = os.lstat(os.path.join(here, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                what = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
                raise InputError(
                    f"{os.path.join(here, name)} is {what}, which is not followed; put the file "
                    "itself there"
                )


def require_file(path: Path) -> None:
    """Raise an OSError for what is no file: reading from a pipe may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a file", str(path))


def read_text(path: Path, errors: str = "strict") -> str:
    """The text of a file; what is no file is an OSError."""
    require_file(path)
    return path.read_text(encoding="utf-8", errors=errors)


def parse_json(text: str) -> Any:
    """What JSON says; a ValueError where it is none, or says so little as NaN."""
    try:
        content = json.loads(text, parse_constant=_refuse_number)
        # Half a character is no text; it could not be written anywhere.
        if HALF_CHARACTER.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return content


def read_json(path: Path) -> Any:
    """What a file of JSON says: an OSError where there is no file, a ValueError where no JSON."""
    return parse_json(read_text(path))


def _refuse_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def to_json(content: object, **how: Any) -> str:
    """Content as JSON, which has no number that is not finite."""
    return json.dumps(content, allow_nan=False, **how) + "\n"


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder, which is renamed to `path` if the block succeeds."""
    with explained(path):
        require_absent(path)
        with _draft_of(path) as draft:
            draft.mkdir()
            yield draft
            for here, _, names in os.walk(draft, topdown=False):
                for name in names:
                    sync_file(Path(here, name))
                sync_folder(Path(here))
            # rename silently replaces an empty folder, so this is checked once more.
            require_absent(path)
            draft.rename(path)
            sync_folder(path.parent)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a file name to write to; the file then replaces `path` in one step."""
    require_unicode(path)
    with explained(path), _draft_of(path) as draft:
        # safetensors writes files that only their owner can read; a plain file has the usual mode.
        draft.touch()
        mode = stat.S_IMODE((path if path.exists() else draft).stat().st_mode)
        draft.unlink()
        yield draft
        sync_file(draft)
        draft.chmod(mode)
        draft.replace(path)
        sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Have what was written to a file on the disk."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def sync_folder(path: Path) -> None:
    """Have the names in a folder on the disk."""
    # Windows and some file systems cannot; then they do so by themselves.
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(handle)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Yield a free name in a hidden folder next to `path` that only its owner can read."""
    _make_folder(path.parent)
    remove_drafts(path.parent)
    with ExitStack() as held:
        while True:
            name = f".{path.name[:40]}."
            draft = tempfile.mkdtemp(prefix=name, suffix=DRAFT, dir=path.parent)
            # Another process may have taken it for one that was left, before it was locked.
            if held.enter_context(_locked(Path(draft))) is not False and os.path.exists(draft):
                break
        held.callback(shutil.rmtree, draft, ignore_errors=True)
        yield Path(draft) / path.name


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, and have their names on the disk."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for above in missing:
        sync_folder(above.parent)


@contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Yield whether this process alone holds a folder, until the block ends; None: who knows.

    Windows and some file systems have no such locks. On a network file system a lock may hold on
    one machine only.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        yield None
        return
    try:
        mine: bool | None = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            mine = False
        except OSError:
            mine = None
        yield mine
    finally:
        os.close(handle)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Let only one process at a time enter this block for a folder."""
    with _locked(folder.resolve()) as mine:
        if mine is False:
            raise InputError(
                f"another process is writing into {folder}; wait for it to finish, or stop it"
            )
        yield


def remove_drafts(folder: Path) -> None:
    """Remove the drafts in a folder that were left by processes which are gone."""
    for draft in folder.glob(f".*{DRAFT}"):
        with _locked(draft) as mine:
            if mine:
                shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a system error about a failed write into one sentence."""
    try:
        yield
    except Exception as error:
        reason = system_reason(error)
        if not reason:
            raise
        raise InputError(f"cannot write {path}: {reason}; nothing was written there") from error


def system_reason(error: Exception) -> str:
    """Why the system refused to read or write, or nothing if the error is of another kind."""
    named = SYSTEM_ERROR.search(str(error))
    if isinstance(error, MemoryError) or "not enough memory" in str(error):
        return "there is not enough memory"
    if not (named or isinstance(error, OSError)):
        return ""
    number = int(named[1]) if named else getattr(error, "errno", None)
    # numpy reports an incomplete write by its size, without an errno.
    if number == errno.ENOSPC or " requested and " in str(error):
        return "no space left on the disk"
    if number == errno.ENOMEM:
        return "there is not enough memory"
    if number == errno.EEXIST:
        return "a file is where a folder is needed"
    return getattr(error, "strerror", None) or (os.strerror(number) if number else str(error))
