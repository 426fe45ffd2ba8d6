"""A table in a zip archive, or compressed by gzip, bzip2 or xz."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.copies import OPENERS, copy_blocks, read_blocks, safe_name
from targcn.facts.sources.source import is_file, path_of
from targcn.facts.sources.spooled import Spooled
from targcn.facts.sources.table_source import choose_table

ZIP: Final = ".zip"


class Packed(Spooled):
    title = "a packed table (.zip .gz .bz2 .xz)"

    def recognizes(self, source: object) -> bool:
        return is_file(source) and path_of(source).suffix.lower() in (ZIP, *OPENERS)

    def label(self, source: object) -> str:
        return path_of(source).name

    def copy_into(
        self, folder: Path, source: object, options: ReadOptions
    ) -> tuple[Path, ReadOptions]:
        path = path_of(source)
        try:
            if path.suffix.lower() == ZIP:
                return _unzip(path, folder, options)
            with OPENERS[path.suffix.lower()](path) as stream:
                blocks = read_blocks(stream.read, path.name)
                return copy_blocks(blocks, folder / safe_name(path.stem), path.name), options
        except OSError as error:
            raise InputError(f"cannot read {path.name}: {error.strerror or error}") from None


def _unzip(path: Path, folder: Path, options: ReadOptions) -> tuple[Path, ReadOptions]:
    try:
        with zipfile.ZipFile(path) as archive:
            # Mac archives hold a shadow of each file.
            names = [
                one.filename
                for one in archive.infolist()
                if one.filename and not one.is_dir() and not one.filename.startswith("__MACOSX/")
            ]
            if len(names) == 1 and options.table not in names:
                member = names[0]  # --table is then for what the file holds
            else:
                member = choose_table(names, "files", path.name, options)
                options = replace(options, table=None)
            with archive.open(member) as stream:
                blocks = read_blocks(stream.read, path.name)
                size = archive.getinfo(member).file_size
                copy = copy_blocks(blocks, folder / safe_name(member), path.name, size)
                return copy, options
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeError) as error:
        raise InputError(f"{path.name} cannot be unpacked: {error}; unpack it first") from None


SOURCE = Packed()
