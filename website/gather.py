"""Gather the pages of the site in a folder: `python website/gather.py FOLDER`.

What is written is plain Markdown with a mkdocs.yml, and no plug-in of ours is needed to build it.
"""

import json
import shutil
import sys
from pathlib import Path
from string import Template
from typing import Any, Final

import pages

HERE: Final = Path(__file__).parent
# A folder stands for all its pages; pages that stand nowhere come last, under "More".
NAVIGATION: Final[list[Any]] = [
    {"Home": "index.md"},
    {"How to": "howto/"},
    {"Tutorials": "tutorials/"},
    {"Data": ["data.md", {"Formats": "formats/"}, "data-tried.md"]},
    {
        "Use": [
            "questions.md",
            "truth.md",
            "python.md",
            "explorer.md",
            "forecasting.md",
            "search.md",
        ]
    },
    {"Models": ["models.md", "evidence.md", "targcn.md", "performance.md", "scale.md"]},
    {
        "Evaluation": [
            "evaluation.md",
            "protocols.md",
            "judging.md",
            "filters.md",
            "experiments.md",
        ]
    },
    {"Reference": ["commands.md", "reference/settings.md", "reference/python.md"]},
    {
        "Inside": [
            "architecture.md",
            "faults.md",
            "contributing.md",
            "changelog.md",
            "security.md",
            "code-of-conduct.md",
        ]
    },
]


def gather(folder: Path) -> None:
    """Write every page, what the pages show, and the configuration of the site."""
    docs = folder / "docs"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pages.ROOT / "docs", docs)
    shutil.copy(HERE / "style.css", docs)
    for page, text in made_pages().items():
        (docs / page).parent.mkdir(exist_ok=True)
        (docs / page).write_text(text, encoding="utf-8")
    navigation = arrange({path.relative_to(docs).as_posix() for path in docs.rglob("*.md")})
    config = Template((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    filled = config.substitute(root=pages.ROOT)
    # JSON is YAML too.
    filled += f"\nnav: {json.dumps(navigation)}\n"
    (folder / "mkdocs.yml").write_text(filled, encoding="utf-8")


def made_pages() -> dict[str, str]:
    """The text of every page that is not a file of docs/ as it stands there."""
    from targcn.cli import app

    made = {
        "reference/settings.md": pages.settings_page(),
        "reference/python.md": pages.python_page(),
    }
    docs = pages.ROOT / "docs"
    outside = [pages.ROOT / name for name in pages.OUTSIDE]
    for path in [*outside, *docs.rglob("*.md"), *docs.glob("*.ipynb")]:
        if not path.exists():
            continue
        name = path.relative_to(pages.ROOT).as_posix()
        notebook = path.suffix == ".ipynb"
        text = pages.notebook_page(path) if notebook else path.read_text(encoding="utf-8")
        made[pages.page_of(name) or ""] = pages.adapt(pages.relink(text, name))
    made["commands.md"] += f"\n{pages.commands_text(app)}"
    return made


def arrange(found: set[str]) -> list[Any]:
    """The navigation over the pages that were found.

    >>> arrange({"index.md", "howto/ask.md", "news.md"})[:2]
    [{'Home': 'index.md'}, {'How to': ['howto/ask.md']}]
    >>> arrange({"index.md", "news.md"})[-1]
    {'More': ['news.md']}
    """
    named: set[str] = set()

    def filled(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {title: filled(inside) for title, inside in entry.items()}
        if isinstance(entry, list):
            return [filled(inside) for inside in entry]
        here = (
            sorted(page for page in found if page.startswith(entry)) if entry[-1] == "/" else entry
        )
        named.update([here] if isinstance(here, str) else here)
        return here

    navigation: list[Any] = filled(NAVIGATION)
    if others := sorted(found - named):
        navigation.append({"More": others})
    return navigation


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
