"""What holds for every test: the machine's threads, and a seed of its own."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# torch caches what it compiles without regard to the vector instructions it was told to use.
instructions = os.environ.get("ATEN_CPU_CAPABILITY", "native")
cache = Path(tempfile.gettempdir()) / f"targcn-tests-compiled-{os.getuid()}-{instructions}"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache))

# Threads that wait must not spin: several test processes share the cores. OpenMP reads this when
# torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if "PYTEST_XDIST_WORKER" in os.environ and "OMP_NUM_THREADS" not in os.environ:
    # Each of several test processes takes its part of the cores.
    num_cores, num_processes = os.cpu_count() or 1, int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ["OMP_NUM_THREADS"] = str(max(num_cores // num_processes, 1))

# These read the environment when they are imported.
import numpy as np  # noqa: E402
import torch  # noqa: E402

from process_groups import Start, forking  # noqa: E402

# How fast the machine is says nothing about the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("luck")
    group.addoption("--seed", type=int, default=0, help="draw other random numbers in every test")
    group.addoption("--shuffle", action="store_true", help="run the tests in an order by the seed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(config.option.seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker("drawn")
    if config.option.shuffle:
        random.Random(config.option.seed).shuffle(items)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name no test after bytes: a packed file's hold the time of the day.

    Test processes that begin a second apart would not agree which tests there are.
    """
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed before the fixtures are made, of which some draw too; another run draws the same."""
    seed = crc32(item.nodeid.encode()) ^ item.config.option.seed
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - whoever draws from the global generator is meant
    # Of the CPU alone: for a GPU that is not used yet, torch would keep the stack of every call.
    torch.default_generator.manual_seed(seed)
    item.add_report_section("setup", "luck", f"run again with --seed {item.config.option.seed}")


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Run the command line, or other code, in several processes."""
    with forking() as ask:
        yield ask
