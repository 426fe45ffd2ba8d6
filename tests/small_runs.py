"""Small runs of one data set, to be compared."""

from oracle import World
from targcn.runs.run import Run
from targcn.training.fit import fit

FACTS = [(n % 9, n % 2, n * n % 7, n * 5 % 31) for n in range(160)]
WORLD = World(9, 2, FACTS, cuts=(100, 120))
SCALES = (0.5, 3, 300)


def world_runs() -> dict[str, Run]:
    dataset = WORLD.dataset
    copies = {f"copy-{scale}": fit(dataset, "decayed-copy", scale=scale) for scale in SCALES}
    return copies | {"seen": fit(dataset, "seen")}
