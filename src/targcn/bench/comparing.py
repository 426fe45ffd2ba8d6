"""The plain versions that the fast ones are compared with, from a file outside the package.

The repository keeps them in benchmarks/plain.py; any file with the same names will do. Next room:
the benchmarks.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from targcn.errors import InputError

DEFAULT: Final = Path("benchmarks/plain.py")
NAMES: Final = ("MODELS", "draw_near", "known_answers", "ranks")
NOT_HERE: Final = (
    f"no plain version to compare with: there is no {DEFAULT} here; name such a file with --plain"
)
NOT_WANTED: Final = "no plain version to compare with: --plain none"


def load_plain(path: Path | str | None = None) -> Any:
    """The module of plain versions, or None where there is none or the path is "none"."""
    if str(path) == "none" or (path is None and not DEFAULT.is_file()):
        return None
    file = Path(path or DEFAULT)
    if not file.is_file():
        raise InputError(f"there is no file {file} with plain versions to compare with")
    spec = spec_from_file_location("plain", file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is no Python file, which plain versions are read from")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a file of someone's own may raise
        raise InputError(f"{file} cannot be run: {type(error).__name__}: {error}") from None
    for name in NAMES:
        if not hasattr(module, name):
            raise InputError(f"{file} has no {name}; {DEFAULT} of the repository shows what is due")
    return module


def find_plain(path: Path | str | None, model: str, settings: Any) -> tuple[Any, tuple[str, ...]]:
    """The plain version of a model, or None and a note that says why."""
    loops = load_plain(path)
    if loops is None:
        return None, (why_none(path),)
    simple = loops.MODELS.get(model)
    if simple is not None and simple.covers(settings):
        return simple, ()
    lacking = f"there is none of {model}" if simple is None else "it lacks one of the settings"
    return None, (f"no plain version to compare with: {lacking}",)


def why_none(path: Path | str | None) -> str:
    """The note that goes with figures which have no plain version beside them."""
    return NOT_HERE if path is None else NOT_WANTED
