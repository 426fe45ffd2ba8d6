"""The time of an epoch."""

import pytest
import torch
from torch import Tensor

from bench_results import SMALL, TINY, sane
from targcn.bench.epoch import PRODUCTS, measure_epoch, time_turns
from targcn.bench.generated_data import generate
from targcn.bench.untrained import make_untrained
from targcn.training.batches import Batch
from targcn.training.loop import Trainer

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


def test_whole_epochs_are_timed_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = generate(TINY)
    made = make_untrained(dataset, "targcn", None, SMALL)
    trainer = Trainer(made, None, torch.device("cpu"))
    sizes: list[int] = []
    step = trainer.gradient_step

    def watched(batch: Batch) -> Tensor:
        sizes.append(len(batch))
        return step(batch)

    monkeypatch.setattr(trainer, "gradient_step", watched)
    taken: list[Batch] = []
    seconds, peak = time_turns(trainer, 2, lambda: {PRODUCTS: taken.append}, by_epoch=True)
    assert sizes == [64] * 10 * 3
    assert len(taken) == 5 + 2 * 200
    assert seconds["training"] > seconds[PRODUCTS] > 0
    assert peak > 10**7
