"""How much memory this process may still take, by its own limit, its group's and the machine's.

Where a process has a limit of its own (`ulimit -v`), an allocation beyond it fails. Where its
control group or the machine runs out, no allocation fails: the system kills.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from targcn.errors import InputError


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


def memory_left(root: Path = Path("/")) -> float:
    """Bytes that this process could take at most before something is killed; infinite: unknown.

    What the system keeps of files counts as free, since it can be given back; so does swap.
    """
    machine = _read_counts(root / "proc/meminfo")
    if "MemAvailable:" not in machine:
        return address_space_left()
    swap = 1024 * machine.get("SwapFree:", 0)
    groups = (left + swap for left in _left_in_groups(root))
    return max(min(address_space_left(), 1024 * machine["MemAvailable:"] + swap, *groups), 0)


def _left_in_groups(root: Path) -> Iterator[int]:
    """What the limits of this process's control group, and of those around it, leave.

    Groups are those of the second version, which every Linux of today has.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controller, place = line.split(":", 2)
        if controller:
            continue
        top = root / "sys/fs/cgroup"
        lowest = top / place.lstrip("/")
        for group in (lowest, *lowest.parents):
            try:
                limit = int((group / "memory.max").read_text())
                used = int((group / "memory.current").read_text())
            except (OSError, ValueError):
                pass  # no limit, or a group that cannot be seen from here
            else:
                counts = _read_counts(group / "memory.stat")
                # What is kept of files, less what is shared and in no file.
                yield limit - used + counts.get("file", 0) - counts.get("shmem", 0)
            if group == top:
                break


def _read_counts(path: Path) -> dict[str, int]:
    """The first number of each line of a file of the system, by the word before it."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
        return {row[0]: int(row[1]) for row in rows}
    except (OSError, ValueError, IndexError):
        return {}


def require_memory(needed: int, what: str, advice: str) -> None:
    """Refuse what would take more memory than there is: `needed` is what it takes at least."""
    if needed > (left := memory_left()):
        raise InputError(
            f"{what} needs at least {needed >> 20:,} MB of memory, and only {int(left) >> 20:,} MB "
            f"are left; {advice}"
        )


def require_libraries_fit() -> None:
    """Refuse to begin where the libraries could not be loaded and used, which would end badly."""
    # They have a thread for every core, which maps memory before it does anything.
    needed, left = (1536 + 256 * (os.cpu_count() or 1)) << 20, address_space_left()
    if left < needed:
        raise InputError(
            f"this process may take only {int(left) >> 20:,} MB of memory, and its libraries alone "
            f"need {needed >> 20:,} MB; raise its limit (ulimit -v)"
        )
