"""The time of an evaluation."""

from typing import Any

import pytest

from bench_results import TINY, sane
from targcn.bench.evaluate import measure_evaluate


@pytest.mark.parametrize(
    ("model", "settings"),
    [("targcn", {"dim": 8}), ("tntcomplex", {"dim": 4}), ("decayed-copy", {})],
)
def test_evaluate(model: str, settings: dict[str, Any]) -> None:
    result = measure_evaluate(TINY, model=model, settings=settings, device="cpu")
    index, ranking, *others = sane(result)
    assert index["ratio_to_plain"] > 0
    assert ranking["queries_per_second"] == pytest.approx(80 / ranking["seconds"])
    assert ranking["ratio_to_plain"] > 0
    assert [row["what"] for row in others] == [
        "figures of those ranks",
        "scoring alone",
        "scoring and plain ranks",
        "plain index",
    ]
    assert "scaled" in result.notes[0]
