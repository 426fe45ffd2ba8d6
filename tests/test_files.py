"""Writes that are either whole or not there."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from targcn.errors import InputError
from targcn.files import (
    DRAFT,
    atomic_file,
    atomic_folder,
    read_json,
    remove_drafts,
    require_absent,
    require_plain,
    require_unicode,
    to_json,
)
from unsynced_disk import UnsyncedDisk


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


def leave_a_draft(folder: Path) -> Path:
    """What a process leaves that is killed while it writes."""
    killed = (
        "import os, signal, sys; from pathlib import Path; from targcn.files import atomic_file\n"
    )
    killed += "with atomic_file(Path(sys.argv[1])) as draft:\n    draft.write_text('half')\n"
    killed += "    os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run([sys.executable, "-c", killed, str(folder / "out")])
    assert done.returncode == -signal.SIGKILL
    [draft] = folder.glob(f".*{DRAFT}")
    return draft


def test_drafts_of_a_killed_process_are_swept_by_the_next_write(tmp_path: Path) -> None:
    left = leave_a_draft(tmp_path)
    (tmp_path / "kept").write_text("mine")
    with atomic_file(tmp_path / "another"):
        (tmp_path / "kept").rename(next(tmp_path.glob(f".another.*{DRAFT}")) / "another")
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["another"]


def test_a_draft_that_is_being_written_is_not_swept(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "one") as draft, atomic_folder(tmp_path / "two"):
        remove_drafts(tmp_path)
        draft.write_text("1")
    assert (tmp_path / "one").read_text() == "1"
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_a_link_called_like_a_draft_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / f".x{DRAFT}").symlink_to(tmp_path / "mine")
    remove_drafts(tmp_path)
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize("names_last", [True, False])
def test_a_power_cut_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_last: bool
) -> None:
    (tmp_path / "out").write_text("old")
    disk = UnsyncedDisk(tmp_path, monkeypatch, names_last)
    with atomic_file(tmp_path / "out") as draft:
        draft.write_text("new")
    assert {image["out"] for image in disk.images} == {b"old", b"new"}
    assert disk.image()["out"] == b"new"


@pytest.mark.parametrize("names_last", [True, False])
def test_a_power_cut_leaves_no_folder_or_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_last: bool
) -> None:
    disk = UnsyncedDisk(tmp_path, monkeypatch, names_last)
    with atomic_folder(tmp_path / "a" / "out") as draft:
        (draft / "x").write_text("1")
        (draft / "b").mkdir()
        (draft / "b" / "y").write_text("2")
    whole = {"a/out/x": b"1", "a/out/b/y": b"2"}
    for image in (*disk.images, disk.image()):
        found = {name: content for name, content in image.items() if name.startswith("a/out")}
        assert found in ({}, whole)
    assert disk.image() == whole


def test_a_write_that_is_not_synced_is_lost_in_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model can see the fault that it is there for."""
    monkeypatch.setattr("targcn.files.sync_file", lambda path: None)
    disk = UnsyncedDisk(tmp_path, monkeypatch, names_last=False)
    with atomic_file(tmp_path / "out") as draft:
        draft.write_text("new")
    assert disk.image()["out"] == b""


@pytest.mark.parametrize("kind", ["link", "broken link", "pipe"])
@pytest.mark.parametrize("place", ["x", "inner/x"])
def test_a_folder_with_more_than_files_and_folders_is_refused(
    tmp_path: Path, kind: str, place: str
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "file").touch()
    require_plain(tmp_path)
    path = tmp_path / place
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / ("file" if kind == "link" else "nothing"))
    with pytest.raises(InputError, match=f"{place} is (a link|neither a file nor a folder)"):
        require_plain(tmp_path)


@pytest.mark.parametrize("refuses", [require_absent, require_plain, require_unicode])
def test_a_name_that_is_not_unicode_is_refused(tmp_path: Path, refuses: Any) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    with pytest.raises(InputError, match=r"caf\\xe9' is not UTF-8; choose another"):
        refuses(path)
    with pytest.raises(InputError, match="is not UTF-8"), atomic_file(path):
        pass


@pytest.mark.parametrize("text", ["{", "NaN", '{"x": -Infinity}', "[" * 100_000, "\ufeff1"])
def test_what_is_no_json_is_a_value_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"Expecting|NaN|Infinity|nested|BOM"):
        read_json(tmp_path / "x.json")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(OSError, match="not a file"):
        read_json(tmp_path / "x.json")


def test_json_has_no_infinity() -> None:
    assert to_json({"x": 1.5}) == '{"x": 1.5}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"x": float("inf")})
