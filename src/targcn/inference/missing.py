"""The most probable facts that are not known, over the whole graph (truth/)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from targcn.config import require_at_least, require_choice, require_share
from targcn.evaluation.filters import known_answers
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context, Dataset
from targcn.facts.holes import GAPS, Gaps
from targcn.facts.open import open_dataset
from targcn.graph.queries import FactColumns
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.ask import predictor_of
from targcn.inference.predictor import Predictor
from targcn.inference.questions import PLACES, QuestionIds, Time, name_finders
from targcn.inference.verdict import find_signs
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress
from targcn.runs.judge import learn_judge
from targcn.runs.run import Run
from targcn.runs.store import is_run
from targcn.truth.training import PRESUMED
from targcn.truth.truth import LEAST_PROBABILITY, Judged, Truth

if TYPE_CHECKING:
    import polars as pl


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
) -> "pl.DataFrame":
    """The facts that are probably true and not known, by a run, or by a data set alone.

    `probability` is that of being true, on average over the times from `time` to `until`, which
    are next to each other in the data. A run that keeps a judge uses it; else, and where `gaps` are
    given, one learns in some seconds from facts that it hides: single ones, whole blocks, or both.
    `presume` is the share of all facts that is presumed missing at most, in each of these ways.
    `p_object` is the probability of the object as the answer to the rest, if there is one, and
    `p_subject` that of the subject; both are the run's.

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
) -> tuple["pl.DataFrame", Truth]:
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
        judge = learn_judge(dataset, context, gaps or "mixed", wanted.presume)
        truth = Truth(TemporalGraph.of_context(dataset, context), dataset, judge, wanted.presume)
    return list_missing(truth, dataset, wanted, predictor, progress), truth


def list_missing(
    truth: Truth,
    dataset: Dataset,
    wanted: MissingFilter,
    predictor: Predictor | None = None,
    progress: Progress | None = None,
) -> "pl.DataFrame":
    """The most probable facts in words; a predictor says what its model makes of both ends."""
    ids = wanted.ids(dataset)
    with count_progress("judging", "facts", progress) as shown:
        judged = truth.find_missing(**ids, least=wanted.at_least, progress=shown)
    # What some split holds is known, also where the context does not hold it.
    judged = judged[~known_answers(dataset, "cpu")["time-aware"].hold(judged.facts)]
    if not wanted.with_mirrors:
        judged = judged[~judged.is_mirror]
    found = _merge_times(judged, truth.ticks, wanted.top)
    frame = _in_words(found, truth, dataset)
    return frame if predictor is None else _with_ends(frame, found.facts, predictor)


@dataclass(frozen=True, eq=False)
class MissingFacts:
    """Facts that are probably true, one per row, the most probable first."""

    # At the first of its times; the last, and how many there are.
    facts: FactColumns
    lasts: Tensor
    counts: Tensor
    # The mean over its times.
    probabilities: Tensor


def _merge_times(judged: Judged, ticks: Tensor, top: int) -> MissingFacts:
    """Join what differs in neighbouring times alone; facts are in the order of what they say."""
    facts, probabilities = judged.facts, judged.probabilities
    positions = torch.searchsorted(ticks, facts.times)
    is_new = torch.ones(len(facts), dtype=torch.bool)
    same = [column[1:] == column[:-1] for column in facts.tensors()[:3]]
    is_new[1:] = ~(torch.stack(same).all(0) & (positions[1:] == positions[:-1] + 1))
    groups = is_new.cumsum(0) - 1
    counts = torch.bincount(groups)
    sums = torch.zeros(len(counts), dtype=torch.float64).index_add_(0, groups, probabilities)
    means = sums / counts.clamp(min=1)
    order = means.argsort(descending=True, stable=True)[:top]
    firsts = is_new.nonzero().flatten()
    lasts = firsts + counts - 1
    return MissingFacts(
        facts[firsts[order]], facts.times[lasts[order]], counts[order], means[order]
    )


def _in_words(found: MissingFacts, truth: Truth, dataset: Dataset) -> "pl.DataFrame":
    """The facts in words, each with the strongest sign that it is true."""
    import polars as pl

    rows = []
    for number, ids in enumerate(zip(*(c.tolist() for c in found.facts.tensors()), strict=True)):
        named = zip(name_finders(dataset).values(), ids, strict=True)
        words = [name_of(id) for name_of, id in named]
        until = dataset.timeline.label(int(found.lasts[number]))
        signs = (str(sign) for sign in find_signs(truth, dataset, ids) if sign.factor > 1)
        figures = int(found.counts[number]), float(found.probabilities[number])
        rows.append((*words, until, *figures, next(signs, None)))
    schema = dict.fromkeys((*PLACES, "until"), pl.String) | {
        "times": pl.Int64,
        "probability": pl.Float64,
        "sign": pl.String,
    }
    return pl.DataFrame(rows, schema, orient="row").with_row_index("rank", offset=1)


def _with_ends(frame: "pl.DataFrame", facts: FactColumns, predictor: Predictor) -> "pl.DataFrame":
    """The facts with the probabilities of both ends as answers, if the model has any."""
    import polars as pl

    ends = dict.fromkeys(("p_object", "p_subject"), [None] * len(facts))
    if predictor.has_probabilities and len(facts):
        asked = QuestionIds({"fact": torch.arange(len(facts))}, {"fact": facts})
        answers = predictor.answer(asked, top=1)
        for name in ends:
            place = answers.places == PLACES.index(name.removeprefix("p_"))
            ends[name] = answers.probabilities[place].tolist()
    columns = [pl.Series(name, values, pl.Float64) for name, values in ends.items()]
    return frame.with_columns(columns)


def missing_table(frame: "pl.DataFrame", truth: Truth, title: str, at_least: float) -> Table:
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
