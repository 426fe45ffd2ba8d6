"""The card of a run folder."""

from dataclasses import replace

import pytest

from oracle import World
from targcn.runs.card import write_card
from targcn.runs.evaluate import evaluate
from targcn.training.fit import fit

FACTS = [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)]


def test_the_card_tells_filter_context_and_figures() -> None:
    run = fit(World(5, 2, FACTS, cuts=(20, 25)).dataset, "decayed-copy", seed=3, scale=2)
    card = write_card(run, [evaluate(run)])
    assert "\n---\n\n# decayed-copy on world\n" in card
    assert "seed 3" in card
    assert "scale 2.0" in card
    assert "20 / 5 / 5 facts" in card
    assert "Figures: test split, context train+valid, mean rank on ties, 10 queries" in card
    for which, sides in evaluate(run).metrics.items():
        assert f"| {which} | {sides['both']['mrr']:.3f} |" in card


def test_the_head_is_that_of_a_model_card() -> None:
    yaml = pytest.importorskip("yaml")
    dataset = replace(World(5, 2, FACTS, cuts=(20, 25)).dataset, name='a "b": c #1 – \u00e9')
    run = fit(dataset, "decayed-copy")
    start, head, _ = write_card(run, []).split("---\n", 2)
    content = yaml.safe_load(head)
    assert start == ""
    assert content["license"] == "unknown"
    assert content["library_name"] == "targcn"
    assert content["datasets"] == [dataset.name]
    assert content["tags"][-1] == "decayed-copy"
