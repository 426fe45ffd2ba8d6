"""The most probable facts that are not known, over the whole graph (truth/)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl
import torch
from torch import Tensor

from targcn.config import require_at_least, require_choice, require_share
from targcn.evaluation.filters import known_in
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context, Dataset
from targcn.facts.holes import GAPS, Gaps
from targcn.facts.open import open_dataset
from targcn.graph.queries import FactColumns
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.ask import predictor_of
from targcn.inference.predictor import Predictor
from targcn.inference.questions import PLACES, Ids, QuestionIds, Time, name_finders
from targcn.inference.verdict import find_signs
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import is_run
from targcn.truth.training import PRESUMED
from targcn.truth.truth import LEAST_PROBABILITY, Judged, Truth, fit_judge


@dataclass(frozen=True)
class MissingFilter:
    """Which missing facts are wanted: of one time, relation or entity, and the most probable."""

    time: Time | None = None
    relation: str | None = None
    entity: str | None = None
    top: int = 100
    at_least: float = LEAST_PROBABILITY
    # The share of all facts that is presumed missing at most, in each way.
    presume: float = PRESUMED
    # Whether facts are listed that repeat a known one under another relation.
    with_mirrors: bool = True

    def __post_init__(self) -> None:
        require_share(at_least=self.at_least, presume=self.presume)
        require_at_least(1, top=self.top)

    def ids(self, dataset: Dataset) -> dict[str, int | None]:
        """The time, relation and entity as numbers; what the data set does not have is refused."""
        return {
            "time": None if self.time is None else dataset.timeline.tick(self.time),
            "relation": None if self.relation is None else dataset.relations.find(self.relation),
            "entity": None if self.entity is None else dataset.entities.find(self.entity),
        }


def missing(
    source: object,
    *,
    time: Time | None = None,
    relation: str | None = None,
    entity: str | None = None,
    top: int = 100,
    at_least: float = LEAST_PROBABILITY,
    presume: float = PRESUMED,
    with_mirrors: bool = True,
    gaps: Gaps | None = None,
    context: Context | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The facts that are probably true and not known, by a run, or by a data set alone.

    `probability` is that of being true, on average over the times from `time` to `until`, which
    are next to each other in the data. A run that keeps a judge uses it; else, and where `gaps` are
    given, one learns in some seconds from facts that it hides: single ones, whole blocks, or both.
    `presume` is the share of all facts that is presumed missing at most, in each of these ways.
    `held_out` names the split that holds a fact which the context does not: so a smaller context
    shows what the probabilities are worth. `p_object` is the probability of the object as the
    answer to the rest, if there is one, and `p_subject` that of the subject; both are the run's.

    >>> import polars as pl
    >>> import targcn
    >>> pairs = [("Ann", "Bob"), ("Cy", "Di"), ("Ed", "Flo")]
    >>> facts = [(a, "is married to", b, year) for a, b in pairs for year in range(2000, 2012)]
    >>> facts.remove(("Cy", "is married to", "Di", 2004))
    >>> frame = pl.DataFrame(facts, ["subject", "relation", "object", "time"], orient="row")
    >>> targcn.missing(frame, gaps="facts").rows()[0][1:5]
    ('Cy', 'is married to', 'Di', '2004')
    """
    wanted = MissingFilter(time, relation, entity, top, at_least, presume, with_mirrors)
    if isinstance(source, Predictor | Run) or is_run(source):
        source = predictor_of(source, context)  # type: ignore[arg-type]
    elif not isinstance(source, Dataset):
        source = open_dataset(source)
    return find_missing(source, wanted, gaps, context, progress)[0]


def find_missing(
    source: Predictor | Dataset,
    wanted: MissingFilter,
    gaps: Gaps | None = None,
    context: Context | None = None,
    progress: Progress | None = None,
) -> tuple[pl.DataFrame, Truth]:
    """The missing facts in words, by a run or by data alone, and what judged them.

    What is wanted is refused, if it has to be, before anything is learned.
    """
    if gaps is not None:
        require_choice(GAPS, gaps=gaps)
    predictor = source if isinstance(source, Predictor) else None
    dataset = source.dataset if isinstance(source, Predictor) else source
    wanted.ids(dataset)
    if predictor is not None:
        truth = predictor.truth_presuming(wanted.presume, gaps)
    else:
        context = context or "all"
        judge = fit_judge(dataset, context, gaps or "mixed", max(wanted.presume, PRESUMED))
        truth = Truth(TemporalGraph.of_context(dataset, context), dataset, judge, wanted.presume)
    return list_missing(truth, dataset, wanted, predictor, progress), truth


def list_missing(
    truth: Truth,
    dataset: Dataset,
    wanted: MissingFilter,
    predictor: Predictor | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The most probable facts in words; a predictor says what its model makes of both ends."""
    ids = wanted.ids(dataset)
    with count_progress("judging", "facts", progress) as shown:
        judged = truth.find_missing(**ids, least=wanted.at_least, progress=shown)
    if not wanted.with_mirrors:
        judged = judged[~judged.is_mirror]
    found = _merge_times(judged, _splits_that_hold(judged.facts, dataset), truth.ticks, wanted.top)
    facts = list(found.select(PLACES).iter_rows())
    names = name_finders(dataset) | {"until": dataset.timeline.label}
    words: dict[str, Iterable[str | None]]
    words = {name: map(names[name], found[name]) for name in (*PLACES, "until")}
    words["sign"] = (_speaks_for(truth, dataset, ids) for ids in facts)
    frame = found.with_columns(pl.Series(name, said, pl.String) for name, said in words.items())
    if predictor is not None:
        frame = frame.with_columns(_probabilities_of_ends(facts, predictor))
    return frame.with_row_index("rank", offset=1)


def _splits_that_hold(facts: FactColumns, dataset: Dataset) -> list[str | None]:
    """The split that holds each fact which a context does not hold; None if none does."""
    splits: list[str | None] = [None] * len(facts)
    for split, held in dataset.splits.items():
        for place in known_in(held, dataset).hold(facts).nonzero().flatten().tolist():
            splits[place] = split
    return splits


def _merge_times(
    judged: Judged, splits: Sequence[str | None], ticks: Tensor, top: int
) -> pl.DataFrame:
    """The most probable facts as ids, in a row what differs in neighbouring times alone.

    The judged facts are in the order of what they say, then of time.
    """
    # In neighbouring rows and at neighbouring times the difference of both is the same.
    run = torch.searchsorted(ticks, judged.facts.times) - torch.arange(len(judged))
    columns = *judged.facts.tensors(), run, judged.probabilities
    frame = pl.DataFrame([c.numpy() for c in columns], [*PLACES, "run", "p"])
    frame = frame.with_columns(pl.Series("held_out", splits, pl.String))
    runs = frame.group_by("subject", "relation", "object", "run", "held_out", maintain_order=True)
    merged = runs.agg(
        pl.col("time").first(),
        until=pl.col("time").last(),
        times=pl.len().cast(pl.Int64),
        probability=pl.col("p").mean(),
    )
    best = merged.sort("probability", descending=True, maintain_order=True).head(top)
    return best.select(*PLACES, "until", "times", "probability", "held_out")


def _speaks_for(truth: Truth, dataset: Dataset, ids: Ids) -> str | None:
    """The strongest sign that a fact is true."""
    signs = (str(sign) for sign in find_signs(truth, dataset, ids) if sign.factor > 1)
    return next(signs, None)


def _probabilities_of_ends(facts: Sequence[Ids], predictor: Predictor) -> list[pl.Series]:
    """The probabilities of both ends as answers, if the model has any."""
    ends = dict.fromkeys(("p_object", "p_subject"), [None] * len(facts))
    if predictor.has_probabilities and facts:
        columns = FactColumns(*torch.tensor(facts).T)
        asked = QuestionIds({"fact": torch.arange(len(facts))}, {"fact": columns})
        answers = predictor.answer(asked, top=1)
        for name in ends:
            place = answers.places == PLACES.index(name.removeprefix("p_"))
            ends[name] = answers.probabilities[place].tolist()
    return [pl.Series(name, values, pl.Float64) for name, values in ends.items()]


def missing_table(frame: pl.DataFrame, truth: Truth, title: str, at_least: float) -> Table:
    """The facts for people."""
    several = bool((frame["times"] > 1).any())
    ends = [name for name in ("p_object", "p_subject") if name in frame.columns]
    columns = (
        Column("rank", "rank"),
        *(Column(name, name) for name in PLACES),
        Column("until", "until", shown=several),
        Column("times", "times", shown=False),
        Column("probability", "true with", ".4f"),
        *(Column(name, f"p({name[2]} | …)", ".4f") for name in ends),
        Column("held_out", "held out in", shown=bool(frame["held_out"].is_not_null().any())),
        Column("sign", "what speaks for it"),
    )
    notes = [f"true with: {describe_presumed(truth)}"]
    if ends:
        notes.append("p(o | …), p(s | …): the model's probability among all, if there is one")
    if frame.is_empty():
        notes.append(f"no fact that is not known is true with {at_least:g} or more")
    return Table(columns, tuple(frame.to_dicts()), title, tuple(notes))


def describe_presumed(truth: Truth) -> str:
    """What the probabilities presume, in words."""
    names = {"facts": "as single facts", "blocks": "as whole records, ticks or ends"}
    shares = truth.judge.missing_shares(truth.presumed)
    listed = " and ".join(f"{share:.2g} {names[way]}" for way, share in shares.items())
    return (
        "the probability of being true, if these shares of all facts are missing: "
        f"{listed} (at most {truth.presumed:.2g} each; less where the data leave no room for it)"
    )
