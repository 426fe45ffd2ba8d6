"""The trace of a training: one line of JSON per epoch and per validation."""

import os
from pathlib import Path

from targcn.files import atomic_file, explained, parse_json, read_text, to_json


class Trace:
    """Lines appended to a file, if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def write(self, epoch: int, **content: object) -> None:
        if self.path is not None:
            with explained(self.path), self.path.open("a", encoding="utf-8") as stream:
                stream.write(to_json({"epoch": epoch} | content))
                # The state that is saved next counts on it.
                stream.flush()
                os.fsync(stream.fileno())

    def cut_after(self, epoch: int) -> None:
        """Forget the epochs after this one, which a resumed training repeats."""
        if self.path is None or not self.path.exists():
            return
        with explained(self.path):
            text = read_text(self.path, errors="replace")
        kept = [line for line in text.splitlines(keepends=True) if _is_until(line, epoch)]
        with atomic_file(self.path) as draft:
            draft.write_text("".join(kept), encoding="utf-8")


def _is_until(line: str, epoch: int) -> bool:
    """Whether a line is whole and of an epoch up to this one."""
    try:
        return line.endswith("\n") and bool(parse_json(line)["epoch"] <= epoch)
    except (ValueError, KeyError, TypeError):
        return False
