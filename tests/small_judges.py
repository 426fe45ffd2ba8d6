"""A world in which a rule holds, and judges that nobody taught."""

import random

import torch
from torch import nn

from oracle import Fact, World
from targcn.facts.holes import Gaps
from targcn.graph.queries import FactColumns
from targcn.runs.run import Run
from targcn.truth.judge import Judge, Network
from targcn.truth.truth import Truth

VISITS, HOSTS = 0, 1


def visits(number: int, num_entities: int = 40, num_days: int = 60, seed: int = 0) -> list[Fact]:
    """Visits of anybody to anybody else; who is visited hosts the guest on that very day."""
    rng, found = random.Random(seed), set[Fact]()
    while len(found) < number:
        guest, host = rng.sample(range(num_entities), 2)
        found.add((guest, VISITS, host, rng.randrange(num_days)))
    hosts = [(host, HOSTS, guest, day) for guest, _, host, day in sorted(found)]
    return [*sorted(found), *hosts]


def columns_of(facts: list[Fact]) -> FactColumns:
    return FactColumns(*torch.tensor(facts, dtype=torch.int64).reshape(-1, 4).T.contiguous())


def untaught(num_relations: int, gaps: Gaps = "mixed") -> Judge:
    """A judge with weights by chance: learning changes its odds, not how they are made."""
    judge = Judge(gaps, num_relations, unit=1.0)
    generator = torch.Generator().manual_seed(0)
    for network in judge.modules():
        if isinstance(network, Network):
            for weight in network.parameters():
                nn.init.normal_(weight, std=0.5, generator=generator)
            network.means.normal_(std=0.5, generator=generator)
    for finder in judge.finders.values():
        finder.hidden_share.fill_(0.1)
        finder.missing_share.fill_(0.1)
    return judge.eval()


def truth_of(world: World, gaps: Gaps = "mixed") -> Truth:
    return Truth(world.graph, world.dataset, untaught(world.num_relations, gaps))


def with_untaught(run: Run) -> Run:
    """The run with a judge, which is much faster than to let one learn."""
    return Run(**(vars(run) | {"judge": untaught(len(run.dataset.relations))}))
