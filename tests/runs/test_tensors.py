from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from targcn.distributed import SINGLE_PROCESS, ProcessGroup, rows_of_process
from targcn.errors import DamagedError, InputError
from targcn.runs import tensors as stored
from targcn.runs.tensors import (
    Expected,
    InPieces,
    expect_like,
    gathered,
    read_tensors,
    write_tensors,
)

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


def test_what_is_written_is_what_safetensors_writes(tmp_path: Path) -> None:
    for metadata in (None, {"position": '{"epoch": 3, "was": "größer"}'}):
        path = tmp_path / "all.safetensors"
        write_tensors(path, TENSORS, metadata)
        same_width = {name: TENSORS[name] for name in ("table", "transposed", "a number")}
        for name, value in load_file(path).items():
            assert value.dtype == TENSORS[name].dtype
            assert torch.equal(value, TENSORS[name])
        write_tensors(path, same_width, metadata)
        contents = {name: value.contiguous() for name, value in same_width.items()}
        assert path.read_bytes() == save(contents, metadata)


def test_what_comes_in_pieces_is_written_like_the_whole(tmp_path: Path) -> None:
    table = TENSORS["table"]
    pieces = InPieces((10, 3), torch.float32, iter([table[:4], table[4:4], table[4:]]))
    for name, value in (("one", table), ("other", pieces)):
        write_tensors(tmp_path / name, {"first": torch.ones(2), "table": value})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("size", [1, 3, 12])
def test_each_process_reads_its_own_rows(size: int, tmp_path: Path) -> None:
    path = tmp_path / "table"
    write_tensors(path, {"table": TENSORS["table"], "bias": torch.ones(10)})
    found = []
    for index in range(size):
        rows = rows_of_process(10, index, size)
        expected = {
            "table": Expected((10, 3), torch.float32, rows=rows),
            "bias": Expected((10,), torch.float32, rows=rows),
        }
        own, _ = read_tensors(path, expected)
        assert own["bias"].shape == expected["bias"].blank().shape == (len(rows),)
        found.append(own["table"])
    assert torch.equal(torch.cat(found), TENSORS["table"])
    with pytest.raises(DamagedError, match=r"table is float32 \[10, 3\] where float32 \[9, 3\]"):
        read_tensors(path, expected | {"table": Expected((9, 3), torch.float32, rows=range(3))})


def test_rows_of_others_arrive_in_order_and_none_is_left_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three processes, played one after the other, with pieces of two rows of the table."""
    size, whole = 3, {"table": TENSORS["table"], "bias": torch.arange(10.0), "plain": torch.ones(2)}
    sent: dict[int, list[Tensor]] = {1: [], 2: []}

    def play(index: int) -> tuple[dict[str, Tensor], dict[str, Expected], ProcessGroup]:
        rows = rows_of_process(10, index, size)
        own = {name: value[rows.start : rows.stop] for name, value in whole.items()}
        expected = {
            name: Expected(tuple(value.shape), value.dtype, rows=rows)
            for name, value in whole.items()
        }
        expected["plain"] = Expected((2,), torch.float32)
        return own | {"plain": whole["plain"]}, expected, ProcessGroup(index, size)

    def receive(piece: Tensor, index: int) -> None:
        piece.copy_(sent[index].pop(0))

    monkeypatch.setattr(stored, "PIECE_BYTES", 24)
    monkeypatch.setattr(torch.distributed, "recv", receive)

    def send_all() -> None:
        for index, pieces in sent.items():
            monkeypatch.setattr(torch.distributed, "send", lambda one, _, to=pieces: to.append(one))
            with gathered(*play(index)):
                pass

    send_all()
    assert [len(piece) for piece in sent[1]] == [4, 2, 2]
    with gathered(*play(0)) as tensors:
        write_tensors(tmp_path / "gathered", tensors)
    write_tensors(tmp_path / "whole", whole)
    assert (tmp_path / "gathered").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sent == {1: [], 2: []}
    send_all()
    with pytest.raises(InputError), gathered(*play(0)) as tensors:
        write_tensors(tmp_path / "whole" / "is no folder", tensors)
    assert sent == {1: [], 2: []}


def test_one_process_has_all(tmp_path: Path) -> None:
    with gathered(TENSORS, expect_like(TENSORS), SINGLE_PROCESS) as tensors:
        assert all(tensors[name] is TENSORS[name] for name in TENSORS)
