"""One table in many files: a folder of Parquet files, or all files that a pattern names.

That is how Spark, Dask and warehouses write large tables. Folders named like year=2014 are columns.
"""

import glob
import os
from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import is_file, is_folder, path_of, recognize
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.columnar import Parquet, scan_parquet
from targcn.facts.sources.split_folder import STEMS
from targcn.facts.sources.table_source import TableFile, TableSource


class ManyFiles(TableSource):
    title = "a folder of Parquet files, or a pattern of files such as facts/*.csv"

    def recognizes(self, source: object) -> bool:
        if is_folder(source):
            return bool(_files_of_folder(path_of(source)))
        is_pattern = isinstance(source, str | Path) and glob.has_magic(str(source))
        # An address may hold a question mark too.
        return is_pattern and "://" not in str(source) and not is_file(source)

    def label(self, source: object) -> str:
        return path_of(source).resolve().name if is_folder(source) else str(source)

    def name_of(self, source: object) -> str:
        path = path_of(source)
        while glob.has_magic(str(path)):
            path = path.parent
        return path.resolve().name.split(".")[0] or "facts"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        label = self.label(source)
        if is_folder(source):
            paths = _files_of_folder(path_of(source))
        else:
            named = sorted(glob.glob(str(path_of(source)), recursive=True))
            paths = [Path(name) for name in named if os.path.isfile(name)]
        if not paths:
            raise InputError(f"no file is named like {label}; check the pattern")
        kinds = {recognize(path) for path in paths}
        kind = kinds.pop()
        if kinds or not isinstance(kind, TableFile):
            raise InputError(
                f"{label} names {len(paths):,} files, which are not tables of one kind, such as "
                f"{paths[0].name}; name files of one kind"
            )
        if isinstance(kind, Parquet):
            return scan_parquet(paths, hive_partitioning=True)
        tables = [kind.parse(path, options) for path in paths]
        names = tables[0].collect_schema().names()
        return pl.concat([table.select(names) for table in tables])


def _files_of_folder(folder: Path) -> list[Path]:
    """The Parquet files of a folder and of its partitions, unless it holds splits."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if "=" in name)
        files += [
            Path(place) / name
            for name in sorted(names)
            # Writers hide what is no data.
            if name[0] not in "._" and name.lower().endswith(Parquet.endings)
        ]
    splits = {stem for stems in STEMS.values() for stem in stems}
    has_splits = any(path.name.split(".")[0].lower() in splits for path in files)
    return [] if has_splits else files


SOURCES = (ManyFiles(),)
