"""The time of an epoch."""

import pytest
import torch

from bench_results import SMALL, TINY, sane
from targcn.bench.epoch import WatchedBatches, measure_epoch
from targcn.bench.generated_data import generate
from targcn.bench.untrained import make_untrained
from targcn.training.batches import Batch, Batches

pytestmark = pytest.mark.slow


def test_epoch() -> None:
    result = measure_epoch(TINY, settings=SMALL, repeats=2, device="cpu")
    training, products, loop = sane(result)
    assert result.arguments["model"] == "targcn"
    assert training["what"] == "training"
    assert training["peak_bytes"] > 10**7
    assert training["seconds_per_epoch"] == pytest.approx(
        training["milliseconds_per_step"] / 1e3 * 2 * 320 / 64
    )
    assert products["ratio_to_products"] == 1
    assert loop["ratio_to_plain"] == 1
    assert result.arguments["settings"]["own_fact"] == "kept"
    assert result.arguments["batch_size"] == 64


def test_an_epoch_of_tntcomplex() -> None:
    settings = {"dim": 4, "batch_size": 64}
    result = measure_epoch(TINY, model="tntcomplex", settings=settings, repeats=2, device="cpu")
    training, _, loop = sane(result)
    assert training["ratio_to_plain"] > 0
    assert loop["ratio_to_plain"] == 1
    assert result.arguments["model"] == "tntcomplex"
    assert result.arguments["recipe"] == "default"
    assert result.notes == ()


def test_an_epoch_of_a_model_without_a_plain_version() -> None:
    settings = {"dim": 4, "batch_size": 64}
    result = measure_epoch(TINY, model="de-simple", settings=settings, repeats=1, device="cpu")
    (training,) = sane(result)
    assert not {"ratio_to_products", "ratio_to_plain"} & training.keys()
    assert "there is none of de-simple" in result.notes[0]


def test_an_epoch_of_one_small_step_and_of_settings_the_plain_loop_lacks() -> None:
    settings = SMALL | {"batch_size": 5000, "dropout": 0.5}
    result = measure_epoch(TINY, settings=settings, repeats=2, device="cpu")
    assert len(sane(result)) == 2
    assert "it lacks one of the settings" in result.notes[0]


def test_whole_epochs_are_watched_as_on_a_gpu() -> None:
    dataset = generate(TINY)
    made = make_untrained(dataset, "targcn", None, SMALL)
    batches = Batches(made.model, dataset, made.recipe.training, 0, torch.device("cpu"))
    taken: list[Batch] = []
    watched = WatchedBatches(
        batches, 2, lambda: {"scoring products and loss alone": taken.append}, None
    )
    watched.on_gpu, watched.num_before = True, 1
    for epoch in range(3):
        sizes = [len(batch) for batch in watched.of_epoch(epoch)]
        assert sizes == [64] * 10
    assert [len(seconds) for seconds in watched.seconds.values()] == [2, 2]
    assert len(taken) == 5 + 2 * 200
