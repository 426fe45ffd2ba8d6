"""DE-SimplE against its formula, taken number by number, and the calendar it reads."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
import torch

from oracle import World, queries_of
from small_training import create
from targcn.errors import InputError
from targcn.facts.times.timeline import Timeline, calendar_value
from targcn.models.de_simple import DESimplE
from targcn.training.fit import fit

WORLD = World(5, 2, [(n % 5, n % 2, n * n % 5, n * 7 % 23) for n in range(40)], cuts=(40, 40))
# Seen and unseen times, before and after all of them, relations in both directions.
QUERIES = [(n % 5, n % 4, n * 5 % 60 - 9) for n in range(24)]


def build(**settings: float) -> DESimplE:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: DESimplE = create("de-simple", WORLD.dataset, {"dim": 5} | settings)
    return model.double().eval()


def literal_score(model: DESimplE, query: tuple[int, int, int], answer: int) -> float:
    subject, relation, tick = query
    dates = model.timeline.calendar(np.array([tick]))[:, 0]

    def vector(entity: int, role: int) -> list[float]:
        moving = [
            sum(
                float(model.amplitudes[unit, entity, role, k])
                * math.sin(
                    float(model.frequencies[unit, entity, role, k]) * dates[unit]
                    + float(model.phases[unit, entity, role, k])
                )
                for unit in range(3)
            )
            for k in range(model.amplitudes.shape[-1])
        ]
        return [*model.static[entity, role].tolist(), *moving]

    if relation >= model.num_relations:
        relation, subject, answer = relation - model.num_relations, answer, subject
    there, back = model.relations[relation].tolist()
    one = zip(vector(subject, 0), there, vector(answer, 1), strict=True)
    other = zip(vector(answer, 0), back, vector(subject, 1), strict=True)
    return (sum(a * u * b for a, u, b in one) + sum(a * u * b for a, u, b in other)) / 2


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_scores_follow_the_formula(share: float) -> None:
    model = build(static_share=share)
    with torch.no_grad():
        found = model(queries_of(QUERIES), WORLD.graph)
        expected = [
            [literal_score(model, query, answer) for answer in range(5)] for query in QUERIES
        ]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_gradients_are_finite_and_reach_every_table() -> None:
    model = build().train()
    queries = queries_of(QUERIES)
    answers = queries.subjects
    sample = model.sample(queries, answers, WORLD.graph, torch.arange(len(QUERIES)))
    model.loss(queries, answers, sample).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.abs().sum() > 0, name


def test_it_learns() -> None:
    run = fit(
        WORLD.dataset, "de-simple", dim=32, epochs=30, batch_size=16, learning_rate=0.05,
        dropout=0, device="cpu",
    )  # fmt: skip
    queries = queries_of([(s, r, t) for s, r, _, t in WORLD.facts])
    answers = torch.tensor([o for _, _, o, _ in WORLD.facts])
    with torch.no_grad():
        found = run.model(queries, WORLD.graph).argmax(1)
    assert float((found == answers).double().mean()) > 0.8


def test_the_calendar_is_that_of_python() -> None:
    first = date(1899, 12, 25)
    days = Timeline("day", calendar_value(first.isoformat(), "day"), True, [0])
    ticks = np.arange(-40_000, 60_000, 37)
    expected = [first + timedelta(days=int(tick)) for tick in ticks]
    found = days.calendar(ticks)
    assert found.T.tolist() == [[day.year, day.month, day.day] for day in expected]


@pytest.mark.parametrize(
    ("unit", "start", "tick", "expected"),
    [
        ("year", "2001", 3, [2004, 1, 1]),
        ("month", "2001-11", 3, [2002, 2, 1]),
        ("second", "2001-11-30", 129_600, [2001, 12, 1.5]),
    ],
)
def test_units_other_than_days(unit: str, start: str, tick: int, expected: list[float]) -> None:
    timeline = Timeline(unit, calendar_value(start, unit), True, [0])
    assert timeline.calendar(np.array([tick]))[:, 0].tolist() == expected


def test_times_that_are_no_dates_count_as_years() -> None:
    steps = Timeline("step", 100, False, [0, 5])
    assert steps.calendar(np.array([5])).tolist() == [[105.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("field", "value"), [("dim", 1), ("static_share", 1.5), ("dropout", 1.0), ("dropout", -0.1)]
)
def test_settings_out_of_range_are_refused(field: str, value: float) -> None:
    with pytest.raises(InputError, match=field):
        build(**{field: value})
