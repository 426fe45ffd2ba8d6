"""Curves for TensorBoard; that they are written is tried with `targcn train --tensorboard`."""

import sys
from pathlib import Path

import pytest

from targcn.errors import InputError
from targcn.training.tensorboard import write_curves


def test_without_tensorboard_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"pip install 'targcn\[tensorboard\]'"):
        write_curves(tmp_path / "curves")
