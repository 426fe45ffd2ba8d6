from pathlib import Path

import pytest

from targcn import memory
from targcn.errors import InputError
from targcn.memory import memory_left, require_memory

MACHINE = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 5000 kB\nSwapFree: 1000 kB\n"}
# 2,000 kB of 3,000 kB are taken, 500 kB of it by what is kept of files.
SECOND = {
    "proc/self/cgroup": "0::/a/b\n",
    "sys/fs/cgroup/a/b/memory.max": "max\n",
    "sys/fs/cgroup/a/b/memory.current": "1024000\n",
    "sys/fs/cgroup/a/memory.max": "3072000\n",
    "sys/fs/cgroup/a/memory.current": "2048000\n",
    "sys/fs/cgroup/a/memory.stat": "anon 1024000\nfile 614400\nshmem 102400\n",
}
FIRST = {"proc/self/cgroup": "9:name=systemd:/\n4:memory:/hidden\n1:cpu:/\n"}
BEYOND = {"sys/fs/cgroup/a/memory.current": "9072000\n"}


@pytest.mark.parametrize(
    ("files", "kilobytes"),
    [
        (MACHINE, 6000),
        (MACHINE | SECOND, 2500),
        (MACHINE | FIRST, 6000),
        (MACHINE | SECOND | BEYOND, 0),
        (MACHINE | {"proc/self/cgroup": "0::/gone\n"}, 6000),
        (SECOND, float("inf")),
        ({}, float("inf")),
    ],
)
def test_memory_is_what_the_machine_and_every_group_leave(
    tmp_path: Path, files: dict[str, str], kilobytes: float
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert memory_left(tmp_path) == 1024 * kilobytes


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_left", lambda: 5.0 * (1 << 20))
    require_memory(5 << 20, "this", "take less")
    with pytest.raises(
        InputError, match=r"^this needs at least 6 MB of memory, and only 5 MB are left; take less$"
    ):
        require_memory(6 << 20, "this", "take less")


def test_graphs_models_and_trainings_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    from small_training import DATA, create
    from targcn.graph.temporal_graph import TemporalGraph
    from targcn.recipes.recipe import find_recipe
    from targcn.recipes.training_settings import TrainingSettings
    from targcn.training.fit import initialize
    from targcn.training.optimizers import create_optimizer

    model = create("distmult", DATA)
    monkeypatch.setattr(memory, "memory_left", lambda: 100)
    with pytest.raises(InputError, match=r"the graph of 270 facts needs at least 0 MB .* prepare"):
        TemporalGraph.of_context(DATA, "train")
    with pytest.raises(InputError, match=r"distmult with these settings needs .* smaller vectors"):
        initialize(find_recipe("distmult"), DATA, 0)
    with pytest.raises(InputError, match=r"^training needs at least"):
        create_optimizer(model, TrainingSettings())
