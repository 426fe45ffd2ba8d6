"""Writes that are either whole or not there."""

import errno
import os
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from targcn.errors import InputError
from targcn.files import atomic_file, atomic_folder, remove_drafts, require_absent


def test_a_folder_appears_whole(tmp_path):
    with atomic_folder(tmp_path / "a" / "b") as draft:
        (draft / "x").write_text("1")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "1"
    assert os.listdir(tmp_path / "a") == ["b"]


def mode(path):
    return path.stat().st_mode & 0o777


def write_weights(path):
    save_file({"weights": torch.zeros(50_000)}, path)


@pytest.fixture(params=[0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_what_is_new_is_as_open_as_the_umask_says(tmp_path, umask):
    with atomic_folder(tmp_path / "folder"):
        pass
    assert mode(tmp_path / "folder") == 0o777 & ~umask
    for write in (Path.touch, write_weights):
        path = tmp_path / write.__name__
        with atomic_file(path) as draft:
            write(draft)
        assert mode(path) == 0o666 & ~umask


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "secret"
    path.touch(0o600)
    with atomic_file(path) as draft:
        draft.touch(0o644)
        assert mode(draft.parent) == 0o700
    assert mode(path) == 0o600


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("atomic", [atomic_folder, atomic_file])
def test_a_failure_leaves_nothing_behind(tmp_path, atomic, failure):
    with pytest.raises(failure), atomic(tmp_path / "out"):
        raise failure
    assert os.listdir(tmp_path) == []


def make(path, kind):
    if kind == "file":
        path.write_text("kept")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("kind", ["file", "folder", "broken link"])
def test_what_exists_is_refused(tmp_path, kind):
    make(tmp_path / "out", kind)
    with pytest.raises(InputError, match="out already exists; choose another name"):
        require_absent(tmp_path / "out")


@pytest.mark.parametrize("kind", ["file", "folder", "broken link"])
def test_what_came_meanwhile_is_refused_too(tmp_path, kind):
    with pytest.raises(InputError, match="already exists"), atomic_folder(tmp_path / "out"):
        make(tmp_path / "out", kind)
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["free", "x" * 5000])
def test_what_does_not_exist_is_accepted(tmp_path, name):
    require_absent(tmp_path / name)


def test_a_file_is_replaced_in_one_step(tmp_path):
    (tmp_path / "out").write_text("old")
    with atomic_file(tmp_path / "out") as draft:
        draft.write_text("new")
        assert (tmp_path / "out").read_text() == "old"
    assert (tmp_path / "out").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_stays_as_it_was_after_a_failure(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(UnicodeEncodeError), atomic_file(tmp_path / "out") as draft:
        draft.write_text("new \ud800", encoding="utf-8")
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),
        SafetensorError("Error while serializing: I/O error: No space left (os error 28)"),
        pl.exceptions.ComputeError("parquet: underlying IO error: No space left (os error 28)"),
    ],
)
@pytest.mark.parametrize("atomic", [atomic_folder, atomic_file])
def test_no_space_left(tmp_path, atomic, failure):
    with pytest.raises(InputError) as caught, atomic(tmp_path / "out"):
        raise failure
    assert str(caught.value) == (
        f"cannot write {tmp_path / 'out'}: no space left on the disk; nothing was written there"
    )


@pytest.mark.parametrize("atomic", [atomic_folder, atomic_file])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("file/out", "a file is where a folder is needed"), ("x" * 5000, "File name too long")],
)
def test_a_place_that_cannot_be_written(tmp_path, atomic, name, reason):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match=f"cannot write .*: {reason}"), atomic(tmp_path / name):
        pass


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def write_array(path):
    np.save(path, np.zeros(100_000))


def write_text(path):
    path.write_text("x" * 100_000)


def write_table(path):
    pl.DataFrame({"number": np.random.default_rng(0).random(100_000)}).write_parquet(path)


@pytest.mark.parametrize("write", [write_array, write_text, write_weights, write_table])
def test_a_disk_that_is_full(small_disk, write):
    full = pytest.raises(InputError, match="no space left on the disk")
    with full, atomic_folder(small_disk / "out") as draft:
        write(draft / "x.npy")
    assert os.listdir(small_disk) == []


def test_drafts_of_a_killed_process_are_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".state.safetensors.abc.draft").mkdir()
    (tmp_path / ".state.safetensors.abc.draft" / "half").write_text("half")
    (tmp_path / "kept").write_text("mine")
    remove_drafts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
