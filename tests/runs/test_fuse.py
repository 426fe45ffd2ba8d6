"""Fused runs: their weights against an exhaustive search, their folders against their members."""

import json
import os
import shutil
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oracle import World
from small_training import DATA, mrr
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.inference.ask import explain, predict
from targcn.models.fused import Fused, FusedSettings
from targcn.runs import fuse as fuse_module
from targcn.runs.compare import compare
from targcn.runs.evaluate import evaluate
from targcn.runs.fuse import choose_weights, fuse, mrr_of_each
from targcn.runs.run import Run
from targcn.runs.store import load_run, save_run
from targcn.training.fit import fit, resume

EVALUATOR = Evaluator(DATA, Setting("valid", "train"), torch.device("cpu"))
LEARNED: dict[str, Any] = {"dim": 4, "batch_size": 64, "learning_rate": 0.05, "device": "cpu"}
MEMBERS = {"distmult": 3, "tcomplex": 6, "simple": 2}


@pytest.fixture(scope="module")
def members() -> dict[str, Run]:
    """Three that have learned a little, each something else."""
    return {name: fit(DATA, name, epochs=epochs, **LEARNED) for name, epochs in MEMBERS.items()}


@pytest.fixture(scope="module")
def fused(members: dict[str, Run]) -> Run:
    return fuse(members, device="cpu")


@pytest.fixture
def folders(members: dict[str, Run], tmp_path: Path) -> list[Path]:
    for name, run in members.items():
        save_run(run, tmp_path / name)
    return [tmp_path / name for name in members]


def weights_of(run: Run) -> dict[str, float]:
    assert isinstance(run.recipe.settings, FusedSettings)
    return dict(run.recipe.settings.weights)


def valid_mrr(run: Run) -> float:
    report = evaluate(run, split="valid", context="train", device="cpu")
    return report.metrics["time-aware"]["both"]["mrr"]


# --- the weights ---------------------------------------------------------------------------


def candidates_of(steps: int, number: int) -> list[tuple[float, ...]]:
    """All weights on a grid that add up to 1."""
    counts = product(range(steps + 1), repeat=number)
    return [tuple(share / steps for share in shares) for shares in counts if sum(shares) == steps]


def models_of(members: dict[str, Run]) -> list[Any]:
    return [run.model for run in members.values()]


@pytest.mark.parametrize("batch_size", [4096, 7])
def test_the_mrr_of_each_candidate_is_that_of_the_evaluator(
    members: dict[str, Run], monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    monkeypatch.setattr(fuse_module, "rows_at_once", lambda *_: batch_size)
    candidates = candidates_of(3, 3)
    mrrs = mrr_of_each(candidates, models_of(members), EVALUATOR, 10**6, seed=0)
    for weights, expected in zip(candidates, mrrs, strict=True):
        settings = FusedSettings(dict(zip(members, weights, strict=True)))
        model = Fused(settings, DATA, {name: run.model for name, run in members.items()})
        report = EVALUATOR.evaluate(model, "fused")
        assert expected == pytest.approx(report.metrics["time-aware"]["both"]["mrr"], abs=1e-9)


def test_the_search_finds_what_an_exhaustive_one_finds(members: dict[str, Run], fused: Run) -> None:
    grid = mrr_of_each(candidates_of(12, 3), models_of(members), EVALUATOR, 10**6, seed=0)
    assert valid_mrr(fused) > max(grid) - 0.01
    # It gains on the best member, and no weight was made up.
    assert valid_mrr(fused) > max(map(valid_mrr, members.values())) + 0.01
    assert sum(weights_of(fused).values()) == pytest.approx(1, abs=0.003)


def test_a_member_whose_scores_are_spread_wide_is_no_worse(members: dict[str, Run]) -> None:
    """What counts is how a member ranks, not how wide its scores are spread."""
    two = {name: members[name] for name in ("distmult", "tcomplex")}
    expected = fuse(two, device="cpu")
    wide = replace(two["tcomplex"], model=deepcopy(two["tcomplex"].model))
    with torch.no_grad():
        wide.model.get_parameter("relations").mul_(100)
    found = fuse(two | {"tcomplex": wide}, device="cpu")
    assert valid_mrr(found) == pytest.approx(valid_mrr(expected), abs=0.02)


def test_a_member_that_knows_nothing_is_left_out() -> None:
    good = fit(DATA, "tcomplex", epochs=12, **LEARNED)
    bad = replace(good, model=deepcopy(good.model))
    with torch.no_grad():
        # Every score changes its sign.
        bad.model.get_parameter("relations").neg_()
    found = fuse({"good": good, "bad": bad}, device="cpu")
    assert weights_of(found) == {"good": 1, "bad": 0}
    assert valid_mrr(found) == pytest.approx(valid_mrr(good))


def test_members_are_asked_about_one_time_after_the_other(members: dict[str, Run]) -> None:
    times: list[int] = []
    model = deepcopy(members["distmult"].model)
    model.register_forward_pre_hook(lambda _, given: times.extend(given[0].times.tolist()))
    mrr_of_each([(1.0,)], [model], EVALUATOR, 50, seed=0)
    assert len(times) == 50
    assert times == sorted(times)


def test_some_queries_are_chosen_by_the_seed(members: dict[str, Run]) -> None:

    def some(seed: int) -> Sequence[float]:
        return mrr_of_each([(1.0, 0.0, 0.0)], models_of(members), EVALUATOR, 20, seed)

    assert some(0) == some(0) != some(1)
    again = [choose_weights(models_of(members), EVALUATOR, 20, seed=3) for _ in range(2)]
    assert again[0] == again[1]


def test_figures_of_the_members_are_those_of_evaluate(members: dict[str, Run], fused: Run) -> None:
    for name, run in [*members.items(), ("", fused)]:
        kept = fused.members[name] if name else fused
        assert kept.validation == evaluate(run, split="valid", context="train", device="cpu")


# --- a run like any other ------------------------------------------------------------------


def test_the_folder_gives_the_same_run_wherever_it_is_carried(
    fused: Run, folders: list[Path], tmp_path: Path
) -> None:
    made = fuse(folders, out=tmp_path / "all", device="cpu")
    assert weights_of(made) == weights_of(fused)
    for folder in folders:
        shutil.rmtree(folder)
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "all", tmp_path / "elsewhere" / "moved")
    loaded = load_run(tmp_path / "elsewhere" / "moved")
    assert evaluate(loaded, device="cpu") == evaluate(fused, device="cpu")
    assert weights_of(loaded) == weights_of(fused)
    # It can be kept again, its members are runs themselves, and weights are not kept twice.
    save_run(loaded, tmp_path / "again")
    assert mrr(tmp_path / "again") == mrr(fused)
    assert mrr(tmp_path / "again" / "members" / "simple") == mrr(fused.members["simple"])
    assert not (tmp_path / "again" / "weights.safetensors").exists()


def test_it_is_asked_explained_compared_and_resumed_like_any_other(
    members: dict[str, Run], fused: Run, tmp_path: Path
) -> None:
    save_run(fused, tmp_path / "all")
    answers = predict(tmp_path / "all", "e1", "r2", None, "1970-01-06", top=3)
    assert answers["score"].is_sorted(descending=True)
    assert 0 < answers["probability"][0] < 1
    found = explain(tmp_path / "all", "e1", "r2", answers["answer"][0], "1970-01-06")
    assert (found.rank, found.num_pieces) == (1, 0)
    assert [part.name for part in found.parts] == [
        name for name, weight in weights_of(fused).items() if weight
    ]
    comparison = compare({**members, "fused": fused}, split="valid", device="cpu")
    assert comparison.reference.name == "fused"
    assert evaluate(resume(tmp_path / "all", device="cpu"), device="cpu") == evaluate(
        fused, device="cpu"
    )


def test_a_fused_run_can_be_a_member(fused: Run, members: dict[str, Run], tmp_path: Path) -> None:
    twice = fuse({"fused": fused, "tcomplex": members["tcomplex"]}, device="cpu")
    save_run(twice, tmp_path / "twice")
    assert mrr(tmp_path / "twice") == mrr(twice)
    assert (tmp_path / "twice" / "members" / "fused" / "members" / "simple").is_dir()


def test_folders_of_one_name_are_numbered(folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shutil.copytree(folders[0], tmp_path / "other" / "distmult")
    run = fuse([folders[0], tmp_path / "other" / "distmult"], out=tmp_path / "all", device="cpu")
    assert list(run.members) == ["distmult", "distmult-2"]
    assert sorted(os.listdir(tmp_path / "all" / "members")) == ["distmult", "distmult-2"]


# --- what is refused -----------------------------------------------------------------------


def test_a_member_that_is_missing(fused: Run, tmp_path: Path) -> None:
    out = tmp_path / "all"
    save_run(fused, out)
    shutil.move(out / "members" / "simple", tmp_path / "away")
    with pytest.raises(InputError, match=r"simple is not a run: it has no run\.json"):
        load_run(out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": 1}, r"run\.json is damaged"),
        ({"members": ["../all/members/distmult"]}, r"run\.json is damaged"),
        ({"members": []}, "one weight for each of its members"),
        ({"settings": {}}, "one weight for each of its members"),
        ({"settings": {"weights": {"distmult": 1.0}}}, "one weight for each of its members"),
    ],
)
def test_a_damaged_fused_run(
    fused: Run, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    save_run(fused, tmp_path / "all")
    path = tmp_path / "all" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        load_run(tmp_path / "all")


def test_what_cannot_be_fused(members: dict[str, Run], tmp_path: Path) -> None:
    one = members["distmult"]
    less = World(30, 3, [(0, 0, 1, 0), (1, 1, 2, 1)], cuts=(1, 2)).dataset
    other = replace(one, dataset=less)
    options: dict[str, Any]
    for runs, options, message in (
        ({"one": one}, {}, "fusing takes two runs or more"),
        ({}, {}, "fusing takes two runs or more"),
        ({"one": one, "two": fit(DATA, "seen")}, {}, "two, a run of seen, do not stand for"),
        ({"one": one, "two": other}, {}, "one and two have different data: their"),
        ({"one": one, "a/b": one}, {}, "a member cannot be called 'a/b'"),
        ({"one": one, "..": one}, {}, "a member cannot be called '..'"),
        (members, {"queries": 0}, "queries is 0"),
        (members, {"seed": -1}, "seed is -1"),
        ([tmp_path, tmp_path], {}, "is given twice"),
        ([tmp_path, tmp_path / "no"], {}, "is not a run"),
    ):
        with pytest.raises(InputError, match=message):
            fuse(runs, out=tmp_path / "out", device="cpu", **options)
    atise = fit(DATA, "atise", epochs=1, **LEARNED)
    with pytest.raises(InputError, match="atise, a run of atise, do not stand for probabilities"):
        fuse({"one": one, "atise": atise}, device="cpu")
    assert os.listdir(tmp_path) == []


def test_without_a_valid_split_there_is_nothing_to_choose_by(members: dict[str, Run]) -> None:
    splits = dict(DATA.splits) | {"valid": DATA.valid.where(np.arange(0))}
    bare = {
        name: replace(run, dataset=replace(DATA, splits=splits)) for name, run in members.items()
    }
    with pytest.raises(InputError, match="has no facts in its valid split"):
        fuse(bare, device="cpu")


def test_a_fused_model_is_not_trained() -> None:
    with pytest.raises(InputError, match="a fused model is not trained; train its members"):
        fit(DATA, "fused")
