from hypothesis import given

from oracle import World, checked, facts_of, with_reciprocals, worlds
from targcn.graph.queries import queries_of


@checked
@given(worlds())
def test_every_fact_is_asked_for_its_object_and_then_for_its_subject(world: World) -> None:
    queries, answers = queries_of(facts_of(world.facts), world.num_relations)
    columns = (queries.subjects, queries.relations, answers, queries.times)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == with_reciprocals(world.facts, world.num_relations)
    assert len(queries) == 2 * len(world.facts)
