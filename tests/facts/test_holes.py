"""Parts of the known facts that are hidden."""

import numpy as np
import pytest

from targcn.facts import holes
from targcn.facts.dataset import NO_FACTS
from targcn.facts.holes import hide_blocks, hide_facts, hide_records
from targcn.facts.open import open_dataset

FACTS = open_dataset("congress").facts
SUBJECTS, TIMES = FACTS.subjects, FACTS.times


def are_whole(owners: np.ndarray, hidden: np.ndarray) -> bool:
    """Whether all facts of an owner at a time are hidden, or none."""
    keys = owners * 1000 + TIMES
    return not np.isin(keys[hidden], keys[~hidden]).any()


@pytest.mark.parametrize("hide", [hide_facts, hide_records, hide_blocks])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_about_the_share_is_hidden_the_same_by_the_same_seed(hide, share):
    hidden = hide(FACTS, share, 1)
    assert hidden.mean() == pytest.approx(share, abs=0.04)
    assert np.array_equal(hidden, hide(FACTS, share, 1))
    assert not np.array_equal(hidden, hide(FACTS, share, 7))
    assert are_whole(SUBJECTS, hidden) == (hide is hide_records)
    assert len(hide(NO_FACTS, share, 1)) == 0


@pytest.mark.parametrize("part", range(3), ids=["records", "ticks", "ends"])
def test_blocks_are_whole(part, monkeypatch):
    monkeypatch.setattr(holes, "SHARES_OF_BLOCKS", np.eye(3)[part])
    hidden = hide_blocks(FACTS, 0.3, 0)
    # Ends begin with a whole record, and so are a little more than half of what a subject has.
    assert hidden.mean() == pytest.approx(0.3, abs=0.1)
    assert are_whole(FACTS.relations if part == 1 else SUBJECTS, hidden)
    if part == 2:
        last_kept = np.full(SUBJECTS.max() + 1, -1)
        np.maximum.at(last_kept, SUBJECTS[~hidden], TIMES[~hidden])
        assert (TIMES[hidden] > last_kept[SUBJECTS[hidden]]).all()
        assert (last_kept[SUBJECTS[hidden]] >= 0).any()
