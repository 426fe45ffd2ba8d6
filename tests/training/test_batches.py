"""Batches: the same for the same seed and step, however they are shared and sampled."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from oracle import World, holds, known_answers, with_reciprocals
from small_training import DATA, FACTS, SMALL, TWO_AT_A_TIME, create
from targcn.distributed import ProcessGroup
from targcn.errors import InputError
from targcn.facts.dataset import OPEN
from targcn.graph.columns import Columns
from targcn.graph.queries import draw_ticks, queries_of
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.batches import Batch, Batches

# 540 queries: 9 batches of 60.
CPU = torch.device("cpu")


def batches_of(size: int, batch_size: int = 60, **settings: Any) -> list[Batches]:
    torch.manual_seed(0)
    own = {name: SMALL[name] for name in ("dim", "neighbors", "dropout")}
    model = create("targcn", DATA, own | settings).train()
    how = TrainingSettings(batch_size=batch_size)
    return [Batches(model, DATA, how, 7, CPU, ProcessGroup(rank, size)) for rank in range(size)]


def rows_of(batch: Batch) -> list[tuple[Any, ...]]:
    """Each query with its answer and its sample."""
    assert all(len(tensor) == len(batch) for tensor in batch.tensors())
    return [tuple(tensor[row].tolist() for tensor in batch.tensors()) for row in range(len(batch))]


def of_epoch(them: Batches, ahead: int, step: int = 0) -> list[Batch]:
    them.steps_ahead = ahead
    return list(them.of_epoch(3, step))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_shares_are_the_batch_of_one_process_sampled_alike(size: int, steps: int) -> None:
    [alone] = batches_of(1, steps=steps)
    whole = of_epoch(alone, ahead=1)
    assert [len(batch) for batch in whole] == [60] * 9
    for ahead in (1, 4, 100):
        parts = [of_epoch(member, ahead) for member in batches_of(size, steps=steps)]
        for batch, *shares in zip(whole, *parts, strict=True):
            assert {(len(share), share.weight) for share in shares} == {(60 // size, 1.0)}
            rows = rows_of(batch)
            assert [rows_of(share) for share in shares] == [rows[n::size] for n in range(size)]


@pytest.mark.parametrize("size", [1, 3])
def test_other_answers_come_with_the_batches_where_the_loss_is_filtered(size: int) -> None:
    model = create("distmult", TWO_AT_A_TIME.dataset)
    known = known_answers(TWO_AT_A_TIME.train, 3, "time-aware")
    for filtered in (False, True):
        how = TrainingSettings(batch_size=60, filtered_loss=filtered)
        for rank in range(size):
            processes = ProcessGroup(rank, size)
            for batch in Batches(model, TWO_AT_A_TIME.dataset, how, 0, CPU, processes).of_epoch(0):
                if not filtered:
                    assert batch.others is None
                    continue
                for s, r, t, own, others in rows_of(batch):
                    assert {own, *others} == known[s, r, t]


@pytest.mark.parametrize("past_only", [False, True])
def test_queries_see_later_facts_unless_they_may_not(past_only: bool) -> None:
    settings = {"dim": 4, "steps": 2, "neighbors": 5, "decay": 30.0}
    model = create("targcn", DATA, settings).train()
    how = TrainingSettings(batch_size=60, past_only=past_only)
    later = []
    for batch in Batches(model, DATA, how, 7, CPU).of_epoch(0):
        near, far = batch.sample.near, batch.sample.far
        # From the query to a neighbour, and on to the neighbour's own.
        moments = near.deltas[:, :, None] + far.deltas
        filled = far.filled & near.filled[:, :, None]
        later += [(near.deltas >= 0) & near.filled, (moments >= 0) & filled]
        assert filled.any()
    assert any(bool(seen.any()) for seen in later) != past_only


@pytest.mark.parametrize("ahead", [1, 2, 100])
def test_a_step_is_the_same_wherever_an_epoch_is_entered(ahead: int) -> None:
    whole = [rows_of(batch) for batch in of_epoch(batches_of(1)[0], ahead=1)]
    assert [rows_of(batch) for batch in of_epoch(batches_of(1)[0], ahead, step=5)] == whole[5:]


def test_each_step_is_sampled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    [alone] = batches_of(1)
    monkeypatch.setattr(
        alone.model, "sample", lambda *given: seeds.extend(given[3].tolist()) or Columns()
    )
    for epoch in range(3):
        list(alone.of_epoch(epoch))
    how = TrainingSettings(batch_size=60)
    other = Batches(alone.model, DATA, how, 8, CPU)
    list(other.of_epoch(0))
    assert [len(set(seeds[n : n + 60])) for n in range(0, len(seeds), 60)] == [1] * 36
    assert len(set(seeds)) == 36
    next(Batches(alone.model, DATA, how, 10**15, CPU).of_epoch(10**5))


# Every second fact is open at one end; those of day 5 are asked then alone.
LASTING = World(
    30,
    3,
    [
        (
            s,
            r,
            (o + t // 4) % 30,
            OPEN if s % 4 == 1 else t,
            t if t == 5 else OPEN if s % 4 == 3 else t + s % 3,
        )
        for s, r, o, t in FACTS[:270]
    ],
    cuts=(270, 270),
).dataset


def batches_of_intervals(size: int, filtered: bool = False) -> list[Batches]:
    torch.manual_seed(0)
    model = create("targcn", LASTING, {"dim": 4, "neighbors": 4, "dropout": 0.0}).train()
    how = TrainingSettings(batch_size=60, filtered_loss=filtered)
    return [Batches(model, LASTING, how, 7, CPU, ProcessGroup(rank, size)) for rank in range(size)]


def test_both_queries_of_an_interval_are_asked_at_a_tick_of_it_another_one_each_epoch() -> None:
    [them] = batches_of_intervals(1)
    num_facts = len(LASTING.train)
    expected = sorted(zip(*LASTING.train.columns[:3].tolist(), strict=True))
    asked = []
    for epoch in range(4):
        there, back = [], []
        for batch in them.of_epoch(epoch):
            for s, r, t, o, *_ in rows_of(batch):
                (there if r < 3 else back).append((s, r, o, t) if r < 3 else (o, r - 3, s, t))
        assert sorted(there) == sorted(back)
        assert sorted(fact[:3] for fact in there) == expected
        ticks = draw_ticks(LASTING.train, torch.tensor(LASTING.timeline.ticks), 7, epoch)
        drawn = zip(*LASTING.train.columns[:3].tolist(), ticks.tolist(), strict=True)
        assert sorted(there) == sorted(drawn)
        inside = (ticks >= torch.tensor(LASTING.train.times)) & (
            ticks <= torch.tensor(LASTING.train.ends)
        )
        assert inside.all()
        asked.append(ticks)
    moved = [int((one != other).sum()) for one, other in pairwise(asked)]
    assert all(num_facts / 4 < number < num_facts for number in moved)


def test_other_answers_are_those_that_hold_at_the_drawn_tick() -> None:
    facts = with_reciprocals(list(zip(*LASTING.train.columns.tolist(), strict=True)), 3)
    num_others = 0
    for batch in batches_of_intervals(1, filtered=True)[0].of_epoch(2):
        for s, r, t, own, others in zip(
            *(column.tolist() for column in batch.queries.tensors()),
            batch.answers.tolist(),
            batch.others.tolist(),
            strict=True,
        ):
            true = {fact[2] for fact in facts if fact[:2] == (s, r) and holds(fact, t)}
            assert {own, *others} == true
            num_others += len(true) - 1
    assert num_others > 20


def test_a_batch_must_be_shared_equally() -> None:
    with pytest.raises(InputError, match="batch_size is 64, which 3 processes cannot share"):
        batches_of(3, 64)


def by_time(size: int, per_batch: int, batch_size: int, seed: int = 7) -> list[Batches]:
    """Batches for a learner that asks for few times; each day but the last has 60 queries."""
    model = create("distmult", DATA, {"dim": 4})
    few = type("FewTimes", (type(model),), {"times_per_batch": per_batch})
    model.__class__ = few
    how = TrainingSettings(batch_size=batch_size)
    groups = [ProcessGroup(rank, size) for rank in range(size)]
    return [Batches(model, DATA, how, seed, CPU, group) for group in groups]


@pytest.mark.parametrize(
    ("per_batch", "batch_size", "num_steps"),
    [
        (1, 60, 9),
        (1, 1000, 9),
        (1, 50, 18),
        (2, 120, 5),
        (3, 1000, 3),
        (4, 100, 7),
        (20, 1000, 1),
        (20, 3, 180),
        (1, 1, 540),
    ],
)
def test_a_batch_has_few_times_and_an_epoch_every_query_once(
    per_batch: int, batch_size: int, num_steps: int
) -> None:
    [them] = by_time(1, per_batch, batch_size)
    queries, answers = queries_of(DATA.train, 3)
    expected = sorted(rows_of(Batch(queries, answers, Columns())))
    assert them.num_steps == num_steps
    for epoch in range(3):
        whole = list(them.of_epoch(epoch))
        assert len(whole) == num_steps
        for batch in whole:
            assert 0 < len(batch) <= batch_size
            assert batch.weight == 1
            assert len(batch.queries.times.unique()) <= per_batch
        assert sorted(row for batch in whole for row in rows_of(batch)) == expected


@pytest.mark.parametrize(("size", "batch_size"), [(2, 64), (3, 111), (4, 268), (7, 539)])
def test_the_last_batch_has_the_gradient_of_one_process(size: int, batch_size: int) -> None:
    # 540 queries leave 28, 96, 4 and 1 of them; the last is one for seven processes.
    def gradients(them: Batches) -> list[torch.Tensor]:
        *_, batch = them.of_epoch(0)
        them.model.zero_grad()
        loss = them.model.loss(batch.queries, batch.answers, batch.sample) * batch.weight
        loss.backward()
        return [loss.detach(), *(weight.grad.clone() for weight in them.model.parameters())]

    expected = gradients(batches_of(1, batch_size)[0])
    found = [gradients(member) for member in batches_of(size, batch_size)]
    for one, *several in zip(expected, *found, strict=True):
        torch.testing.assert_close(torch.stack(several).mean(0), one, rtol=1e-4, atol=1e-6)
