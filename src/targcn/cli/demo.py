"""`targcn demo`: the main job on the embedded data."""

import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Final

QUESTION: Final = ("Ted Kennedy", "serves beside", "?", "2009", "--top", "3", "--explain")
# Commands that are run one after the other, in an empty folder.
STEPS: Final = (
    ("data", "info", "congress"),
    ("train", "congress", "--model", "evidence", "--out", "evidence"),
    ("train", "congress", "--model", "targcn", "--out", "targcn"),
    ("train", "congress", "--model", "decayed-copy", "--out", "decayed-copy"),
    ("train", "congress", "--model", "seen", "--out", "seen"),
    ("compare", "evidence", "targcn", "decayed-copy", "seen"),
    ("predict", "evidence", *QUESTION),
    ("predict", "targcn", *QUESTION),
)


def show_demo() -> None:
    """Train evidence and TARGCN on the embedded data, compare them, ask both and see why.

    Takes some four minutes on two cores. What is trained is removed again.
    """
    import shlex

    with TemporaryDirectory() as folder:
        for step in STEPS:
            print(f"\n$ targcn {shlex.join(step)}", flush=True)
            done = subprocess.run([sys.executable, "-m", "targcn", *step], cwd=folder)
            if done.returncode:
                sys.exit(done.returncode)
