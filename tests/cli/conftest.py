"""A run that several commands are tried on."""

from pathlib import Path

import pytest

from command_line import call


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "copy"
    trained = call("train", "--model", "decayed-copy", "--scale", "7", "--out", folder)
    assert trained.returncode == 0, trained.stderr
    assert "decayed-copy on congress: 8,318 queries, valid split, context train," in trained.stdout
    return folder
