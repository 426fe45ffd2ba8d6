"""Run folders and prepared folders that something has happened to."""

import json
import os
import random
import shutil
import struct
from pathlib import Path
from typing import Any

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.inference.predictor import Predictor
from targcn.runs.evaluate import evaluate
from targcn.runs.store import load_run
from targcn.training.fit import fit, resume
from torture.tables import mangle

VALUES: list[Any] = [
    *(None, True, "", "x", "\ud800", "\x1b[31m", [], {}, -1, 0, 1, 1.5, -0.0, 1e-300, 1e308, 1e400),
    *(float("nan"), 2**31, 2**63, 10**30, 30_000_000, 2_000_000_000, "9" * 50, [[[]]], "../../x"),
]


def run_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Mutate a run, then load, ask, explain, evaluate or resume it."""
    names = sorted(path.name for path in base.iterdir() if (path / "run.json").exists())
    name = rng.choice(names)
    folder = scratch / "run"
    shutil.copytree(base / name, folder)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutate(folder, scratch, rng)
    if name.endswith("unfinished") and rng.random() < 0.7:
        outcome = _explained(lambda: resume(folder, device="cpu"))
    else:
        outcome = _explained(lambda: _use_run(folder, rng))
    return _with_canary(scratch, outcome)


def prepared_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Mutate a prepared folder, then open it, and train and evaluate on it."""
    folder = scratch / "data"
    shutil.copytree(base / "data", folder)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutate(folder, scratch, rng)

    def use() -> None:
        dataset = Dataset.load(folder)
        run = fit(dataset, rng.choice(["decayed-copy", "seen"]))
        evaluate(run, split="valid", device="cpu")
        dataset.named("train", 0)
        str(dataset)

    return _with_canary(scratch, _explained(use))


def mutate(folder: Path, scratch: Path, rng: random.Random) -> None:
    """Do something to one of the files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        return
    path = rng.choice(files)
    content = path.read_bytes()
    kind = rng.randrange(12)
    if kind <= 3 and path.suffix == ".json":
        path.write_text(_with_other_value(content, rng))
    elif kind <= 4 and path.suffix == ".safetensors":
        path.write_bytes(_with_other_header(content, rng))
    elif kind <= 7:
        path.write_bytes(mangle(content, rng))
    elif kind == 8:
        path.write_bytes(
            rng.choice([b"", content[: len(content) // 2], b"[" * 100_000, b"\0" * 99])
        )
    elif kind == 9:
        other = rng.choice(files)
        path.write_bytes(other.read_bytes())
    else:
        path.unlink()
        match rng.randrange(6):
            case 0:
                path.mkdir()
            case 1:
                os.mkfifo(path)
            case 2:
                path.symlink_to(scratch / "elsewhere")
            case 3:
                path.symlink_to("/dev/zero")
            case 4:
                (scratch / "canary").write_bytes(content)
                path.symlink_to(scratch / "canary")


def _with_other_value(content: bytes, rng: random.Random) -> str:
    """JSON in which one value is another, or one is missing or too many."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    places: list[tuple[Any, Any]] = []

    def walk(one: Any) -> None:
        for key, value in list(one.items() if isinstance(one, dict) else enumerate(one)):
            places.append((one, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(whole)
    if not places:
        return json.dumps(rng.choice(VALUES))
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder["more"] = rng.choice(VALUES)
        case 1:
            holder.append(holder[key])
        case _:
            holder[key] = rng.choice(VALUES)
    return json.dumps(whole)


def _with_other_header(content: bytes, rng: random.Random) -> bytes:
    """A file of tensors whose header says something else."""
    try:
        size = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + size])
        name = rng.choice(sorted(name for name in header if name != "__metadata__"))
    except (struct.error, ValueError, IndexError, RecursionError, TypeError):
        return content
    body = content[8 + size :]
    match rng.randrange(7):
        case 0:
            del header[name]
        case 1:
            header[name]["dtype"] = rng.choice(["F16", "F64", "I32", "BOOL", "X"])
        case 2:
            header[name]["shape"] = rng.choice([[], [1], [0], [-1], [2**40], [3, 3], [10**12, 0]])
        case 3:
            header[name]["data_offsets"] = rng.choice([[0, 4], [4, 0], [0, 2**60], [-4, 4]])
        case 4:
            header["more"] = header[name]
        case 5:
            begin, end = header[name]["data_offsets"]
            numbers = struct.pack("<f", rng.choice([float("nan"), float("inf"), -1e38, 1e38]))
            body = body[:begin] + numbers * ((end - begin) // 4) + body[end:]
        case 6:
            position = {"epoch": rng.choice(VALUES), "step": rng.choice(VALUES)}
            header["__metadata__"] = {"position": json.dumps(position)}
    changed = json.dumps(header).encode()
    return struct.pack("<Q", len(changed)) + changed + body


def _use_run(folder: Path, rng: random.Random) -> None:
    run = load_run(folder)
    names = run.dataset.entities.names
    relation, time = run.dataset.relations.names[0], run.dataset.timeline.last
    match rng.randrange(3):
        case 0:
            evaluate(run, split="valid", device="cpu")
        case 1:
            predictor = Predictor(run, device="cpu")
            predictor.predict(names[0], relation, None, time)
            if predictor.gives_reasons:
                predictor.explain(names[0], relation, names[1], time)
        case 2:
            str(run)


def _explained(use: Any) -> str:
    try:
        use()
    except InputError as error:
        sentence = str(error)
        return "explained" if len(sentence.splitlines()) == 1 else f"traceback: lines: {sentence!r}"
    return "worked"


def _with_canary(scratch: Path, outcome: str) -> str:
    return "loss: wrote through a link" if (scratch / "elsewhere").exists() else outcome
