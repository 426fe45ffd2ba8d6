"""The card of a run folder."""

from oracle import World
from targcn.runs.card import write_card
from targcn.runs.evaluate import evaluate
from targcn.training.fit import fit

FACTS = [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)]


def test_the_card_tells_filter_context_and_figures() -> None:
    run = fit(World(5, 2, FACTS, cuts=(20, 25)).dataset, "decayed-copy", seed=3, scale=2)
    card = write_card(run, [evaluate(run)])
    assert card.startswith("# decayed-copy on world\n")
    assert "seed 3" in card
    assert "scale 2.0" in card
    assert "20 / 5 / 5 facts" in card
    assert "Figures: test split, context train+valid, mean rank on ties, 10 queries" in card
    for which, sides in evaluate(run).metrics.items():
        assert f"| {which} | {sides['both']['mrr']:.3f} |" in card
