"""Facts that are probably true and not known: what is listed, merged, said and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oracle
import targcn
from oracle import OPEN, World
from small_judges import truth_of, visits, with_untaught
from targcn.errors import InputError
from targcn.inference.missing import MissingFilter, list_missing, missing_table
from targcn.inference.predictor import Predictor
from targcn.runs.store import save_run
from targcn.training.fit import fit
from targcn.truth import training

# Of the last three visits it is not known that anybody hosted them.
FACTS = visits(60, 12, 9)[:-3]
WORLD = World(12, 2, FACTS, cuts=(90, 105))
LASTING = World(
    6,
    2,
    [(n % 4, n % 2, (n + 1) % 5, n % 7, n % 7 + 3) for n in range(30)] + [(0, 0, 1, OPEN, 4)],
    cuts=(31, 31),
)
KEYS = ["subject", "relation", "object", "time"]
LEAST = 0.001


@pytest.fixture(scope="module", params=["distmult", "decayed-copy"])
def predictor(request: pytest.FixtureRequest) -> Predictor:
    small: Any = {"epochs": 2, "dim": 4, "device": "cpu"} if request.param == "distmult" else {}
    return Predictor(with_untaught(fit(WORLD.dataset, request.param, **small)), device="cpu")


def facts_in(frame: pl.DataFrame, world: World) -> set[tuple[int, ...]]:
    """The facts of all rows, one for each of their times."""
    timeline = world.dataset.timeline
    found = []
    for row in frame.to_dicts():
        ends = timeline.tick(row["time"]), timeline.tick(row["until"])
        times = [tick for tick in timeline.ticks if ends[0] <= tick <= ends[1]]
        assert len(times) == row["times"]
        subject, relation, object_ = (int(row[key][1:]) for key in KEYS[:3])
        found += [(subject, relation, object_, time) for time in times]
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("world", [WORLD, LASTING], ids=["times", "intervals"])
def test_what_is_probable_and_not_known_is_listed(world: World) -> None:
    truth = truth_of(world)
    frame = list_missing(truth, world.dataset, MissingFilter(top=9999, at_least=LEAST))
    judged = truth.find_missing(least=LEAST)
    columns = (column.tolist() for column in judged.facts.tensors())
    probable = dict(zip(zip(*columns, strict=True), judged.probabilities.tolist(), strict=True))
    holding = {
        fact
        for fact in probable
        if any(known[:3] == fact[:3] and oracle.holds(known, fact[3]) for known in world.facts)
    }
    assert facts_in(frame, world) == set(probable) - holding
    assert frame["probability"].is_sorted(descending=True)
    assert frame["rank"].to_list() == list(range(1, frame.height + 1))
    for row in frame.to_dicts():
        own = [probable[fact] for fact in facts_in(pl.DataFrame([row]), world)]
        assert row["probability"] == pytest.approx(sum(own) / len(own))
    assert world is LASTING or frame["times"].max() > 1
    best = list_missing(truth, world.dataset, MissingFilter(top=3, at_least=LEAST))
    assert best.equals(frame.head(3))


def test_what_is_wanted_can_be_chosen(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What speaks for thousands of facts would take long.
    monkeypatch.setattr("targcn.inference.missing.find_signs", lambda *_: ())
    every = targcn.missing(predictor, top=9999, at_least=LEAST)
    everything = facts_in(every, WORLD)
    timeline = WORLD.dataset.timeline
    for chosen, wanted in (
        ({"time": timeline.label(4)}, lambda fact: fact[3] == 4),
        ({"relation": "r1"}, lambda fact: fact[1] == 1),
        ({"entity": "E3"}, lambda fact: 3 in (fact[0], fact[2])),
    ):
        options: dict[str, Any] = chosen
        found = facts_in(targcn.missing(predictor, top=9999, at_least=LEAST, **options), WORLD)
        assert found == {fact for fact in everything if wanted(fact)}
        assert found
    without = targcn.missing(predictor, top=9999, at_least=LEAST, with_mirrors=False)
    assert facts_in(without, WORLD) < everything
    least = float(np.median(every["probability"]))
    fewer = targcn.missing(predictor, top=9999, at_least=least)
    assert facts_in(fewer, WORLD) < everything
    assert fewer["probability"].min() >= least
    # Half as much presumed, half the odds.
    odds, half = (
        targcn.missing(predictor, top=9999, at_least=1e-9, presume=share).sort(KEYS)["probability"]
        for share in (0.1, 0.05)
    )
    assert len(odds) == len(half)
    assert (half < odds).all()


def test_a_model_says_what_it_makes_of_both_ends(predictor: Predictor) -> None:
    frame = targcn.missing(predictor, top=5, at_least=LEAST)
    for row in frame.to_dicts():
        both = predictor.predict(*(row[key] for key in KEYS))["probability"].to_list()
        assert [row["p_object"], row["p_subject"]] == [
            None if value is None else pytest.approx(value) for value in both
        ]
        # The strongest sign is that of the verdict.
        signs = [str(sign) for sign in predictor.judge(*(row[key] for key in KEYS)).signs]
        assert row["sign"] is None or row["sign"] in signs


def test_a_data_set_a_run_and_a_folder_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "LEAST_STEPS", 40)
    options: Any = {"top": 5, "at_least": LEAST, "gaps": "blocks"}
    of_data = targcn.missing(WORLD.dataset, **options)
    run = fit(WORLD.dataset, "seen")
    save_run(run, tmp_path / "run")
    of_run, of_folder = (targcn.missing(source, **options) for source in (run, tmp_path / "run"))
    assert of_run.equals(of_folder)
    assert of_run.drop("p_object", "p_subject").equals(of_data)
    assert of_data.height == 5
    train = targcn.missing(WORLD.dataset, context="train", **options | {"top": 9999})
    # The splits are the first 90 facts, the next 15, and the others.
    for split, held in ((None, []), ("train", []), ("valid", FACTS[90:105]), ("test", FACTS[105:])):
        listed = facts_in(train.filter(pl.col("held_out").eq_missing(pl.lit(split))), WORLD)
        assert listed & set(FACTS) == listed & set(held)
        assert bool(listed) == (split != "train")
        assert split is None or listed <= set(held)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"top": 0}, "top is 0; at least 1 was expected"),
        ({"at_least": -1.0}, "at_least is -1.0; a share between 0 and 1 was expected"),
        ({"presume": 2.0}, "presume is 2.0; a share between 0 and 1 was expected"),
        ({"gaps": "holes"}, "gaps 'holes' is unknown; choose one of mixed, facts, blocks"),
        ({"context": "now"}, "context 'now' is unknown"),
        ({"time": "soon"}, "'soon' is not a date"),
        ({"relation": "r7"}, "relation 'r7' is not in this graph"),
        ({"entity": "f1"}, "entity 'f1' is not in this graph"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(
    options: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is learned."""
    monkeypatch.setattr("targcn.truth.truth.train_judge", None)
    for source in (WORLD.dataset, fit(WORLD.dataset, "seen")):
        with pytest.raises(InputError, match=sentence):
            targcn.missing(source, **options)


def test_the_table_for_people() -> None:
    truth = truth_of(WORLD)
    found = list_missing(truth, WORLD.dataset, MissingFilter(top=9999, at_least=LEAST))
    table = missing_table(found, truth, "title", LEAST)
    expected = ["rank", *KEYS, "until", "true with", "what speaks for it"]
    assert table.labels == expected
    assert len(table.cells()) == found.height
    assert table.notes == (
        "true with: the probability of being true, if these shares of all facts are missing: "
        "0.1 as single facts and 0.1 as whole records, ticks or ends (at most 0.1 each; less "
        "where the data leave no room for it)",
    )
    single = missing_table(found.filter(pl.col("times") == 1), truth, "title", LEAST)
    assert "until" not in single.labels
    truth.judge.finders["facts"].missing_share.fill_(0.02)
    *_, note = missing_table(found.clear(), truth.presuming(0.05), "title", 0.7).notes
    assert note == "no fact that is not known is true with 0.7 or more"
    said = missing_table(found, truth.presuming(0.05), "title", LEAST).notes[0]
    assert "missing: 0.008 as single facts and 0.05 as whole records" in said
