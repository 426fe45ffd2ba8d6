"""Pages that show commands with their output: run them, and compare what they say.

A block ```console holds commands after `$ `, each with its output. `$ cat FILE` of a file that is
not there yet makes it. A block ```python is run. A line `...` stands for any lines.
"""

import contextlib
import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import call

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# Sums of other lengths, on another machine, move the last digits of what was learned.
FAR = {"rel_tol": 0.1, "abs_tol": 0.03}


@dataclass(frozen=True)
class Shown:
    """A command, what a page says it prints, and what it does print."""

    command: str
    said: str
    printed: str


def run_page(text: str) -> Iterator[Shown]:
    """Run the blocks of a page in the current folder, from the first to the last."""
    names: dict[str, object] = {}
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            if not body.startswith(">>>"):  # those are doctests
                exec(body, names)
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, said = part.partition("\n")
            yield Shown(command, said, run_command(command, said))


def run_command(command: str, said: str) -> str:
    match shlex.split(command):
        case ["cat", name]:
            path = Path(name)
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(said, encoding="utf-8")
            return path.read_text(encoding="utf-8")
        case ["targcn", *words]:
            answer = call(*words)
            assert answer.returncode == 0, f"{command}: {answer.stderr}"
            return answer.stdout
    raise AssertionError(f"nobody runs {command!r}")


def says_the_same(said: str, printed: str) -> bool:
    """Whether a page is right about an output, but for blanks and the last digits of figures."""
    words, numbers = _split(said)
    others, figures = _split(printed)
    pattern = r"(?:[^\n]*\n)*?".join(map(re.escape, re.split(r"^\.\.\.\n", words, flags=re.M)))
    found = re.fullmatch(pattern, others)
    if found is None or "..." in words:
        return found is not None
    return all(map(_is_near, numbers, figures))


def _split(text: str) -> tuple[str, list[float]]:
    numbers = [float(one.replace(",", "").rstrip(".")) for one in NUMBER.findall(text)]
    lines = (" ".join(NUMBER.sub("#", line).split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line), numbers


def _is_near(one: float, other: float) -> bool:
    return math.isclose(one, other, **FAR)


def rewrite(text: str) -> str:
    """The page with what its commands print now; lines after `...` are left to the writer."""
    for shown in run_page(text):
        if "...\n" not in shown.said:
            printed = "".join(f"{line.rstrip()}\n" for line in shown.printed.splitlines())
            with contextlib.suppress(ValueError):
                place = text.index(f"$ {shown.command}\n{shown.said}") + len(shown.command) + 3
                text = text[:place] + printed + text[place + len(shown.said) :]
    return text
