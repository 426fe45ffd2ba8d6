"""Pictures: a figure to draw on, and its file. matplotlib is an extra, loaded when one is wanted.

Used by everything that draws (explanation, comparison).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from targcn.errors import InputError
from targcn.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS: Final = (".png", ".svg", ".pdf")


def require_picture(path: Path) -> None:
    """Refuse, before any work is done, a picture that could not be drawn in the end."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} should end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "plots need matplotlib; install it with: pip install 'targcn[plot]'"
        ) from None


def new_figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(9, 4.5), layout="constrained")


def save_picture(figure: "Figure", path: Path, transparent: bool = False) -> None:
    """Write a figure as its file's ending says, whole or not at all."""
    with atomic_file(path) as draft:
        figure.savefig(draft, dpi=150, transparent=transparent)
