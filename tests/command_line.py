"""The command line for tests: as a process, or in this one, which saves importing torch again."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from targcn.cli import main

CSV = "subject,relation,object,date\n" + "".join(
    f"person {i % 7},meets,person {i * 3 % 5},2020-01-{i % 28 + 1:02d}\n" for i in range(40)
)


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


def start(*arguments: object, **environment: str) -> Answer:
    """Run the program as a process."""
    done = subprocess.run(
        [sys.executable, "-m", "targcn", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "120"} | environment,
        timeout=1200,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def call(*arguments: object) -> Answer:
    """Run the program in this process."""
    code: object = 0
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            code = leaving.code or 0
    assert isinstance(code, int)
    return Answer(code, out.getvalue(), err.getvalue())


def output_of(*arguments: object) -> str:
    """What a command that succeeds prints on stdout, run in this process."""
    answer = call(*arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def complaint_of(answer: Answer) -> str:
    """What a refused command says: one sentence on stderr, nothing else, exit code 2."""
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.startswith("targcn: ")
    assert answer.stderr.count("\n") == 1
    return answer.stderr
