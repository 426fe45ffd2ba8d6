import json
import math
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oracle import World
from small_training import saved_state
from targcn.errors import DamagedError, InputError
from targcn.models.base import Learner
from targcn.models.registry import MODELS, find_model
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import is_unfinished, load_run, open_run, save_run, write_result, write_state
from targcn.training.fit import fit, resume
from targcn.training.loop import Trainer
from unsynced_disk import UnsyncedDisk

FACTS = [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)]
DATASET = World(5, 2, FACTS, cuts=(20, 25)).dataset


@pytest.fixture
def run() -> Run:
    return fit(DATASET, "decayed-copy", seed=3, scale=2)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    save_run(run, tmp_path / "run", [evaluate(run)])
    return tmp_path / "run"


def test_a_loaded_run_gives_the_same_report(run: Run, folder: Path) -> None:
    loaded = load_run(folder)
    for split in ("valid", "test"):
        report, expected = (
            evaluate(each, split=split, context="train").to_json(by_relation=True)
            for each in (loaded, run)
        )
        assert report == expected
    assert (loaded.recipe.model, loaded.seed) == ("decayed-copy", 3)
    assert loaded.recipe.settings == run.recipe.settings


def test_a_moved_run_still_loads(run: Run, folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "renamed"
    moved.parent.mkdir()
    shutil.move(folder, moved)
    assert evaluate(load_run(moved)).to_json() == evaluate(run).to_json()


def test_metrics_are_kept(run: Run, folder: Path) -> None:
    kept = json.loads((folder / "metrics.json").read_text())
    assert kept["reports"] == [json.loads(json.dumps(evaluate(run).to_json()))]


def test_the_folder_holds_no_pickle(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".md", ".npy"}
    for path in files:
        if path.suffix == ".npy":
            assert np.load(path, allow_pickle=False).dtype.kind == "i"
        else:
            path.read_text(encoding="utf-8")


def edit(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(manifest | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "its format is 99, this version reads 2"),
        ({"model": "decayed-cpy"}, "no model 'decayed-cpy'; did you mean 'decayed-copy'?"),
        ({"model": ["seen"]}, "there is no model"),
        ({"settings": {"scal": 2}}, "decayed-copy.scal is unknown; did you mean 'scale'?"),
        ({"settings": {"scale": "long"}}, "decayed-copy.scale is 'long'; a number was expected"),
        ({"settings": {"scale": 0}}, "scale is 0.0; it must be above 0"),
        ({"settings": {"partners": 9}}, "partners is a setting of older versions; train again"),
        ({"settings": 7}, "run.json is damaged"),
        ({"settings": "scale"}, "run.json is damaged"),
        ({"seed": None}, "run.json is damaged"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    edit(folder, **changes)
    with pytest.raises(InputError, match=message):
        load_run(folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"[" * 100_000, b"{}", b"\xff\xfe\x00", b'"run"']
)
def test_a_damaged_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json is damaged .*; train the run again"):
        load_run(folder)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"is not a run: it has no run\.json"):
            load_run(path)


# --- runs that learn -----------------------------------------------------------------------

LEARNED: dict[str, Any] = {"dim": 4, "epochs": 1, "batch_size": 16, "device": "cpu"}


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    fit(DATASET, "distmult", out=tmp_path / "run", **LEARNED)
    return tmp_path / "run"


def set_trained(folder: Path, trained: Any) -> None:
    content = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(content | {"trained": trained}))


def test_a_run_is_unfinished_until_its_training_says_otherwise(learned: Path) -> None:
    assert not is_unfinished(learned)
    trained = json.loads((learned / "metrics.json").read_text())["trained"]
    set_trained(learned, trained | {"finished": False})
    assert is_unfinished(learned)
    # A run that says nothing can be gone on with if a state was saved.
    set_trained(learned, {})
    assert is_unfinished(learned)
    (learned / "state.safetensors").unlink()
    assert not is_unfinished(learned)


def test_a_rule_is_never_unfinished(run: Run, tmp_path: Path) -> None:
    save_run(run, tmp_path / "run")
    assert not is_unfinished(tmp_path / "run")


def test_a_run_killed_in_its_first_second_is_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: Trainer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "train", die)
    with pytest.raises(KeyboardInterrupt):
        fit(DATASET, "distmult", out=tmp_path / "run", **LEARNED)
    assert is_unfinished(tmp_path / "run")


def test_a_run_that_is_saved_again_was_trained_as_before(learned: Path, tmp_path: Path) -> None:
    save_run(load_run(learned), tmp_path / "again")
    assert not is_unfinished(tmp_path / "again")
    assert load_run(tmp_path / "again").trained == load_run(learned).trained
    assert "Trained 1 epochs" in (tmp_path / "again" / "README.md").read_text()


def test_a_run_that_is_kept_only_after_its_training_is_finished(tmp_path: Path) -> None:
    save_run(fit(DATASET, "distmult", **LEARNED), tmp_path / "run")
    assert not is_unfinished(tmp_path / "run")


def test_a_damaged_record_is_refused(learned: Path) -> None:
    for damage in ({"epochs": "many"}, [1], "long"):
        set_trained(learned, damage)
        for read in (load_run, is_unfinished):
            with pytest.raises(
                InputError, match=r"metrics\.json is damaged .*; train the run again"
            ):
                read(learned)


def test_a_state_of_another_model_is_refused(learned: Path) -> None:
    tensors, position = saved_state(learned)
    name = next(name for name in tensors if name.startswith("model/"))
    for other in ({name: tensors[name][:, 1:]}, {"model/more": tensors[name].clone()}):
        write_state(learned, tensors | other, position)
        set_trained(learned, {})
        with pytest.raises(InputError, match=r"state\.safetensors does not fit its run: model/"):
            resume(learned, device="cpu")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("optimizer/0/sum", torch.ones(1)),
        ("optimizer/1/sum", None),
        ("optimizer/0/step", torch.ones(1)),
        ("optimizer/0/sum", torch.ones(5, 4, dtype=torch.float64)),
        ("optimizer/9/sum", torch.ones(1)),
    ],
)
def test_a_state_of_another_optimizer_is_refused(
    learned: Path, name: str, other: torch.Tensor | None
) -> None:
    """A sum of one number would have been read past its end."""
    tensors, position = saved_state(learned)
    tensors.pop(name, None)
    write_state(learned, tensors if other is None else tensors | {name: other}, position)
    set_trained(learned, {})
    with pytest.raises(DamagedError, match=f"does not fit its run: {name} is "):
        resume(learned, device="cpu")


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("name", ["model/entities", "optimizer/0/sum", "optimizer/0/step"])
def test_a_state_with_impossible_numbers_is_refused(learned: Path, name: str, wrong: float) -> None:
    tensors, position = saved_state(learned)
    tensors[name].view(-1)[-1] = wrong
    write_state(learned, tensors, position)
    set_trained(learned, {})
    if (name, wrong) == ("model/entities", -1.0):
        resume(learned, device="cpu")
        return
    with pytest.raises(DamagedError, match=f"{name} holds numbers that no training gives"):
        resume(learned, device="cpu")


@pytest.mark.parametrize(
    "wrong",
    [
        {"epoch": -1},
        {"epoch": 10**6},
        {"step": 10**6},
        {"best_epoch": 99},
        {"best_mrr": 7.5},
        {"seconds": -1.0},
        {"loss_sum": "much"},
        {"colour": 1},
    ],
)
def test_a_position_that_no_training_comes_to_is_refused(
    learned: Path, wrong: dict[str, Any]
) -> None:
    tensors, position = saved_state(learned)
    write_state(learned, tensors, position | wrong)
    set_trained(learned, {})
    with pytest.raises(DamagedError, match=f"does not say where it stands .*{next(iter(wrong))}"):
        resume(learned, device="cpu")


@pytest.mark.parametrize("wrong", [math.nan, -math.inf])
def test_weights_that_are_no_numbers_are_refused(learned: Path, wrong: float) -> None:
    run = load_run(learned)
    next(run.model.parameters()).data.view(-1)[3] = wrong
    write_result(run, learned, [])
    with pytest.raises(DamagedError, match=r"weights\.safetensors is damaged: entities holds"):
        load_run(learned)


@pytest.mark.parametrize("dim", [1_000_000, 30_000_000])
@pytest.mark.parametrize(
    "model", [name for name in MODELS if issubclass(find_model(name), Learner)]
)
def test_what_the_settings_imply_is_known_before_a_model_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, dim: int
) -> None:
    save_run(fit(DATASET, model, epochs=1, device="cpu"), tmp_path / "run")
    name = "prior_dim" if model == "evidence" else "dim"
    settings = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    edit(tmp_path / "run", settings=settings | {name: dim})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"does not fit its run|no model that could be made"):
        load_run(tmp_path / "run")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_settings_that_size_no_weight_are_bounded_by_the_data(tmp_path: Path) -> None:
    save_run(fit(DATASET, "evidence", epochs=1, device="cpu"), tmp_path / "run")
    settings = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    edit(tmp_path / "run", settings=settings | {"second_facts": 30_000_000})
    with pytest.raises(DamagedError, match=r"run\.json are those of no model that could be made"):
        load_run(tmp_path / "run")


def test_links_and_pipes_in_a_run_are_refused(learned: Path, tmp_path: Path) -> None:
    """A dangling link called trace.jsonl was once written through; a pipe was waited for."""
    set_trained(learned, {})
    (learned / "trace.jsonl").unlink()
    (learned / "trace.jsonl").symlink_to(tmp_path / "elsewhere")
    for use in (load_run, resume):
        with pytest.raises(InputError, match=r"trace\.jsonl is a link"):
            use(learned)
    assert not (tmp_path / "elsewhere").exists()
    (learned / "trace.jsonl").unlink()
    (learned / "metrics.json").unlink()
    os.mkfifo(learned / "metrics.json")
    for use in (load_run, resume):
        with pytest.raises(InputError, match="is neither a file nor a folder"):
            use(learned)


def test_a_folder_in_place_of_a_file_is_refused(learned: Path) -> None:
    set_trained(learned, {})
    (learned / "trace.jsonl").unlink()
    (learned / "trace.jsonl").mkdir()
    with pytest.raises(InputError, match=r"trace\.jsonl: it is not a file"):
        resume(learned, device="cpu")


@pytest.mark.parametrize("names_last", [True, False])
def test_a_power_cut_while_a_run_is_written_leaves_one_that_loads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_last: bool
) -> None:
    (tmp_path / "disk").mkdir()
    disk = UnsyncedDisk(tmp_path / "disk", monkeypatch, names_last)
    fit(DATASET, "distmult", out=tmp_path / "disk" / "run", **LEARNED)
    images = [*disk.images, disk.image()]
    monkeypatch.undo()
    for number, image in enumerate(images):
        left = tmp_path / f"left {number}"
        disk.write_image(image, left)
        if (left / "run").exists():
            resume(left / "run", device="cpu")
    assert any(image for image in images)


@pytest.mark.parametrize("position", [None, 7, "here"])
def test_a_state_that_stands_nowhere_is_refused(learned: Path, position: Any) -> None:
    tensors, _ = saved_state(learned)
    write_state(learned, tensors, position)
    set_trained(learned, {})
    with pytest.raises(InputError, match=r"state\.safetensors does not say where it stands"):
        resume(learned, device="cpu")


def test_a_run_is_opened_as_itself_or_from_its_folder(run: Run, tmp_path: Path) -> None:
    assert open_run(run) is run
    save_run(run, tmp_path / "run")
    for folder in (tmp_path / "run", str(tmp_path / "run")):
        assert open_run(folder).recipe == run.recipe
    with pytest.raises(InputError, match="a Dataset is no run; give a run"):
        open_run(run.dataset)  # type: ignore[arg-type]
