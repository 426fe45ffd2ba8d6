"""How much memory this process may still take, by its control groups and the machine.

Where one of them runs out, no allocation fails: the system kills.
"""

from collections.abc import Iterator
from pathlib import Path

from targcn.errors import InputError


def memory_left(root: Path = Path("/")) -> float:
    """Bytes that this process could take at most before something is killed; infinite: unknown.

    What the system keeps of files counts as free, since it can be given back; so does swap.
    """
    machine = _read_counts(root / "proc/meminfo")
    if "MemAvailable:" not in machine:
        return float("inf")
    swap = 1024 * machine.get("SwapFree:", 0)
    left = min([1024 * machine["MemAvailable:"], *_left_in_groups(root)])
    return max(left + swap, 0)


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
