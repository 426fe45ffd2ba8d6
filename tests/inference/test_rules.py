"""Rules in words, in their order."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from oracle import World
from targcn import InputError, Run, fit, rules
from targcn.inference.rules import Clause, Rule, name_rules, rules_table
from targcn.models.layers.buckets import ENDLESS
from targcn.models.reasons import NO_FACT, Rules
from targcn.output.tables import to_markdown
from targcn.runs.store import save_run

# Whoever is visited was called the day before; relation r2 has no fact in train.
VISITS = [(s, 0, (s + day) % 5, 2 * day + 1) for day in range(8) for s in range(5)]
CALLS = [(s, 1, o, day - 1) for s, _, o, day in VISITS]
WORLD = World(5, 3, [*VISITS, *CALLS, (0, 2, 1, 3), (0, 2, 1, 4)], cuts=(80, 80))


@pytest.fixture(scope="module")
def run() -> Run:
    quick: dict[str, Any] = {"epochs": 20, "batch_size": 32, "learning_rate": 0.05}
    return fit(WORLD.dataset, "evidence", dim=4, prior_dim=2, device="cpu", **quick)


def benefit(rule: Rule) -> float:
    return float(rule.support * torch.tensor(rule.weight).log1p())


def test_what_was_planted_is_found_and_counted(run: Run) -> None:
    [best, *_] = found = rules(run, relation="r0", top=999)
    assert str(best) in ("r0 ← r1, 1 day before", "r0⁻¹ ← r1⁻¹, 1 day before")
    assert best.support == len(VISITS)
    assert best.weight > 10
    assert {rule.relation for rule in found} == {"r0"}
    assert {rule.asked for rule in found} == {"object", "subject"}
    assert all(rule.support > 0 for rule in found)


def test_rules_that_gave_most_come_first(run: Run) -> None:
    found = rules(run, top=99999)
    gains = [benefit(rule) for rule in found]
    assert gains == sorted(gains, reverse=True)
    assert rules(run, top=3) == found[:3]
    own = [rule for rule in found if rule.relation == "r1"]
    assert list(rules(run, relation="r1", top=99999)) == own


def test_a_folder_gives_the_rules_of_its_run(run: Run, tmp_path: Any) -> None:
    save_run(run, tmp_path / "run")
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    assert rules(tmp_path / "run", top=5) == rules(run, top=5)
    assert all(torch.equal(before[name], value) for name, value in run.model.state_dict().items())


ONCE = [(1, -1, -1), (NO_FACT, 0, 0)]


@pytest.mark.parametrize(
    ("asked", "steps", "sentence"),
    [
        (0, ONCE, "r0 ← r1, 1 day before"),
        (3, [(1, 0, 0), ONCE[1]], "r0⁻¹ ← r1, at the same time"),
        (0, [(4, 8, 10), ONCE[1]], "r0 ← r1⁻¹, 8 to 10 days after"),
        (0, [(0, -ENDLESS, -1626), ONCE[1]], "r0 ← r0, over 1,625 days before"),
        (0, [(0, 1626, ENDLESS), ONCE[1]], "r0 ← r0, over 1,625 days after"),
        (0, [(0, 0, 4), ONCE[1]], "r0 ← r0, 0 to 4 days after"),
        (0, [(1, -1, -1), (5, 1, 1)], "r0 ← r1, 1 day before, then r2⁻¹, 1 day after"),
    ],
)
def test_sentences(asked: int, steps: list[tuple[int, int, int]], sentence: str) -> None:
    columns = torch.tensor(steps).T[:, None]
    figures = torch.tensor([14.25]), torch.tensor([312])
    [rule] = name_rules(Rules(torch.tensor([asked]), *columns, *figures), WORLD.dataset)
    assert str(rule) == sentence
    assert (rule.weight, rule.support, rule.unit) == (14.25, 312, "day")


def test_people_read_a_sentence_and_programs_all_values() -> None:
    clauses = Clause("r1", False, -1, -1), Clause("r2", True, None, -9)
    rule = Rule("r0", "object", clauses, 14.25, 312, "day")
    table = rules_table([rule, replace(rule, evidence=clauses[:1], support=1)])
    sentence = "r0 ← r1, 1 day before, then r2⁻¹, over 8 days before"
    assert f"| {sentence} | × 14.2 | seen 312 times |" in to_markdown(table)
    assert "| r0 ← r1, 1 day before | × 14.2 | seen 1 time |" in to_markdown(table)
    path, fact = table.records()
    assert (path["rule"], path["weight"], path["support"]) == (sentence, 14.25, 312)
    assert (path["first_relation"], path["first_backward"], path["first_last"]) == ("r1", False, -1)
    assert (path["second_relation"], path["second_backward"]) == ("r2", True)
    assert (path["second_first"], path["second_last"]) == (None, -9)
    assert fact["second_relation"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is 0; at least 1 was"),
        ({"relation": "r9"}, "r9"),
    ],
)
def test_what_cannot_be_asked(run: Run, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rules(run, **options)


@pytest.mark.parametrize("name", ["seen", "distmult"])
def test_other_models_have_no_rules(name: str) -> None:
    options: dict[str, Any] = {"dim": 4, "epochs": 1} if name == "distmult" else {}
    with pytest.raises(InputError, match=f"{name} has learned no weights .*; give a run of evid"):
        rules(fit(WORLD.dataset, name, **options))


def test_rules_about_intervals_say_whether_a_fact_holds() -> None:
    world = World(3, 1, [(0, 0, 1, 2, 5), (0, 0, 2, 7, 9)], cuts=(2, 2))
    one = torch.ones(1, dtype=torch.int64)
    found = torch.tensor([[0, NO_FACT]])
    said = []
    for first, last in ((0, 0), (-4, -3), (2, 2)):
        range_ = [torch.tensor([[end, 0]]) for end in (first, last)]
        rules_found = Rules(0 * one, found, *range_, one.double(), one)
        said += [str(rule) for rule in name_rules(rules_found, world.dataset)]
    assert said == [
        "r0 ← r0, while it holds",
        "r0 ← r0, ended 3 to 4 days before",
        "r0 ← r0, begins 2 days after",
    ]
