"""A table at an http or https address."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from targcn.errors import InputError
from targcn.facts.downloads import DownloadError, download_blocks
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.copies import copy_blocks, safe_name
from targcn.facts.sources.spooled import Spooled
from targcn.output.terminal import download_progress

TIMEOUT_SECONDS = 30.0


class WebAddress(Spooled):
    title = "an http or https address"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str) and source.lower().startswith(("http://", "https://"))

    def label(self, source: object) -> str:
        # Without the query and the user, which may be secrets.
        parts = _split(source)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def name_of(self, source: object) -> str:
        return _file_name(source).split(".")[0]

    def copy_into(
        self, folder: Path, source: object, options: ReadOptions
    ) -> tuple[Path, ReadOptions]:
        label, name = self.label(source), _file_name(source)
        if "@" in _split(source).netloc:
            raise InputError(f"{label} is given with a user; download the file yourself")
        address = quote(str(source), safe="%/:=&?~#+!$,;'@()*[]")
        try:
            with (
                closing(download_blocks(address, TIMEOUT_SECONDS)) as received,
                download_progress() as progress,
            ):
                first = next(received, (b"", 0, 0))
                blocks = _show_blocks(chain([first], received), name, progress)
                return copy_blocks(blocks, folder / name, label, size=first[2]), options
        except DownloadError as failure:
            raise InputError(f"cannot download {label}: {failure.args[0]}") from failure


def _show_blocks(
    received: Iterable[tuple[bytes, int, int | None]],
    name: str,
    progress: Callable[[str, int, int | None], None] | None,
) -> Iterator[bytes]:
    for block, done, size in received:
        if progress is not None:
            progress(name, done, size)
        yield block


def _split(source: object) -> SplitResult:
    try:
        return urlsplit(str(source))
    except ValueError as error:
        raise InputError(f"the address cannot be read: {error}") from None


def _file_name(source: object) -> str:
    return safe_name(unquote(_split(source).path))


SOURCE = WebAddress()
