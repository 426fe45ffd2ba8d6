"""Is it so? Verdicts in sentences, and what speaks for them."""

import pytest

from oracle import World
from small_judges import columns_of, visits, with_untaught
from targcn.errors import InputError
from targcn.inference.predictor import Predictor
from targcn.inference.verdict import Sign, Verdict, find_signs
from targcn.training.fit import fit

FACTS = visits(60, 12, 9)
WORLD = World(12, 2, FACTS, cuts=(100, 110))
FOR, AGAINST = Sign("it rains", 14.32), Sign("it shines", 0.0123)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor(with_untaught(fit(WORLD.dataset, "seen")), device="cpu")


@pytest.mark.parametrize(
    ("probability", "is_known", "sentence"),
    [
        (0.83, False, "Probably true: .83; it rains"),
        (0.9999, False, "Probably true: over .999; it rains"),
        (0.2, False, "Probably not: .2; it shines"),
        (0.0, False, "Probably not: under .001; it shines"),
        (0.2, True, "Known to be true; if it were hidden, it would be true with .2; it shines"),
    ],
)
def test_a_verdict_is_a_sentence(probability: float, is_known: bool, sentence: str) -> None:
    assert str(Verdict(probability, is_known, {}, (AGAINST, FOR))) == sentence
    alone = str(Verdict(probability, is_known, {}, ()))
    assert alone == sentence.rpartition(";")[0]
    assert [str(sign) for sign in (FOR, AGAINST)] == ["it rains (× 14.3)", "it shines (× 0.0123)"]


def words(fact: tuple[int, ...]) -> tuple[str, str, str, str]:
    subject, relation, object_, time = fact
    return f"e{subject}", f"r{relation}", f"e{object_}", WORLD.dataset.timeline.label(time)


def test_a_fact_is_judged_by_its_names(predictor: Predictor) -> None:
    # Also one of test is known.
    for fact, is_known in ((FACTS[0], True), (FACTS[-1], True), ((0, 0, 0, 3), False)):
        verdict = predictor.judge(*words(fact))
        assert verdict.is_known == is_known
        judged = predictor.truth.judge_facts(columns_of([fact]), hidden=is_known)
        assert verdict.probability == pytest.approx(float(judged.probabilities[0]))
        assert verdict.presumed == {"facts": pytest.approx(0.1), "blocks": pytest.approx(0.1)}


def test_signs_are_the_strongest_first_and_weak_ones_are_left_out(predictor: Predictor) -> None:
    for fact in FACTS[:5]:
        signs = find_signs(predictor.truth, predictor.dataset, fact)
        strengths = [max(sign.factor, 1 / sign.factor) for sign in signs]
        assert strengths == sorted(strengths, reverse=True)
        assert all(strength >= 1.2 for strength in strengths)
        assert predictor.judge(*words(fact)).signs == signs[:6]


def test_signs_say_what_the_known_facts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targcn.inference.verdict.LEAST_FACTOR", 0)
    facts = [(0, 0, 1, 1), (0, 0, 1, 4), (1, 1, 0, 2), (0, 0, 2, 2), (0, 1, 1, 2), (3, 0, 1, 9)]
    world = World(6, 2, facts, cuts=(6, 6))
    predictor = Predictor(with_untaught(fit(world.dataset, "seen")), device="cpu")
    signs = {sign.text for sign in find_signs(predictor.truth, predictor.dataset, (0, 0, 1, 2))}
    assert {
        "this fact: last 1970-01-02, next 1970-01-05",
        "e1 — r0 — e0: never",
        "e0 — r0 — anything: 1 at that time, last 1970-01-02, next 1970-01-05",
        "anything — r0 — e1: last 1970-01-02, next 1970-01-05",
        "e0 with e1: 1 at that time, last 1970-01-02, next 1970-01-05",
        "e1 with e0: 1 at that time, never else",
        "e0 has 2 objects under r0",
        "e1 has 2 subjects under r0",
        "no known fact leads to it",
        "no two known facts lead to it",
    } <= signs
    [beside] = [sign for sign in signs if "with which it comes" in sign]
    assert beside.endswith(" at that time, with which it comes in 0% of the cases")
    alone = {sign.text for sign in find_signs(predictor.truth, predictor.dataset, (5, 1, 4, 2))}
    assert {"e5, in any fact: never", "e5 has 0 objects under r1"} <= alone
    assert "e5 and e4 have no other relation then" in alone


def test_answers_are_judged_too(predictor: Predictor) -> None:
    subject, relation, object_, time = words(FACTS[0])
    whole = predictor.predict(subject, relation, object_, time)
    assert whole["true"].to_list() == [1.0, 1.0]
    for open_place in range(4):
        asked = [
            None if place == open_place else part
            for place, part in enumerate((subject, relation, object_, time))
        ]
        rows = predictor.predict(*asked, top=99).to_dicts()
        assert {row["true"] for row in rows if row["known"] == "then"} == {1.0}
        for row in rows[:20]:
            fact = [row["answer"] if part is None else part for part in asked]
            if row["known"] != "then":
                assert row["true"] == pytest.approx(predictor.judge(*fact).probability)


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (("e99", "r0", "e1", 3), "entity 'e99' is not in this graph"),
        (("e0", "r9", "e1", 3), "relation 'r9' is not in this graph"),
        (("e0", "?", "e1", 3), "leave no place of it open"),
        (("e0", "r0", "e1", "soon"), "'soon' is not a date"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    predictor: Predictor, fact: tuple[str, str, str, str], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        predictor.judge(*fact)
