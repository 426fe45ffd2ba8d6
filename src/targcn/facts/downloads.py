"""Download a file block by block, with the standard library."""

from collections.abc import Generator
from typing import Final

BLOCK_BYTES: Final = 1 << 20


class DownloadError(Exception):
    """Why a download failed, and whether that is final: trying again would not help."""


def download_blocks(url: str, timeout: float) -> Generator[tuple[bytes, int, int | None]]:
    """Yield each block, the bytes so far and those in all; only network errors are caught here."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    received = 0
    try:
        with urlopen(url, timeout=timeout) as response:
            size: int | None = response.length
            while block := response.read(BLOCK_BYTES):
                received += len(block)
                yield block, received, size
    except HTTPError as error:
        error.close()
        reason = f"the server answered {error.code} {error.reason}"
        raise DownloadError(reason, error.code < 500) from error
    except (OSError, HTTPException) as error:
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or str(cause) or repr(cause)
        if isinstance(cause, TimeoutError):
            reason = f"the server was silent for {timeout:g} seconds"
        raise DownloadError(reason, False) from error
    if size is not None and received < size:
        raise DownloadError(f"the answer stopped after {received} of {size} bytes", False)
