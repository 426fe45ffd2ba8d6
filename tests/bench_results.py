"""What the tests of the benchmarks share."""

import json
from collections.abc import Callable
from typing import Any

from targcn.bench.generated_data import Shape
from targcn.bench.measure import Result

TINY = Shape(facts=400, entities=30, relations=3, days=20)
SMALL = {"dim": 8, "neighbors": 5, "batch_size": 64}
FACTS = [(s, (s + t) % 3, (s * 5 + t * t) % 12, t) for t in range(6) for s in range(12)]


def sane(result: Result) -> list[dict[str, Any]]:
    """The rows, after a way through JSON; every figure a number, every rate and time above 0."""
    content = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(content) == {
        *("bench", "arguments", "data", "device", "versions", "rows", "summary", "notes")
    }
    assert set(content["versions"]) == {"targcn", "python", "torch", "numpy"}
    assert content["device"]
    for row in content["rows"]:
        for name, value in row.items():
            if "second" in name or "bytes" in name or "ratio" in name:
                assert value > 0, name
    rows: list[dict[str, Any]] = content["rows"]
    return rows


def run_here(function: Callable[..., Any], **arguments: Any) -> Any:
    """What a process apart would give, without the time it takes to start one."""
    return function(**arguments)
