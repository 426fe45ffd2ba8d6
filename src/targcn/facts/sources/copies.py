"""Copy what is no plain UTF-8 file (packed, downloaded, piped) into a temporary one.

The catalogue downloads with the same function; so only the standard library is needed here.
"""

import bz2
import codecs
import gzip
import lzma
import re
import shutil
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from targcn.errors import InputError
from targcn.output.terminal import download_progress

BLOCK_BYTES: Final = 1 << 20
# How a file is opened whose name ends like this; zip archives and zstandard are other matters.
OPENERS: Final[dict[str, Callable[[Path], BufferedIOBase]]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
# What a damaged archive raises.
DAMAGES: Final = (EOFError, OSError, lzma.LZMAError, zlib.error)


def read_blocks(read: Callable[[int], bytes], label: str) -> Iterator[bytes]:
    """The blocks that a stream gives; a damaged archive is an InputError."""
    try:
        while block := read(BLOCK_BYTES):
            yield block
    except DAMAGES as error:
        raise InputError(f"{label} is damaged ({error}); write or fetch it again") from None


def copy_blocks(blocks: Iterable[bytes], path: Path, label: str, size: int | None = None) -> Path:
    """Write blocks to a file of a temporary folder; refuse what would fill the disk.

    If their `size` is known, that is refused before anything is written.
    """
    room = shutil.disk_usage(path.parent).free * 9 // 10
    written = 0
    with path.open("wb") as copy:
        for block in blocks:
            written += len(block)
            if max(written, size or 0) > room:
                raise InputError(
                    f"{label} needs more than the {room / 1e9:,.1f} GB that the folder for "
                    "temporary files has left; set TMPDIR to one with more"
                )
            copy.write(block)
    return path


def copy_as_utf8(path: Path, folder: Path, encoding: str) -> Path:
    """A text file in another encoding, perhaps compressed, as plain UTF-8."""
    packing = path.suffix.lower()
    if packing == ".zst":
        raise InputError(f"{path.name}: --encoding needs plain text or .gz; unpack it first")
    name = path.name[: -len(packing)] if packing in OPENERS else path.name
    with OPENERS[packing](path) if packing in OPENERS else path.open("rb") as stream:
        blocks = _encode_text(read_blocks(stream.read, path.name), path.name, encoding)
        return copy_blocks(blocks, folder / name, path.name)


def _encode_text(blocks: Iterable[bytes], label: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks:
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise InputError(
            f"{label} is not {encoding} text ({error}); give another --encoding"
        ) from None


def safe_name(name: str) -> str:
    """The last part of a foreign path or address, fit to be a file name here."""
    last = re.split(r"[/\\]", name)[-1][-100:]
    return re.sub(r"[^\w .-]", "_", last).strip(" .") or "table"


class DownloadError(Exception):
    """Why a download failed."""


def download_blocks(
    url: str, label: str, timeout: float
) -> Generator[tuple[bytes, int | None], None, None]:
    """Yield each block of a file, with the size of the file if the server tells it.

    On a terminal, a bar shows how far it is.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    received = 0
    try:
        with download_progress() as progress, urlopen(url, timeout=timeout) as response:
            size: int | None = response.length
            while block := response.read(BLOCK_BYTES):
                received += len(block)
                if progress is not None:
                    progress(label, received, size)
                yield block, size
    except HTTPError as error:
        error.close()
        raise DownloadError(f"the server answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or str(cause) or repr(cause)
        if isinstance(cause, TimeoutError):
            reason = f"the server was silent for {timeout:g} seconds"
        raise DownloadError(reason) from error
    if size is not None and received < size:
        raise DownloadError(f"the answer stopped after {received} of {size} bytes")
