"""What stands on the pages of the site that docs/ does not hold as they are.

Texts are written for GitHub, where links go to any file of the repository. Here README,
CONTRIBUTING and CHANGELOG become pages, notebooks are run and shown with their outputs, and a link
to any other file becomes its name.
"""

import ast
import io
import json
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any, Final

from cyclopts import App

ROOT: Final = Path(__file__).parents[1]
# Files outside docs/ that are pages, where they are there.
OUTSIDE: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE: Final = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def page_of(path: str) -> str | None:
    """The page that shows a file of the repository, if one does; of a folder, the first.

    >>> page_of("README.md"), page_of("docs/data.md"), page_of("docs/own-table.ipynb")
    ('index.md', 'data.md', 'tutorials/own-table.md')
    """
    if path in OUTSIDE:
        return OUTSIDE[path]
    inside = path.removeprefix("docs/")
    if inside == path:
        return None
    if (ROOT / path).is_dir():
        inside = f"{inside}/{min(page.name for page in (ROOT / path).glob('*.md'))}"
    if inside.endswith(".ipynb"):
        return f"tutorials/{inside.removesuffix('.ipynb')}.md"
    return inside


def relink(text: str, path: str) -> str:
    """The text of a file of the repository, its links as they are from its page.

    >>> relink("See [the code](../Makefile) and [notes](CHANGELOG.md).", "docs/data.md")
    'See the code (`Makefile`) and [notes](CHANGELOG.md).'
    >>> relink("[data](docs/data.md#times), [changes](CHANGELOG.md)", "README.md")
    '[data](data.md#times), [changes](changelog.md)'
    """
    page = page_of(path)
    assert page is not None

    def linked(found: re.Match[str]) -> str:
        picture, label, address = found.groups()
        target, hash_sign, anchor = address.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if not (ROOT / meant).exists():
            return found[0]  # the strict build refuses it
        other = page_of(meant)
        if other is None:
            name = label.strip("`")
            return f"`{name}`" if meant.endswith(name) else f"{label} (`{meant}`)"
        there = posixpath.relpath(other, posixpath.dirname(page) or ".")
        return f"{picture}[{label}]({there}{hash_sign}{anchor})"

    # Every second part is code, and stays as it is.
    parts = FENCE.split(text)
    return "".join(
        part if number % 2 else LINK.sub(linked, part) for number, part in enumerate(parts)
    )


def adapt(text: str) -> str:
    """Markdown as GitHub reads it, in the words of Python-Markdown.

    What belongs to an item of a numbered list is indented by four there, an item after paragraphs
    of another one follows a blank line, and a bar needs no backslash in code.

    >>> adapt("1. one\\n   - two\\n\\nthree\\n   four")
    '1. one\\n    - two\\n\\nthree\\n   four'
    >>> adapt(r"| `a\\|b` | c |")
    '| `a|b` | c |'
    """
    lines: list[str] = []
    numbered = loose = False
    for line in text.split("\n"):
        if line[:1].strip():
            if loose and line[0].isdigit() and lines[-1].startswith("    "):
                lines.append("")
            numbered, loose = re.match(r"\d+\. ", line) is not None, False
        elif numbered and not line:
            loose = True
        elif numbered and line.startswith("   "):
            line = f" {line}"
        if line.startswith("|"):
            line = re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), line)
        lines.append(line)
    return "\n".join(lines)


def code_cells(content: Mapping[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def run_cell(code: str, names: dict[str, Any]) -> object:
    """Run a cell of a notebook; its last expression is what it shows."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "notebook", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "notebook", "eval"), names)


def read_notebook(path: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def notebook_page(path: Path) -> str:
    """A notebook as Markdown: its cells, each with what it prints and shows when it is run."""
    parts, names = [], {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for cell in read_notebook(path)["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(source)
                continue
            parts.append(f"```python\n{source}\n```")
            with redirect_stdout(io.StringIO()) as printed:
                shown = run_cell(source, names)
            output = printed.getvalue() + ("" if shown is None else repr(shown))
            if output:
                parts.append(f"``` {{ .text .output }}\n{output.rstrip()}\n```")
    title, *rest = parts
    said = f"This page is the notebook [{path.name}](../{path.name}), run when the site was built."
    return "\n\n".join([title, f"*{said}*", *rest])


def python_page() -> str:
    """Every public name, for mkdocstrings."""
    import targcn

    names = sorted(targcn.__all__, key=lambda name: (name[0].isupper(), name))
    entries = "\n\n".join(f"::: targcn.{name}" for name in names)
    said = "Functions first, then classes; `import targcn` gives all of them."
    return f"# Python reference\n\n{said}\n\n{entries}\n"


def commands_text(app: App) -> str:
    """Every command with its options, from the command line itself, without a title."""
    text = app.generate_docs(output_format="markdown")
    return text[text.index(f"## {app.name[0]} ") :]


def settings_page() -> str:
    """Every setting of every model and of the training, with its meaning and its default."""
    from dataclasses import asdict

    from targcn.models.registry import MODELS
    from targcn.recipes.describe import describe_settings, describe_training
    from targcn.recipes.recipe import find_recipe, list_recipes
    from targcn.recipes.training_settings import TrainingSettings

    usual = asdict(TrainingSettings())
    [*training] = describe_training("evidence")
    parts = [
        "# Settings",
        "Each setting is a flag of `targcn train` and a keyword of `targcn.fit`; "
        "`targcn models NAME` shows those of a model. Defaults are those for any data; the recipe "
        "of a data set may have others.",
        "## The training",
        "Of every model that learns; what its own recipe sets otherwise stands with the model.",
        _table([(one.flag, usual[one.name], one.meaning) for one in training]),
    ]
    for name, entry in MODELS.items():
        parts += [f"## {name}", f"{entry.summary[0].upper()}{entry.summary[1:]}."]
        own = describe_settings(name)
        if own:
            parts.append(_table([(one.flag, one.default, one.meaning) for one in own]))
        else:
            parts.append("It has no settings.")
        changed = [one for one in describe_training(name) if one.default != usual[one.name]]
        if changed:
            said = ", ".join(f"`{one.flag} {one.default}`" for one in changed)
            parts.append(f"Trained with {said}.")
        recipes = [
            f"| `{recipe}` | {dataset or 'any'} | {find_recipe(name, recipe, dataset).about} |"
            for recipe, dataset in list_recipes(name)
        ]
        if recipes:
            parts.append(
                "\n".join(["| recipe | data set | what it is |", "|---|---|---|", *recipes])
            )
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[tuple[str, object, str]]) -> str:
    lines = [
        f"| `{flag}` | `{default}` | {' '.join(meaning.split()).replace('|', chr(92) + '|')} |"
        for flag, default, meaning in rows
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *lines])


def all_commands(app: App, before: str = "targcn") -> Iterator[str]:
    """The words of every command, of those inside others too."""
    for name in app:
        if not name.startswith("-"):
            yield f"{before} {name}"
            yield from all_commands(app[name], f"{before} {name}")
