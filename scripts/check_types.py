"""What the type checkers of users say about the installed package.

    python scripts/check_types.py PYTHON CHECKER...

PYTHON is the interpreter that targcn is installed for, a CHECKER one of mypy and pyright, a program
on the PATH. tests/user_program.py must be right under mypy --strict, pyright basic and pyright
strict, and a wrong line below it the only error. With pyright, all that the public names have must
have a declared type too.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[1] / "tests" / "user_program.py"
WRONG = "\ntargcn.evaluate(1)\n"


def mypy(python: Path, program: Path) -> list[int]:
    """The lines with errors."""
    said = run("mypy", "--strict", "--python-executable", str(python), str(program))
    return [int(line) for line in re.findall(r"^.*\.py:(\d+): error: ", said, re.MULTILINE)]


def pyright(python: Path, program: Path, mode: str) -> list[int]:
    """The lines with errors in a mode, basic or strict."""
    config = program.parent / "pyrightconfig.json"
    config.write_text(json.dumps({"typeCheckingMode": mode}), encoding="utf-8")
    project = ("-p", str(program.parent))
    said = json.loads(run("pyright", "--outputjson", "--pythonpath", str(python), *project))
    problems = said["generalDiagnostics"]
    assert said["summary"]["filesAnalyzed"] == 1, said
    return [one["range"]["start"]["line"] + 1 for one in problems if one["severity"] == "error"]


def undeclared(python: Path) -> list[str]:
    """What belongs to a public name, and has no type that all checkers agree about."""
    ask = (
        "import targcn; print(*(f'targcn.{targcn._HOMES[name]}.{name}' for name in targcn._HOMES))"
    )
    public = run(str(python), "-c", ask).split()
    # It asks the interpreter that comes first on the PATH.
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    verify = ("--verifytypes", "targcn", "--ignoreexternal", "--outputjson")
    symbols: list[dict[str, Any]]
    symbols = json.loads(run("pyright", *verify, PATH=path))["typeCompleteness"]["symbols"]
    names = {one["name"]: one["isTypeKnown"] and not one["isTypeAmbiguous"] for one in symbols}
    assert names.keys() >= set(public), set(public) - names.keys()
    return [
        name
        for name, is_declared in names.items()
        if not is_declared and any(f"{name}.".startswith(f"{one}.") for one in public)
    ]


def run(*words: str, **environment: str) -> str:
    return subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True
    ).stdout


def check(python: Path, checkers: list[str]) -> None:
    ways: dict[str, Any] = {}
    if "mypy" in checkers:
        ways["mypy --strict"] = lambda program: mypy(python, program)
    if "pyright" in checkers:
        ways["pyright basic"] = lambda program: pyright(python, program, "basic")
        ways["pyright strict"] = lambda program: pyright(python, program, "strict")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM.read_text(encoding="utf-8") + WRONG, encoding="utf-8")
        last = len(program.read_text(encoding="utf-8").splitlines())
        for way, errors_of in ways.items():
            if (lines := errors_of(program)) != [last]:
                sys.exit(f"{way}: errors in lines {lines}; only line {last} is wrong")
            print(f"{way}: a user's program is checked with our types")
    if "pyright" in checkers:
        if lacking := undeclared(python):
            sys.exit(f"no declared type: {', '.join(lacking)}")
        print("pyright --verifytypes: all that public names have is declared")


if __name__ == "__main__":
    check(Path(sys.argv[1]).absolute(), sys.argv[2:])
