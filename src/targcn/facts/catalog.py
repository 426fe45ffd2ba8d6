"""The named data sets: what each one is, where it is published, and how to get it.

A set is a folder with train.txt, valid.txt and test.txt, found locally or downloaded and verified;
or it is derived from such a set, and no file of its own is read.
"""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.sources.copies import DownloadError, download_blocks
from targcn.files import atomic_folder

CATALOG_FILE = Path(__file__).with_name("catalog.toml")
EMBEDDED = "congress"
EMBEDDED_FILE = Path(__file__).with_name("congress.parquet")
FILE_NAMES = ("train.txt", "valid.txt", "test.txt")


@dataclass(frozen=True)
class NamedSet:
    """A benchmark: its published files, its licence and the counts it must have."""

    name: str
    summary: str
    # The date that the integer 0 stands for; empty if its times are written.
    origin: str
    # Of train, valid and test.
    num_facts: tuple[int, int, int]
    num_entities: int
    num_relations: int
    num_times: int
    # The address of a folder of its name, and the git blob id of each file in there.
    publisher: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    # Instead of files: the set that it is derived from, and the times to keep of it, if not all.
    derived_from: str = ""
    kept_times: tuple[int, ...] = ()
    # How its facts are read whose end is before their start.
    reversed: Literal["refuse", "open"] = "refuse"
    # What the publisher calls the folder, if not by its name.
    folder: str = ""
    licence: str = "under the publisher's terms; downloaded for you, never redistributed"


CATALOG: Mapping[str, NamedSet] = {
    name: build(NamedSet, entry | {"name": name}, name)
    for name, entry in tomllib.loads(CATALOG_FILE.read_text(encoding="utf-8")).items()
}


def cache_folder() -> Path:
    """The folder for downloads: TARGCN_CACHE, or `targcn` in the user's cache folder."""
    if folder := os.environ.get("TARGCN_CACHE"):
        return _expand(folder)
    return _expand(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "targcn"


def find_local(name: str) -> Path | None:
    """The first folder with the set, in TARGCN_DATA (there also prepared) and then in the cache."""
    from targcn.facts.sources.prepared_folder import is_prepared

    for text in os.environ.get("TARGCN_DATA", "").split(os.pathsep):
        folder = _expand(text) / name
        if text and (_has_files(folder, name) or is_prepared(folder)):
            return folder
    folder = cache_folder() / name
    return folder if _has_files(folder, name) else None


def fetch(named_set: NamedSet) -> Path:
    """A folder that holds the set, downloaded into the cache if it is not found locally."""
    return find_local(named_set.name) or download(named_set, cache_folder() / named_set.name)


def download(named_set: NamedSet, target: Path, timeout: float = 30.0) -> Path:
    """Download and verify the files of a set; `target` appears whole or not at all.

    A `target` with exactly these files is returned as it is; anything else there is refused.
    `timeout` is how many seconds the server may be silent.
    """
    if _is_complete(named_set, target):
        return target
    try:
        with atomic_folder(target) as draft:
            for file_name, blob in named_set.files.items():
                _download_file(named_set, file_name, blob, draft / file_name, timeout)
    except InputError:
        # Another process may have finished the same download in the meantime.
        if not _is_complete(named_set, target):
            raise
    return target


def git_blob_id(content_path: Path) -> str:
    """The id of a file in git: the SHA-1 of a header with its size, followed by its bytes."""
    with open(content_path, "rb") as content:
        header = b"blob %d\0" % os.fstat(content.fileno()).st_size
        begun = hashlib.sha1(header, usedforsecurity=False)
        return hashlib.file_digest(content, lambda: begun).hexdigest()


def _download_file(
    named_set: NamedSet, file_name: str, blob: str, path: Path, timeout: float
) -> None:
    name = named_set.name
    url = f"{named_set.publisher}/{named_set.folder or name}/{file_name}"
    label = f"{name}/{file_name}"
    try:
        with open(path, "wb") as draft, closing(download_blocks(url, label, timeout)) as blocks:
            for block, _ in blocks:
                draft.write(block)
        if (received := git_blob_id(path)) != blob:
            raise DownloadError(f"its git blob id is {received}, but {blob} was published")
    except DownloadError as failure:
        raise InputError(
            f"cannot download {label} from {url}: {failure}; try again, or put "
            f"{', '.join(named_set.files)} into a folder named {name} and set TARGCN_DATA to its "
            "parent folder"
        ) from failure


def _has_files(folder: Path, name: str) -> bool:
    wanted = CATALOG[name].files if name in CATALOG else ()
    return all(os.path.isfile(folder / file_name) for file_name in wanted or FILE_NAMES)


def _is_complete(named_set: NamedSet, folder: Path) -> bool:
    try:
        files = named_set.files.items()
        return all(git_blob_id(folder / file_name) == blob for file_name, blob in files)
    except OSError:
        return False


def _expand(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"the home folder in {text} is unknown; set TARGCN_CACHE and TARGCN_DATA to full paths"
        ) from error
