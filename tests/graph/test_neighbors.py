"""What a query gets to see: sampled as often as it should be, and never the fact it asks for."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Fact,
    Neighbor,
    Query,
    World,
    checked,
    facts_around,
    facts_of,
    holds,
    inclusion_probabilities,
    interval_worlds_with_queries,
    with_reciprocals,
    worlds,
    worlds_with_another_future,
    worlds_with_queries,
)
from targcn.errors import InputError
from targcn.graph.hidden import HiddenFacts
from targcn.graph.neighbors import Neighborhood, Sampling, sample_neighbors
from targcn.graph.temporal_graph import TemporalGraph

COPIES = 6000


def rows_of(seen: Neighborhood) -> list[list[Neighbor]]:
    """The filled places of every row, in the order of arrival."""
    rows = zip(*(column.tolist() for column in seen.tensors()), strict=True)
    return [[fact[:3] for fact in zip(*row, strict=True) if fact[3]] for row in rows]


def sample(
    graph: TemporalGraph,
    places: list[tuple[int, int]],
    how: Sampling,
    seed: int = 0,
    hidden: list[Fact] | None = None,
) -> list[list[Neighbor]]:
    entities, times = torch.tensor(places, dtype=torch.long).reshape(-1, 2).T
    to_hide = None if hidden is None else HiddenFacts(*torch.tensor(hidden).T)
    return rows_of(sample_neighbors(graph, entities, times, how, seed, to_hide))


def stars(times: list[tuple[int, ...]]) -> TemporalGraph:
    """Many copies of one star: its centre 0 has a fact with each of 1, 2, … at these times."""
    size = len(times) + 1
    facts = [
        (copy * size + leaf, 0, copy * size, *ticks)
        for copy in range(COPIES)
        for leaf, ticks in enumerate(times, start=1)
    ]
    return World(COPIES * size, 1, facts).graph


def frequencies(
    times: list[tuple[int, ...]],
    time: int,
    how: Sampling,
    hide: int | None = None,
    past: bool = False,
) -> list[float]:
    """How often each leaf of a star is seen from its centre; the leaf `hide` is not to be."""
    size = len(times) + 1
    centres = [copy * size for copy in range(COPIES)]
    hidden = None
    if hide is not None:
        hidden = [(centre + hide + 1, 0, centre, times[hide][0]) for centre in centres]
    graph = replace(stars(times), past_only=past)
    rows = sample(graph, [(centre, time) for centre in centres], how, 1, hidden)
    assert all(len(row) <= how.neighbors for row in rows)
    counts = [0] * len(times)
    for row, centre in zip(rows, centres, strict=True):
        for entity, _, _ in row:
            counts[entity - centre - 1] += 1
    return [count / COPIES for count in counts]


def at(ticks: list[int]) -> list[tuple[int, ...]]:
    return [(tick,) for tick in ticks]


def assert_close(shares: list[float], exact: list[float]) -> None:
    for share, expected in zip(shares, exact, strict=True):
        error = math.sqrt(max(expected * (1 - expected), 1 / COPIES) / COPIES)
        assert abs(share - expected) < 4 * error, (shares, exact)


# --- how often ------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 1024])
@pytest.mark.parametrize(
    ("ticks", "time", "neighbors", "decay", "floor"),
    [
        ([0, 1, 2, 3, 4, 5], 0, 2, 1.0, 0.0),  # the paper's weights
        ([0, 1, 2, 3, 4, 5], 3, 3, 2.0, 1e-9),  # the published code's
        ([0, 0, 1, 1, 7, 7, 20, 40], 4, 4, 2.0, 0.05),  # a floor that counts
        ([0, 2, 2, 3, 9], 7, 2, 5.0, 0.0),
        ([0, 1, 2, 3], 10**9, 2, 1.0, 0.0),  # far from all: the differences still count
        ([0, 1, 2, 3], -(10**9), 2, 1.0, 0.0),
        ([0, 1, 2, 3], 10**9, 2, 1.0, 1e-9),  # the floor makes them all alike
    ],
)
def test_facts_are_sampled_by_weight_without_replacement(
    ticks: list[int], time: int, neighbors: int, decay: float, floor: float, window: int
) -> None:
    how = Sampling(neighbors, decay=decay, weight_floor=floor, window=window)
    nearest = 0 if floor else min(abs(tick - time) for tick in ticks)
    weights = [math.exp((nearest - abs(tick - time)) / decay) + floor for tick in ticks]
    exact = inclusion_probabilities(weights, neighbors)
    assert_close(frequencies(at(ticks), time, how), exact)


@pytest.mark.parametrize("strategy", ["near", "random"])
def test_hiding_a_fact_is_sampling_from_the_others(strategy: str) -> None:
    ticks, time = [3, 3, 4, 5, 1, 8], 3
    how = Sampling(2, strategy, decay=2.0)
    weights = [math.exp(-abs(tick - time) / 2) if strategy == "near" else 1.0 for tick in ticks]
    exact = inclusion_probabilities(weights[1:], 2)
    assert_close(frequencies(at(ticks), time, how, hide=0), [0.0, *exact])


# --- what may be seen -----------------------------------------------------------------------


@checked
@given(worlds_with_queries(), st.integers(1, 4), st.sampled_from(["near", "random"]))
def test_a_sample_is_some_of_the_facts_and_as_many_as_can_be(
    drawn: tuple[World, list[tuple[int, int, int]]], neighbors: int, strategy: str
) -> None:
    world, queries = drawn
    places = [(s, t) for s, _, t in queries]
    rows = sample(world.graph, places, Sampling(neighbors, strategy, window=0))
    for row, (entity, time) in zip(rows, places, strict=True):
        there = facts_around(world.facts, world.num_relations, entity, time)
        assert len(row) == min(neighbors, len(there))
        for fact in row:
            there.remove(fact)  # fails if it was sampled more often than it is there


@checked
@given(worlds_with_queries(), st.none() | st.integers(0, 8))
def test_whole_is_every_fact_in_range(
    drawn: tuple[World, list[tuple[int, int, int]]], search_range: int | None
) -> None:
    world, queries = drawn
    places = [(s, t) for s, _, t in queries]
    rows = sample(world.graph, places, Sampling(1, "whole", search_range=search_range))
    for row, (entity, time) in zip(rows, places, strict=True):
        there = facts_around(world.facts, world.num_relations, entity, time)
        most = math.inf if search_range is None else search_range
        assert sorted(row) == [fact for fact in there if abs(fact[2]) <= most]


def test_an_empty_graph_and_an_empty_batch() -> None:
    for strategy in ("near", "random", "whole"):
        how = Sampling(3, strategy)
        assert sample(World(2, 1, []).graph, [(0, 0), (1, 5)], how) == [[], []]
        assert sample(World(2, 1, [(0, 0, 1, 0)]).graph, [], how) == []
        assert sample(World(2, 1, []).graph, [], how) == []


# --- the window -----------------------------------------------------------------------------


@checked
@given(worlds_with_queries(), st.integers(1, 4), st.integers(0, 5))
def test_a_window_over_all_facts_changes_nothing(
    drawn: tuple[World, list[tuple[int, int, int]]], neighbors: int, seed: int
) -> None:
    world, queries = drawn
    # Another entity's facts keep the graph larger than the window, so that it is really used.
    world = replace(
        world,
        num_entities=world.num_entities + 1,
        facts=[*world.facts, *[(world.num_entities, 0, world.num_entities, 0)] * 40],
    )
    places = [(s, t) for s, _, t in queries]
    how = Sampling(neighbors, decay=3.0, window=0)
    exact = sample(world.graph, places, how, seed)
    # At most 15 facts, each at most twice at one entity; half a window on either side.
    assert sample(world.graph, places, replace(how, window=60), seed) == exact


@pytest.mark.parametrize("time", [-5, 0, 1, 17, 30, 38, 39, 40, 1000])
def test_a_window_holds_the_nearest_facts(time: int) -> None:
    # One fact a day, so places in the order of time are days; the others belong to entity 1.
    world = World(3, 1, [(1, 0, 0, tick) for tick in range(40)])
    (row,) = sample(world.graph, [(0, time)], Sampling(10, decay=1e6, window=11))
    from_end = min(max(time - 5, 0), 40 - 11)
    allowed = {tick - time for tick in range(from_end, from_end + 11)}
    assert len(row) == 10
    assert {delta for _, _, delta in row} < allowed


# --- the past -------------------------------------------------------------------------------


@checked
@given(
    worlds_with_queries(),
    st.sampled_from(["near", "random", "whole"]),
    st.sampled_from([0, 5]),
    st.none() | st.integers(0, 8),
)
def test_of_the_past_only_facts_before_are_seen_the_last_ones_in_the_window(
    drawn: tuple[World, list[Query]], strategy: str, window: int, search_range: int | None
) -> None:
    world, queries = drawn
    places = [(s, t) for s, _, t in queries]
    how = Sampling(4, strategy, window=window, search_range=search_range)
    for row, (entity, time) in zip(sample(world.past, places, how), places, strict=True):
        there = facts_around(world.facts, world.num_relations, entity, time)
        before = sorted((fact for fact in there if fact[2] < 0), key=lambda fact: fact[2])
        if strategy == "near" and window:
            # Of one time, those last in the order of relations and entities.
            before = sorted(before, key=lambda fact: (fact[2], fact[1], fact[0]))[-window:]
        most = math.inf if search_range is None else search_range
        allowed = [fact for fact in before if -fact[2] <= most]
        if strategy == "whole":
            assert sorted(row) == sorted(allowed)
            continue
        assert len(row) == min(4, len(allowed))
        for fact in row:
            allowed.remove(fact)  # fails if it was sampled more often than it is there


@pytest.mark.parametrize("floor", [0.0, 1e-9])
@pytest.mark.parametrize("time", [3, 5, 6, 7, 50])
def test_of_the_past_facts_are_sampled_by_weight(time: int, floor: float) -> None:
    ticks = [0, 1, 1, 2, 5, 6]
    how = Sampling(2, decay=2.0, weight_floor=floor, window=3 + 1024)
    before = [tick for tick in ticks if tick < time]
    weights = [math.exp((before[-1] - tick) / -2) for tick in before]
    if floor:
        weights = [math.exp((tick - time) / 2) + floor for tick in before]
    exact = inclusion_probabilities(weights, 2)
    expected = [*exact, *[0.0] * (len(ticks) - len(before))]
    assert_close(frequencies(at(ticks), time, how, past=True), expected)


def test_a_row_may_see_until_a_later_time_than_its_own() -> None:
    world = World(2, 1, [(1, 0, 0, tick) for tick in range(40)])
    where = torch.tensor([0]), torch.tensor([20])
    how = Sampling(6, decay=1e6, window=7)
    for before, days in ((22, range(15, 22)), (30, range(17, 24)), (5, range(5))):
        found = sample_neighbors(world.past, *where, how, 0, before=torch.tensor([before]))
        (row,) = rows_of(found)
        assert {20 + delta for _, _, delta in row} <= set(days)
        assert len(row) == min(6, len(days))


@pytest.mark.parametrize(
    "how", [Sampling(2, window=3), Sampling(2, "random"), Sampling(2, "whole")]
)
@checked
@given(drawn=worlds_with_another_future())
def test_the_future_changes_nothing_in_a_sample_not_even_its_empty_places(
    how: Sampling, drawn: tuple[World, World, list[Query]]
) -> None:
    world, another, queries = drawn
    entities, times = torch.tensor([(s, t) for s, _, t in queries]).T
    one, other = (
        sample_neighbors(graph, entities, times, how, 3) for graph in (world.past, another.past)
    )
    width = min(one.filled.shape[1], other.filled.shape[1])
    for ours, theirs in zip(one.tensors(), other.tensors(), strict=True):
        assert torch.equal(ours[:, :width], theirs[:, :width])
        assert not ours[:, width:].any()
        assert not theirs[:, width:].any()


# --- the hidden fact ------------------------------------------------------------------------


def ends(fact: Fact, num_relations: int) -> list[tuple[int, Neighbor]]:
    """Where a fact can be seen from, and as what."""
    s, r, o, t = fact
    return [(o, (s, r, t)), (s, (o, (r + num_relations) % (2 * num_relations), t))]


@checked
@given(worlds(min_facts=1), st.data())
def test_a_hidden_fact_is_never_seen_and_every_other_is(world: World, data: st.DataObject) -> None:
    """Hide facts as queries of either direction, see from anywhere at any time."""
    everything = with_reciprocals(world.facts, world.num_relations)
    hidden = data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=4))
    either_end = st.sampled_from([0, 2])
    places = [
        (fact[data.draw(either_end)], data.draw(st.just(fact[3]) | st.integers(0, 6)))
        for fact in hidden
    ]
    for strategy in ("near", "random", "whole"):
        how = Sampling(50, strategy, window=0)
        rows = sample(world.graph, places, how, 0, hidden)
        for row, fact, (entity, time) in zip(rows, hidden, places, strict=True):
            own = [(e, r, t - time) for at, (e, r, t) in ends(fact, world.num_relations)
                   if at == entity]  # fmt: skip
            there = facts_around(world.facts, world.num_relations, entity, time)
            assert sorted(row) == [seen for seen in there if seen not in own]


# --- seeds ----------------------------------------------------------------------------------

BUSY = World(6, 2, [(n % 6, n % 2, n * n % 5, n % 17) for n in range(120)])
PLACES = [(entity, time) for entity in range(6) for time in (-1, 0, 8, 16, 30)]


@pytest.mark.parametrize("strategy", ["near", "random", "whole"])
@pytest.mark.parametrize("window", [0, 16])
def test_a_row_does_not_depend_on_its_batch(strategy: str, window: int) -> None:
    how = Sampling(4, strategy, decay=5.0, window=window)
    together = sample(BUSY.graph, PLACES, how, seed=9)
    alone = [row for place in PLACES for row in sample(BUSY.graph, [place], how, seed=9)]
    assert together == alone
    assert sample(BUSY.graph, PLACES[::-1], how, seed=9) == together[::-1]


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"neighbors": 0}, "neighbors is 0; at least 1"),
        ({"decay": 0.0}, "decay is 0.0; it must be above 0"),
        ({"decay": math.nan}, "decay is nan"),
        ({"weight_floor": -1e-9}, "weight_floor is -1e-09; it cannot be negative"),
        ({"search_range": -1}, "search_range is -1; it cannot be negative"),
        ({"neighbors": 10, "window": 10}, r"window is 10; more than neighbors \(10\), or 0"),
        ({"window": -1}, "window is -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**settings)


@checked
@given(worlds(min_facts=1), st.data())
def test_facts_that_stay_are_drawn_as_before(world: World, data: st.DataObject) -> None:
    """The sample of a changed graph is one of more places, less what is gone."""
    distinct = World(world.num_entities, world.num_relations, list(dict.fromkeys(world.facts)))
    gone = data.draw(st.lists(st.sampled_from(distinct.facts), unique=True, max_size=3))
    changed = distinct.graph.changed(facts_of(gone), facts_of([]))
    entities, times = torch.arange(world.num_entities), torch.full((world.num_entities,), 3)
    few, many = (Sampling(neighbors=number, window=0) for number in (2, 2 + 2 * len(gone)))
    found = sample_neighbors(changed, entities, times, few, 7)
    wider = sample_neighbors(distinct.graph, entities, times, many, 7)
    unseen = set(with_reciprocals(gone, world.num_relations))
    for entity, (row, all_row) in enumerate(zip(rows_of(found), rows_of(wider), strict=True)):
        left = [(s, r, d) for s, r, d in all_row if (s, r, entity, d + 3) not in unseen]
        assert row == left[:2]


# --- intervals ------------------------------------------------------------------------------


@checked
@given(interval_worlds_with_queries(), st.none() | st.integers(0, 8))
def test_whole_is_every_interval_in_range_by_its_nearest_moment(
    drawn: tuple[World, list[Query]], search_range: int | None
) -> None:
    world, queries = drawn
    how = Sampling(strategy="whole", search_range=search_range)
    places = [(s, t) for s, _, t in queries]
    for (entity, time), row in zip(places, sample(world.graph, places, how), strict=True):
        around = facts_around(world.facts, world.num_relations, entity, time)
        near = [f for f in around if search_range is None or abs(f[2]) <= search_range]
        assert sorted(row) == near


@pytest.mark.parametrize("window", [0, 1024])
@pytest.mark.parametrize("floor", [0.0, 0.05])
@pytest.mark.parametrize("time", [0, 4, 7, 30])
def test_intervals_are_sampled_by_their_distance(time: int, floor: float, window: int) -> None:
    """What holds counts most, whenever it began; after the last tick an open one still does."""
    intervals = [(0, 9), (2, 3), (4, -1), (5, 5), (8, 20), (0, 0)]
    how = Sampling(2, decay=2.0, weight_floor=floor, window=window)
    distances = [max(first - time, 0 if last < 0 else time - last, 0) for first, last in intervals]
    weights = [math.exp(-distance / 2) + floor for distance in distances]
    assert_close(frequencies(intervals, time, how), inclusion_probabilities(weights, 2))


@checked
@given(interval_worlds_with_queries(), st.data())
def test_intervals_that_hold_at_the_hidden_time_are_never_seen(
    drawn: tuple[World, list[Query]], data: st.DataObject
) -> None:
    """Seen from any time: a neighbour looks from its own, at which they may hold as well."""
    world, queries = drawn
    facts = with_reciprocals(world.facts, world.num_relations)
    own = data.draw(st.sampled_from(facts))
    then = data.draw(st.sampled_from([t for *_, t in queries]))
    hidden = (*own[:3], then)
    back = (own[2], (own[1] + world.num_relations) % (2 * world.num_relations), own[0])
    left = [f for f in facts if not (holds(f, then) and f[:3] in (own[:3], back))]
    places = [(entity, t) for _, _, t in queries for entity in range(world.num_entities)]
    rows = sample(world.graph, places, Sampling(strategy="whole"), 0, [hidden] * len(places))
    for (entity, time), row in zip(places, rows, strict=True):
        seen = [
            (f[0], f[1], min(max(time, max(f[3], 0)), f[4] if f[4] >= 0 else 10**18) - time)
            for f in left
            if f[2] == entity
        ]
        assert sorted(row) == sorted(seen)
