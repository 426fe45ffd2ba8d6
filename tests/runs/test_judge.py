"""The judge that a run keeps."""

from pathlib import Path

import pytest
import torch

from oracle import World
from small_judges import visits, with_untaught
from targcn.errors import DamagedError
from targcn.inference.predictor import Predictor
from targcn.runs.judge import with_judge
from targcn.runs.run import Run
from targcn.runs.store import load_run, save_run
from targcn.training.fit import fit
from targcn.truth import training

WORLD = World(12, 2, visits(60, 12, 9), cuts=(100, 110))
FACT = ("e0", "r0", "e1", "1970-01-05")
NAMES = ("truth-mixed.safetensors", "truth-facts.safetensors", "truth-blocks.safetensors")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LEAST_STEPS", 5)


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(WORLD.dataset, "decayed-copy", scale=2)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    save_run(run, tmp_path / "run")
    return tmp_path / "run"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("truth-*"))


def test_a_kept_judge_gives_the_same_odds(folder: Path) -> None:
    assert load_run(folder).judge is None
    judged = with_judge(load_run(folder), "mixed", folder)
    loaded = load_run(folder)
    assert files(folder) == ["truth-mixed.safetensors"]
    assert judged.judge is not None
    assert loaded.judge is not None
    ours, theirs = judged.judge.state_dict(), loaded.judge.state_dict()
    assert all(ours[name].equal(theirs[name]) for name in ours)
    assert Predictor(loaded).knows_truth
    assert Predictor(loaded).judge(*FACT) == Predictor(judged).judge(*FACT)


def test_another_way_of_missing_replaces_the_judge(folder: Path) -> None:
    for gaps in ("facts", "blocks", "mixed"):
        with_judge(load_run(folder), gaps, folder)
        assert files(folder) == [f"truth-{gaps}.safetensors"]
        judge = load_run(folder).judge
        assert judge is not None
        assert judge.gaps == gaps


def test_a_run_without_one_learns_it_when_it_is_asked(folder: Path) -> None:
    predictor = Predictor(folder)
    assert not predictor.knows_truth
    open_question = predictor.predict(*FACT[:2], None, FACT[3])
    assert open_question["true"].null_count() == open_question.height
    assert 0 < predictor.judge(*FACT).probability < 1
    assert predictor.knows_truth
    assert predictor.predict(*FACT[:2], None, FACT[3])["true"].null_count() == 0
    assert files(folder) == []


def test_a_judge_of_all_facts_is_not_asked_in_another_context(run: Run) -> None:
    judged = with_untaught(run)
    other = Predictor(judged, context="train")
    assert not other.knows_truth
    truth = other.truth_presuming(0.1, "blocks")
    assert truth.judge is not judged.judge
    assert truth.judge.gaps == "blocks"
    assert Predictor(judged).truth.judge is judged.judge


@pytest.mark.parametrize("content", [b"", b"{", b"cut"])
def test_a_damaged_judge_is_one_sentence(folder: Path, content: bytes) -> None:
    path = folder / "truth-facts.safetensors"
    path.write_bytes(content)
    expected = "safetensors is cut short or damaged; train the run again; or remove the file"
    with pytest.raises(DamagedError, match=expected) as caught:
        load_run(folder)
    assert len(str(caught.value).splitlines()) == 1
    with_judge(fit(World(3, 3, [(0, 0, 1, 0)] * 9, cuts=(9, 9)).dataset, "seen"), "facts", folder)
    with pytest.raises(DamagedError, match="does not fit its run"):
        load_run(folder)
    path.unlink()
    assert load_run(folder).judge is None


def test_learning_leaves_the_random_numbers_alone(run: Run) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    with_judge(run)
    assert torch.rand(1).equal(expected)
