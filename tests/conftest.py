"""What holds for every test."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from process_groups import Start, forking

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

# How fast the machine is says nothing about the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Run the command line, or other code, in several processes."""
    with forking() as ask:
        yield ask
