"""Files of tensors: what is written is read, and what does not fit is refused."""

from pathlib import Path

import pytest
import torch

from targcn.errors import DamagedError
from targcn.runs.tensors import Expected, expect_like, read_tensors, write_tensors

TENSORS = {
    "table": torch.arange(30.0).view(10, 3),
    "transposed": torch.arange(6.0).view(2, 3).T,
    "a number": torch.tensor(2.5),
    "nothing": torch.zeros(0, 4),
    "counts": torch.arange(5),
    "flags": torch.tensor([True, False, True]),
    "half": torch.arange(3, dtype=torch.bfloat16),
    "precise": torch.tensor([1 / 3], dtype=torch.float64),
}


@pytest.mark.parametrize("metadata", [{}, {"position": '{"epoch": 3, "was": "größer"}'}])
def test_what_is_written_is_read(metadata: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "all.safetensors"
    write_tensors(path, TENSORS, metadata)
    found, said = read_tensors(path, expect_like(TENSORS))
    assert said == metadata
    for name, value in TENSORS.items():
        assert found[name].dtype == value.dtype
        assert torch.equal(found[name], value)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    write_tensors(path, {"table": TENSORS["table"]})
    with pytest.raises(DamagedError, match=r"table is \[10, 3\] where \[9, 3\]"):
        read_tensors(path, {"table": Expected((9, 3), torch.float32)})
    with pytest.raises(DamagedError, match="holds numbers that no training gives"):
        read_tensors(path, {"table": Expected((10, 3), torch.float32, least=0.5)})
