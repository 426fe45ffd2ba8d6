"""The demo: commands that the command line knows, run until one fails."""

import subprocess
from typing import Any

import pytest

from command_line import call
from targcn.cli import app
from targcn.cli.demo import STEPS


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_a_step_is_a_command_with_its_options(step: tuple[str, ...]) -> None:
    command, _, _ = app.parse_args([*step], exit_on_error=False, print_error=False)
    assert command.__module__ == f"targcn.cli.{step[0]}"


def test_it_shows_and_runs_every_step_in_one_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[tuple[str, ...], str]] = []

    def run(words: list[str], cwd: str) -> Any:
        ran.append((tuple(words[3:]), cwd))
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", run)
    shown = call("demo").stdout
    assert [step for step, _ in ran] == [*STEPS]
    assert len({folder for _, folder in ran}) == 1
    assert shown.count("$ targcn ") == len(STEPS)


def test_it_ends_with_the_first_step_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], cwd: str) -> Any:
        ran.append(words)
        return subprocess.CompletedProcess(words, 2)

    monkeypatch.setattr(subprocess, "run", run)
    assert call("demo").returncode == 2
    assert len(ran) == 1
