"""Open a data set, whatever its source is.

Each kind of source has a file in `sources`; this module only asks which one applies.
"""

from pathlib import Path

from targcn.errors import InputError
from targcn.facts.catalog import EMBEDDED
from targcn.facts.dataset import Dataset
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.registry import find_source


def open_dataset(source: object = EMBEDDED, options: ReadOptions | None = None) -> Dataset:
    """Open a data set by name, folder, file or frame.

    >>> congress = open_dataset("congress")
    >>> congress.timeline.unit, congress.timeline.first
    ('year', '1945')
    >>> open_dataset("icews41")
    Traceback (most recent call last):
    targcn.errors.InputError: no data set, folder or file 'icews41'; did you mean 'icews14'?
    """
    try:
        return find_source(source).read(source, options or ReadOptions())
    except ModuleNotFoundError as error:
        what = str(source) if isinstance(source, str | Path) else f"a {type(source).__name__}"
        raise InputError(
            f"reading {what} needs {error.name}, which is not installed; run "
            f"'pip install {error.name}'"
        ) from error
