"""`targcn demo`: the main job on the embedded data."""

import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Final

QUESTION: Final = ("Ted Kennedy", "serves beside", "?", "2009", "--top", "3", "--explain")
SEAT: Final = "Massachusetts Senate seat, class 1"
IS_IT_SO: Final = ("Ted Kennedy", "holds Senate seat", SEAT, "2015")
# Commands that are run one after the other, in an empty folder.
STEPS: Final = (
    ("data", "info", "congress"),
    ("missing", "congress", "--top", "5", "--at-least", ".01"),
    ("train", "congress", "--model", "evidence", "--out", "evidence"),
    ("train", "congress", "--model", "targcn", "--gaps", "none", "--out", "targcn"),
    ("train", "congress", "--model", "decayed-copy", "--gaps", "none", "--out", "decayed-copy"),
    ("train", "congress", "--model", "seen", "--gaps", "none", "--out", "seen"),
    ("compare", "evidence", "targcn", "decayed-copy", "seen"),
    ("predict", "evidence", *QUESTION),
    ("predict", "evidence", *IS_IT_SO),
    ("predict", "targcn", *QUESTION),
)


def show_demo() -> None:
    """See what is missing from the embedded data; train evidence and TARGCN on it, compare and ask.

    Takes some four minutes on two cores. What is trained is removed again.
    """
    import shlex

    with TemporaryDirectory() as folder:
        for step in STEPS:
            print(f"\n$ targcn {shlex.join(step)}", flush=True)
            done = subprocess.run([sys.executable, "-m", "targcn", *step], cwd=folder)
            if done.returncode:
                sys.exit(done.returncode)
