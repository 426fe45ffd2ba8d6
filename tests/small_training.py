"""Small data sets, quick trainings and what tests ask of them."""

import json
import shutil
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

import targcn
from oracle import World
from targcn.config import build
from targcn.facts.dataset import Dataset
from targcn.models import registry
from targcn.models.tgap import TGAP
from targcn.runs.run import Run
from targcn.training.fit import fit
from targcn.training.progress import ProgressCallback, TrainingProgress


def create(name: str, dataset: Dataset, settings: Mapping[str, Any] | None = None) -> Any:
    """A model with these settings instead of its defaults."""
    built = build(registry.find_model(name).Settings, settings or {}, name)
    return registry.create(name, dataset, built)


def small_tgap(world: World, **settings: Any) -> TGAP:
    """A model of double precision whose weights are all far from 0."""
    model = create("t-gap", world.dataset, {"dim": 6, "heads": 2} | settings)
    torch.manual_seed(1)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return model.double()


# Who somebody meets under a relation never changes, and each day shows a third of it.
FACTS = [
    (s, (s + t) % 3, (s + 7 * ((s + t) % 3 + 1)) % 30, t) for t in range(12) for s in range(30)
]
DATA = World(30, 3, FACTS, cuts=(270, 315)).dataset
# Another one on top: most queries for a subject or an object have two answers, some given twice.
NEXT = [(s, r, (o + 1) % 30, t) for s, r, o, t in FACTS[:270] if t % 2]
TWO_AT_A_TIME = World(30, 3, FACTS[:270] + NEXT + NEXT[:9], cuts=(400, 410))
# Self loops, facts under both relations, and one that is there twice.
BUSY = [(i % 5, i % 2, i * 3 % 7 % 5, i * 5 % 13) for i in range(40)] + [(1, 1, 3, 5)] * 2
BUSY_WORLD = World(6, 2, BUSY, cuts=(len(BUSY), len(BUSY)))
# 540 queries in 9 steps an epoch, the last of them smaller.
SMALL: dict[str, Any] = {
    "dim": 16,
    "neighbors": 8,
    "dropout": 0.1,
    "epochs": 4,
    "batch_size": 64,
    "learning_rate": 0.01,
    "validate_every": 2,
    "device": "cpu",
}


def train(out: Path | None = None, **options: Any) -> Run:
    return fit(DATA, out=out, **({"model": "targcn"} | SMALL | options))


def same_weights(one: Run, other: Run) -> bool:
    ours, theirs = one.model.state_dict(), other.model.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def saved_state(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The state of a training as its file says, fitting or not."""
    with safe_open(folder / "state.safetensors", framework="pt") as stored:
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        return tensors, json.loads(stored.metadata()["position"])


def trace_of(folder: Path) -> list[dict[str, Any]]:
    """What was traced, without the times."""
    lines = (folder / "trace.jsonl").read_text().splitlines()
    timed = ("seconds", "queries_per_second")
    return [
        {name: value for name, value in json.loads(line).items() if name not in timed}
        for line in lines
    ]


def needs_a_compiler(test: Any) -> Any:
    test = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")(test)
    # What torch and its compiler warn of among themselves is not ours.
    return pytest.mark.filterwarnings("default", "error:going on uncompiled")(test)


def stop_at(moment: tuple[int, int], with_signal: signal.Signals | None) -> ProgressCallback:
    """A callback that sends the signal, or breaks down, after this step of this epoch."""
    done = threading.Event()

    def stop(progress: TrainingProgress) -> None:
        if (progress.epoch, progress.step) >= moment and not done.is_set():
            done.set()
            if with_signal is None:
                raise RuntimeError("power cut")
            signal.raise_signal(with_signal)

    return stop


def mrr(run: Any) -> float:
    return float(targcn.evaluate(run, device="cpu").metrics["time-aware"]["both"]["mrr"])


def planted(partners: Callable[[int, int, int], int], num_relations: int) -> Dataset:
    """12 entities on 24 days, each with its partner; a tenth of the facts is left for either."""
    facts = []
    for number in range(288):
        s, t = divmod(number * 37 % 288, 24)
        r = (s + t) % num_relations
        facts.append((s, r, partners(s, r, t), t))
    return World(12, num_relations, facts, cuts=(230, 259)).dataset


# 540 queries in 9 steps an epoch, the last of 28; 90 queries in the valid and in the test split.
FLAGS = SMALL | {"model": "targcn", "validate_every": 1, "patience": 0, "gaps": "none"}


def flags(**options: Any) -> list[str]:
    given = {name: value for name, value in (FLAGS | options).items() if value is not None}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
