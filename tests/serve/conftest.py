"""A server that several tests ask."""

from collections.abc import Iterator

import pytest

from small_server import Here, serving, small_runs
from targcn.runs.run import Run


@pytest.fixture(scope="session")
def runs() -> dict[str, Run]:
    return small_runs()


@pytest.fixture(scope="session")
def here(runs: dict[str, Run]) -> Iterator[Here]:
    with serving(runs) as started:
        yield started
