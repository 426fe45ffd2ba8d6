"""Leave-one-out by the library against leaving a fact out of the data by hand."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from targcn import Dataset, InputError, Run, explain, explanation, fit, open_dataset
from targcn.explanation import Explanation, Reason, in_words, plot
from targcn.facts.dataset import Facts
from targcn.prediction import predict


@pytest.fixture(scope="module")
def small() -> Dataset:
    import polars as pl

    rows = [
        (f"person {i % 9}", ("meets", "calls")[i % 2], f"person {i * 5 % 9}", 2000 + i * 7 % 11)
        for i in range(120)
    ]
    return open_dataset(
        pl.DataFrame(rows, schema=["subject", "relation", "object", "year"], orient="row")
    )


@pytest.fixture(scope="module")
def run(small: Dataset) -> Run:
    return fit(small, "targcn", size=8, epochs=2, batch_size=32, neighbors=50, window=0)


def chance(run: Run, answer: str) -> float:
    answers = predict(run, "person 1", "meets", None, 2005, top=99, context="train")
    return float(answers.filter(answers["answer"] == answer)["probability"].item())


def test_probability_is_the_one_that_predict_gives(run: Run) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train")
    assert found.probability == pytest.approx(chance(run, "person 2"), abs=1e-6)


def test_effects_equal_removing_the_fact_from_the_data(run: Run, small: Dataset) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train", top=99)
    assert found.num_facts == len(found.reasons) > 5
    for reason in found.reasons[:4]:
        fact = [
            small.entities.id_of(reason.subject),
            small.relations.id_of(reason.relation),
            small.entities.id_of(reason.object),
            small.timeline.tick(reason.time),
        ]
        train = small.train.columns
        kept = (fact != train.T).any(1)
        assert kept.sum() == len(small.train) - 1
        splits = dict(small.splits) | {"train": Facts(train[:, kept])}
        without = Dataset(small.name, small.entities, small.relations, small.timeline, splits)  # type: ignore[arg-type]
        other = Run(run.model_name, run.settings, run.seed, without, run.model)
        expected = found.probability - chance(other, "person 2")
        assert reason.effect == pytest.approx(expected, abs=1e-6)


def test_strongest_first_and_dates_fit_the_distance(run: Run) -> None:
    found = explain(run, "person 1", "meets", "person 2", 2005, context="train", top=5)
    sizes = [abs(reason.effect) for reason in found.reasons]
    assert sizes == sorted(sizes, reverse=True)
    assert all(int(reason.time) == 2005 + reason.delta for reason in found.reasons)


def test_the_other_side_asks_from_the_object(run: Run) -> None:
    found = explain(
        run, "person 1", "meets", "person 2", 2005, context="train", asked="subject", top=99
    )
    assert all("person 2" in (reason.subject, reason.object) for reason in found.reasons)


def test_two_steps_can_be_explained(small: Dataset) -> None:
    run = fit(small, "targcn", size=4, steps=2, epochs=1, neighbors=5, window=0)
    found = explain(run, "person 1", "meets", "person 2", 2005)
    assert len(found.reasons) == found.num_facts == 5


@pytest.mark.parametrize(
    ("settings", "width"),
    [({}, 9 + 5), ({"steps": 2}, 9 + 5 + 5 * 5), ({"activation_inside": True}, 9 + 4 * 5)],
)
def test_how_many_are_left_out_at_once_does_not_matter(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], width: int
) -> None:
    run = fit(small, "targcn", size=4, epochs=1, neighbors=5, window=0, **settings)
    together = explain(run, "person 1", "meets", "person 2", 2005)
    widths = []

    def two_at_once(width: int, device: torch.device) -> int:
        widths.append(width)
        return 2

    monkeypatch.setattr(explanation, "rows_at_once", two_at_once)
    in_slices = explain(run, "person 1", "meets", "person 2", 2005)
    assert widths == [width]
    for one, other in zip(together.reasons, in_slices.reasons, strict=True):
        assert other == replace(one, effect=pytest.approx(one.effect, abs=1e-7))


def test_a_subject_without_facts_has_no_reasons(small: Dataset, run: Run) -> None:
    nothing = dict(small.splits) | {"train": Facts(small.train.columns[:, :0])}
    empty = Dataset(small.name, small.entities, small.relations, small.timeline, nothing)  # type: ignore[arg-type]
    found = explain(
        Run(run.model_name, run.settings, 0, empty, run.model),
        "person 1",
        "meets",
        "person 2",
        2005,
        context="train",
    )
    assert found.num_facts == 0
    assert found.reasons == ()


def test_sentences_say_what_when_and_how_much(run: Run) -> None:
    lines = in_words(explain(run, "person 1", "meets", "person 2", 2005, top=2))
    assert lines[0].startswith("person 1 — meets — person 2, 2005: probability 0.")
    assert lines[1][0] in "+-"
    assert any(word in lines[1] for word in ("before", "after", "at that time"))


def test_plot_writes_a_picture(run: Run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib")
    path = tmp_path / "reasons.png"
    plot(explain(run, "person 1", "meets", "person 2", 2005), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_no_known_kind_is_refused(run: Run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=r"reasons\.txt should end in \.png, \.svg or \.pdf"):
        plot(explain(run, "person 1", "meets", "person 2", 2005), tmp_path / "reasons.txt")
    assert list(tmp_path.iterdir()) == []


def test_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    name = r"$\foo$ corp"
    reason = Reason(name, name, name, "2004", -1, 0.1)
    plot(Explanation(name, name, name, name, "year", 0.5, 1, 1, (reason,)), tmp_path / "e.svg")
    assert (tmp_path / "e.svg").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is 0; ask for at least 1 fact"),
        ({"top": -1}, "top is -1; ask for at least 1 fact"),
        ({"asked": "Subject"}, "asked 'Subject' is unknown; choose one of object, subject"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    run: Run, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        explain(run, "person 1", "meets", "person 2", 2005, **options)


def test_scores_that_are_not_numbers_are_refused(run: Run) -> None:
    broken = replace(run, model=deepcopy(run.model))
    torch.nn.init.constant_(broken.model.relations, float("nan"))
    with pytest.raises(InputError, match="scores that are not numbers"):
        explain(broken, "person 1", "meets", "person 2", 2005)


def test_a_rule_that_sees_no_single_facts_is_not_explained(small: Dataset) -> None:
    with pytest.raises(InputError, match="explain a run of targcn"):
        explain(fit(small, "seen"), "person 1", "meets", "person 2", 2005)


def test_explaining_leaves_the_weights_alone(run: Run) -> None:
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    explain(run, "person 1", "meets", "person 2", 2005)
    assert all(torch.equal(before[name], value) for name, value in run.model.state_dict().items())
