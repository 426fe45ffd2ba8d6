"""Bytes per fact of a TemporalGraph, reciprocal facts and index included. Wanted: at most 48."""

import numpy as np

from measure import keep
from targcn import Facts, TemporalGraph, open_dataset

SHAPES = {  # facts, entities, relations, times
    "of icews14's shape": (72_826, 7_128, 230, 365),
    "of icews05-15's shape": (368_962, 10_488, 251, 4_017),
    "of gdelt's shape": (2_735_685, 500, 20, 366),
    "10 M facts, 1 M entities": (10_000_000, 1_000_000, 500, 10_000),
}


def main() -> None:
    lines = [f"{'graph':28} {'facts':>12} {'bytes per fact':>15}"]
    congress = open_dataset("congress")
    graphs = {"congress (train)": (congress.train, len(congress.entities), len(congress.relations))}
    random = np.random.default_rng(0)
    for name, (num_facts, num_entities, num_relations, num_times) in SHAPES.items():
        columns = (
            random.integers(0, limit, num_facts)
            for limit in (num_entities, num_relations, num_entities, num_times)
        )
        graphs[name] = Facts.of(*columns), num_entities, num_relations
    for name, (facts, num_entities, num_relations) in graphs.items():
        graph = TemporalGraph.of(facts, num_entities, num_relations)
        lines.append(f"{name:28} {len(facts):12,} {graph.num_bytes / len(facts):15.1f}")
    keep("graph_memory", lines)


if __name__ == "__main__":
    main()
