"""From a data set to a run: what cannot be trained is refused, and nothing is left behind."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oracle import World
from small_training import DATA, FACTS, SMALL, train
from targcn.errors import InputError
from targcn.facts.dataset import SPLITS
from targcn.files import DRAFT
from targcn.recipes.recipe import find_recipe
from targcn.training.fit import fit, resume


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0; at least 1"),
        ({"batch_size": 0}, "batch_size is 0; at least 1"),
        ({"validate_every": 0}, "validate_every is 0; at least 1"),
        ({"learning_rate": 0}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": "fast"}, "training.learning_rate is 'fast'; a number"),
        ({"optimizer": "sgd"}, "training.optimizer is 'sgd'; choose one of adam, adagrad"),
        ({"select_by": "best"}, "training.select_by is 'best'; choose one of"),
        ({"neigbors": 3}, "targcn.neigbors is unknown; did you mean 'neighbors'"),
        ({"decoder": "bique", "dim": 20}, "16 or 24 would do"),
        ({"recipe": "papre"}, "has no recipe 'papre' for world"),
    ],
)
def test_bad_settings_leave_nothing_behind(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        train(tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []


def test_tables_too_large_for_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*arguments: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("targcn.training.fit.create", too_large)
    with pytest.raises(InputError, match="targcn with these settings needs more memory"):
        train(tmp_path / "run")


def test_there_must_be_facts_to_learn_from(tmp_path: Path) -> None:
    for facts in (FACTS, []):
        data = World(30, 3, facts, cuts=(0, 0)).dataset
        with pytest.raises(InputError, match="no facts in its train split; nothing to learn"):
            fit(data, "targcn", out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_recipe_of_another_model_is_refused() -> None:
    recipe = find_recipe("decayed-copy")
    assert (
        fit(DATA, recipe=recipe).recipe == fit(DATA, "decayed-copy", recipe=recipe).recipe == recipe
    )
    with pytest.raises(InputError, match="the recipe is one of decayed-copy, not of seen"):
        fit(DATA, "seen", recipe=recipe)


def test_any_source_is_trained_on() -> None:
    labels = [DATA.named(split, row) for split in SPLITS for row in range(len(DATA.splits[split]))]
    frame = pl.DataFrame(labels, ["subject", "relation", "object", "time"], orient="row")
    run = fit(frame, "decayed-copy")
    assert run.dataset.name == "frame"
    assert len(run.dataset.facts) == len(DATA.facts)
    assert fit("congress", "seen").dataset.name == "congress"


def test_what_a_kill_left_beside_a_finished_run_is_swept(tmp_path: Path) -> None:
    train(tmp_path / "run", epochs=1)
    (tmp_path / "run" / f".README.md.x{DRAFT}").mkdir()
    resume(tmp_path / "run", device="cpu")
    assert not list((tmp_path / "run").glob(f".*{DRAFT}"))
