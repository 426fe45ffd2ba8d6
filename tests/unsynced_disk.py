"""A model of a disk that forgets, when the power is cut, what was not synced."""

import os
from pathlib import Path
from typing import Any

import pytest


class UnsyncedDisk:
    """What would be left of a folder, at every moment at which something is synced or renamed.

    The content of a file is what it was when the file was last synced. If `names_last`, a folder
    has the names that it had when it was last synced; otherwise names are on the disk at once, and
    a file is there before its content is, as on file systems that allocate late.
    """

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, names_last: bool) -> None:
        self.root, self.names_last = root, names_last
        self.contents: dict[int, bytes] = {}
        self.names: dict[int, dict[str, tuple[int, bool]]] = {}
        # What the disk holds after each of the calls.
        self.images: list[dict[str, bytes]] = []
        for path in (root, *root.rglob("*")):
            self._keep(path)
        for name in ("fsync", "rename", "replace"):
            patch.setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, call: Any) -> Any:
        def watched(*arguments: Any, **others: Any) -> None:
            call(*arguments, **others)
            if call.__name__ == "fsync":
                synced = os.fstat(arguments[0]).st_ino
                for path in (self.root, *self.root.rglob("*")):
                    if path.stat().st_ino == synced:
                        self._keep(path)
            self.images.append(self.image())

        return watched

    def _keep(self, path: Path) -> None:
        number = path.stat().st_ino
        if path.is_dir():
            self.names[number] = self._names(path)
        else:
            self.contents[number] = path.read_bytes()

    def _names(self, folder: Path) -> dict[str, tuple[int, bool]]:
        return {one.name: (one.stat().st_ino, one.is_dir()) for one in folder.iterdir()}

    def image(self) -> dict[str, bytes]:
        """The files that a power cut would leave now, without drafts."""
        if self.names_last:
            return self._below(self.root.stat().st_ino, "")
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {
            str(path.relative_to(self.root)): self.contents.get(path.stat().st_ino, b"")
            for path in files
            if "targcn-draft" not in str(path)
        }

    def _below(self, folder: int, prefix: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name, (number, is_folder) in self.names.get(folder, {}).items():
            if "targcn-draft" in name:
                continue
            if is_folder:
                found |= self._below(number, f"{prefix}{name}/")
            else:
                found[prefix + name] = self.contents.get(number, b"")
        return found

    def write_image(self, image: dict[str, bytes], folder: Path) -> None:
        """Make a folder that holds an image."""
        for name, content in image.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
