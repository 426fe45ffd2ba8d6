"""A run that several commands are tried on."""

from pathlib import Path

import pytest

from command_line import CSV, call


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "copy"
    flags = ("--model", "decayed-copy", "--scale", "7", "--gaps", "none")
    trained = call("train", *flags, "--out", folder)
    assert trained.returncode == 0, trained.stderr
    assert "decayed-copy on congress: 8,318 queries, valid split, context train," in trained.stdout
    return folder


@pytest.fixture
def meetings(tmp_path: Path) -> Path:
    """A small table."""
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    return path
