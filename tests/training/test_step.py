"""A step in parts, compiled or not: the same gradients; and never half an update twice."""

from pathlib import Path
from typing import Any

import pytest
import torch

from small_training import (
    SMALL,
    TWO_AT_A_TIME,
    needs_a_compiler,
    same_weights,
    trace_of,
    train,
)
from targcn.models.targcn import TARGCN
from targcn.training.fit import fit
from targcn.training.loop import Trainer


@pytest.mark.slow
@needs_a_compiler
@pytest.mark.parametrize(("name", "more"), [("boxte", {}), ("tntcomplex", {"filtered_loss": True})])
def test_compiled_steps_are_the_same_steps(name: str, more: dict[str, Any]) -> None:
    options = {"dim": 4, "epochs": 1, "batch_size": 270, "device": "cpu"} | more
    plain = fit(TWO_AT_A_TIME.dataset, name, **options)
    compiled = fit(TWO_AT_A_TIME.dataset, name, compile=True, **options)
    for name, weights in plain.model.state_dict().items():
        # Adagrad divides a gradient by its own size: of a tiny one, rounding becomes visible.
        found = compiled.model.state_dict()[name]
        torch.testing.assert_close(found, weights, rtol=1e-3, atol=1e-4)
    assert compiled.validation == plain.validation


def test_gradients_are_clipped_before_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    step = torch.optim.Adam.step

    def recorded(self: torch.optim.Adam, *given: Any) -> Any:
        weights = [weight for group in self.param_groups for weight in group["params"]]
        norms.append(float(torch.cat([weight.grad.flatten() for weight in weights]).norm()))
        return step(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    free = train(epochs=1)
    assert min(norms) > 1e-3
    norms.clear()
    clipped = train(epochs=1, clip=1e-3)
    assert norms == pytest.approx([1e-3] * len(norms), rel=1e-2)
    assert not same_weights(free, clipped)
    # Adam alone would take the same steps whatever the norm of all gradients.
    assert same_weights(train(epochs=1, clip=1e6), free)


# --- out of memory --------------------------------------------------------------------------


def limit_rows(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    loss = TARGCN.loss

    def limited(self: TARGCN, queries: Any, *rest: Any) -> Any:
        if len(queries) > most:
            raise torch.OutOfMemoryError("no more")
        return loss(self, queries, *rest)

    monkeypatch.setattr(TARGCN, "loss", limited)


def test_out_of_memory_a_step_is_taken_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_rows(monkeypatch, most=20)
    train(tmp_path / "run")
    said = [line for line in trace_of(tmp_path / "run") if "out_of_memory" in line]
    assert said == [
        {"epoch": 0, "out_of_memory": True, "parts_per_step": 2},
        {"epoch": 0, "out_of_memory": True, "parts_per_step": 4},
    ]


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("rows", [64, 61, 3])
def test_parts_have_the_gradient_of_the_whole(rows: int, filtered: bool) -> None:
    found = []
    for parts in (1, 2, 4):
        options = SMALL | {"epochs": 1, "dropout": 0.5, "filtered_loss": filtered}
        run = fit(TWO_AT_A_TIME.dataset, "targcn", **options)
        trainer = Trainer(run, None, torch.device("cpu"))
        trainer.model.train()
        trainer.num_parts = parts
        batch = next(trainer.batches.of_epoch(3))[:rows]
        loss = trainer.take_step(batch)
        found.append([loss, *(weight.grad for weight in trainer.model.parameters())])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_an_update_that_ran_out_of_memory_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then some weights may have changed: a second try would count the gradients twice."""
    updates: list[int] = []
    step = torch.optim.Adam.step

    def fail(optimizer: torch.optim.Adam, closure: Any = None) -> Any:
        updates.append(1)
        step(optimizer, closure)
        raise torch.OutOfMemoryError("no more")

    monkeypatch.setattr(torch.optim.Adam, "step", fail)
    with pytest.raises(torch.OutOfMemoryError):
        train(epochs=1)
    assert len(updates) == 1


def test_steps_have_their_precision_and_everything_else_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loss, inside = TARGCN.loss, set()

    def note_precision(self: TARGCN, *arguments: Any) -> Any:
        inside.add(torch.get_float32_matmul_precision())
        return loss(self, *arguments)

    monkeypatch.setattr(TARGCN, "loss", note_precision)
    before = torch.get_float32_matmul_precision()
    for precision in ("high", "highest"):
        inside.clear()
        train(epochs=1, matmul_precision=precision)
        assert inside == {precision}
        assert torch.get_float32_matmul_precision() == before
