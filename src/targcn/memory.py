"""How much memory this process may still take, where a limit was set for it."""

import os
from pathlib import Path

from targcn.errors import InputError

# What a library with a thread for every core maps before it reads anything.
BASE, PER_CORE = 512 << 20, 256 << 20


def address_space_left() -> float:
    """Bytes that this process may still map; infinite without a limit (`ulimit -v`)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return float("inf")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return float("inf")
    return max(limit - pages * resource.getpagesize(), 0)


def require_libraries_fit() -> None:
    """Refuse to begin where the libraries could not be loaded and used, which would end badly."""
    needed, left = 3 * BASE + PER_CORE * (os.cpu_count() or 1), address_space_left()
    if left < needed:
        raise InputError(
            f"this process may take only {int(left) >> 20:,} MB of memory, and its libraries alone "
            f"need {needed >> 20:,} MB; raise its limit (ulimit -v)"
        )


def require_room(path: Path, times: int) -> None:
    """Refuse to read a file that will take so many times its size where less may be taken.

    The library that reads it ends the whole process when memory runs out.
    """
    needed = BASE + PER_CORE * (os.cpu_count() or 1) + times * path.stat().st_size
    left = address_space_left()
    if left < needed:
        raise InputError(
            f"reading {path.name} may take {needed >> 20:,} MB of memory, but this process may "
            f"take only {int(left) >> 20:,} MB more; raise its limit (ulimit -v)"
        )
