"""Drawn entities against what is to be expected of them."""

import torch

from oracle import World
from targcn.models.layers.candidates import draw_entities

WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)])
EMPTY = World(4, 1, [])


def test_every_draw_stands_for_as_many_as_it_was_rare() -> None:
    for world, count in ((WORLD, 9), (WORLD, 1), (EMPTY, 6)):
        weights, counts = torch.zeros(world.num_entities), torch.zeros(world.num_entities)
        expected = torch.zeros(world.num_entities)
        for seed in range(2000):
            drawn = draw_entities(world.graph, count, torch.tensor([seed]))
            weights.index_add_(0, drawn.entities, (-drawn.log_expected).exp())
            counts.index_add_(0, drawn.entities, torch.ones(count))
            expected[drawn.entities] = drawn.log_expected.exp()
        is_drawn = counts > 0
        torch.testing.assert_close(counts[is_drawn] / 2000, expected[is_drawn], rtol=0.2, atol=0.05)
        # Each entity counts once on average, so that a sum over all is right on average.
        assert is_drawn.sum() >= world.num_entities - (count == 1)
        assert (weights[is_drawn] / 2000 - 1).abs().max() < 0.3


def test_the_draw_is_that_of_the_step_whatever_the_rows() -> None:
    one = draw_entities(WORLD.graph, 5, torch.tensor([3, 3]))
    other = draw_entities(WORLD.graph, 5, torch.tensor([3]))
    assert torch.equal(one.entities, other.entities)
    assert torch.equal(one[:1].entities, one.entities)
    assert not torch.equal(draw_entities(WORLD.graph, 5, torch.tensor([4])).entities, one.entities)
