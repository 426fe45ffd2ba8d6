"""The demo: commands that the command line knows, run until one fails."""

import subprocess
from typing import Any

import pytest

from command_line import call
from targcn.cli import COMMANDS, app
from targcn.cli.demo import STEPS


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_a_step_is_a_command_with_its_options(step: tuple[str, ...]) -> None:
    command, _, _ = app.parse_args([*step], exit_on_error=False, print_error=False)
    assert COMMANDS[step[0]].startswith(f"{command.__module__.rpartition('.')[2]}:")


@pytest.mark.parametrize("code", [0, 2])
def test_it_runs_every_step_until_one_fails(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[tuple[str, ...], str]] = []

    def run(words: list[str], cwd: str) -> Any:
        ran.append((tuple(words[3:]), cwd))
        return subprocess.CompletedProcess(words, code)

    monkeypatch.setattr(subprocess, "run", run)
    shown = call("demo")
    assert shown.returncode == code
    assert [step for step, _ in ran] == [*(STEPS[:1] if code else STEPS)]
    assert len({folder for _, folder in ran}) == 1
    assert shown.stdout.count("$ targcn ") == len(ran)
