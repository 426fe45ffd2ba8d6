"""The time of a question."""

import pytest

from bench_results import TINY, sane
from targcn.bench.predict import measure_predict

pytestmark = pytest.mark.slow


def test_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targcn.bench.predict.COMMANDS", 1)
    result = measure_predict(TINY, model="decayed-copy", questions=5)
    loading, loaded, whole = sane(result)
    assert loaded["p50_milliseconds"] <= loaded["p95_milliseconds"]
    assert whole["seconds"] > loading["seconds"]
