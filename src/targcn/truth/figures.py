"""How well probabilities of being true fit: the facts of a split are hidden, and looked for.

A judge learns from the facts of the context alone. Two tasks are measured (docs/truth.md):

- *What is missing*: all that known facts suggest is listed by its probability, and the facts of the
  split should stand at the top.
- *Is it so*: a fact of the split should be more probable than one that was made of it by another
  time, near or far, by another object, or by the best wrong object or subject of a model.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.calibration import Bin, mean_error
from targcn.evaluation.filters import KnownAnswers, known_answers, known_in
from targcn.evaluation.ranking import in_batches, rows_at_once
from targcn.facts.dataset import Context, Dataset, Split
from targcn.facts.holes import Gaps
from targcn.graph.queries import FactColumns
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model
from targcn.output.tables import Column, Table, Value
from targcn.truth.training import PRESUMED
from targcn.truth.truth import MIRROR_SHARE, Judged, Truth, fit_judge
from targcn.truth.wrong import make_wrong

# How many of the most probable facts a precision is of.
COUNTS: Final = (100, 1000, 2000)
SURE: Final = 0.9
# What is less probable does not count for the calibration error: nearly all of it is.
LEAST: Final = 0.1
NUM_BINS: Final = 10
# Facts that are asked about one by one, and the kinds of wrong ones that need no model.
MOST_ASKED: Final = 2000
WRONG: Final = ("near time", "random time", "random object")


@dataclass(frozen=True)
class Found:
    """How well the facts of a split are found."""

    num_hidden: int
    # Of these, how many are suggested at all.
    num_suggested: int
    average_precision: float
    precision_at: Mapping[int, float]
    # Of what is true with .9 or more: the share that is, None if nothing is so sure, and the share
    # of hidden facts it has.
    precision_of_sure: float | None
    recall_of_sure: float
    calibration_error: float
    brier: float
    sum_of_probabilities: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class ToldApart:
    """How well facts of a split are told from wrong ones of a kind, of which there are as many."""

    num_facts: int
    auc: float
    average_precision: float


@dataclass(frozen=True)
class TruthReport:
    """Both tasks on one split, with all facts and with those that repeat no known one."""

    dataset: str
    split: Split
    context: Context
    gaps: Gaps
    presumed: float
    missing_shares: Mapping[str, float]
    seconds: float
    # The model whose best wrong answers tempt, if any.
    model: str | None
    found: Mapping[str, Found]
    told_apart: Mapping[str, ToldApart]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_truth(
    dataset: Dataset,
    split: Split,
    context: Context,
    *,
    gaps: Gaps = "mixed",
    presumed: float = PRESUMED,
    seed: int = 0,
    model: Model | None = None,
    model_name: str | None = None,
) -> TruthReport:
    """The figures of a judge that learns from a context; a model says which answers tempt most."""
    if len(dataset.splits[split]) == 0:
        raise InputError(f"{dataset.name} has no facts in its {split} split; nothing to look for")
    judge = fit_judge(dataset, context, gaps, presumed, seed)
    graph = TemporalGraph.of_context(dataset, context)
    truth = Truth(graph, dataset, judge, presumed)
    hidden = _hidden_facts(dataset, split, graph)
    listed = truth.find_missing(least=0.0)
    is_true = known_in(dataset.splits[split], dataset).hold(listed.facts)
    # What another split holds is neither right nor wrong.
    every = known_in(dataset.facts, dataset)
    counts = is_true | ~every.hold(listed.facts)
    listed, is_true = listed[counts], is_true[counts]
    judged = truth.judge_facts(hidden)
    if dataset.has_intervals:
        listed, is_true = _best_of_each(listed, is_true)
    hard = ~listed.is_mirror
    found = {
        "all": measure_list(listed.probabilities, is_true, len(hidden)),
        "no mirrors": measure_list(
            listed.probabilities[hard], is_true[hard], int((~judged.is_mirror).sum())
        ),
    }
    told = _tell_apart(truth, dataset, every, hidden, judged, seed, model)
    shares = judge.missing_shares(presumed)
    seconds = float(judge.seconds)
    return TruthReport(
        dataset.name, split, context, gaps, presumed, shares, seconds, model_name, found, told
    )


def measure_list(probabilities: Tensor, is_true: Tensor, num_hidden: int) -> Found:
    """How well a list finds what is hidden, of which it may lack some.

    >>> found = measure_list(torch.tensor([0.95, 0.2, 0.8]), torch.tensor([True, True, False]), 2)
    >>> round(found.average_precision, 3), found.precision_of_sure, found.recall_of_sure
    (0.833, 1.0, 0.5)
    """
    order = probabilities.argsort(descending=True, stable=True)
    is_true, probabilities = is_true[order].double(), probabilities[order].double()
    precision = is_true.cumsum(0) / torch.arange(1, len(is_true) + 1)
    total = max(num_hidden, 1)
    sure, counted = probabilities >= SURE, probabilities >= LEAST
    numbers = (probabilities[counted] * NUM_BINS).long().clamp(max=NUM_BINS - 1)
    bins = []
    for number in torch.unique(numbers).tolist():
        said, true = (column[counted][numbers == number] for column in (probabilities, is_true))
        bins.append(Bin(len(said), float(said.mean()), float(true.mean())))
    return Found(
        num_hidden,
        int(is_true.sum()),
        float((precision * is_true).sum() / total),
        {count: float(is_true[:count].mean()) for count in COUNTS if len(is_true) >= count},
        float(is_true[sure].mean()) if sure.any() else None,
        float(is_true[sure].sum() / total),
        mean_error(bins) if bins else 0.0,
        float((probabilities - is_true).square().mean()) if len(is_true) else 0.0,
        float(probabilities.sum()),
        tuple(bins),
    )


def measure_apart(right: Tensor, wrong: Tensor) -> ToldApart:
    """The chance that a right fact is more probable than a wrong one; equal ones count half.

    >>> measure_apart(torch.tensor([0.9, 0.5]), torch.tensor([0.5, 0.1])).auc
    0.875
    """
    in_order = wrong.sort().values
    below = torch.searchsorted(in_order, right)
    level = torch.searchsorted(in_order, right, right=True) - below
    auc = float((below + level / 2).double().mean() / max(len(wrong), 1))
    every = torch.cat([wrong, right])
    is_right = torch.cat([torch.zeros(len(wrong)), torch.ones(len(right))]).bool()
    precision = measure_list(every, is_right, len(right)).average_precision
    return ToldApart(len(right), auc, precision)


def _hidden_facts(dataset: Dataset, split: Split, graph: TemporalGraph) -> FactColumns:
    """The facts of a split that the context does not hold, each once."""
    facts = FactColumns.of(dataset.splits[split])
    if dataset.has_intervals:
        facts = facts[_first_of_each(facts)]
    once = FactColumns(*torch.unique(torch.stack(facts.tensors()), dim=1))
    return once[~KnownAnswers.of(graph, "time-aware").hold(once)]


def _best_of_each(listed: Judged, is_true: Tensor) -> tuple[Judged, Tensor]:
    """Where facts hold over intervals: of each, the time at which it is most probable."""
    order = listed.probabilities.argsort(descending=True, stable=True)
    best = order[_first_of_each(listed.facts[order])]
    return listed[best], is_true[best]


def _first_of_each(facts: FactColumns) -> Tensor:
    """The places of facts that say at some time what none before says at any."""
    says = torch.stack(facts.tensors()[:3])
    distinct, numbers = torch.unique(says, dim=1, return_inverse=True)
    firsts = torch.full((distinct.shape[1],), len(facts))
    return firsts.scatter_reduce_(0, numbers, torch.arange(len(facts)), "amin")


def _tell_apart(
    truth: Truth,
    dataset: Dataset,
    every: KnownAnswers,
    hidden: FactColumns,
    judged: Judged,
    seed: int,
    model: Model | None,
) -> dict[str, ToldApart]:
    """Each kind of wrong fact against the right ones that it was made of."""
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(hidden), generator=generator)[:MOST_ASKED]
    right, probabilities = hidden[chosen], judged.probabilities[chosen]
    wrong = make_wrong(right, truth.graph, truth.ticks, generator)
    made = {kind: wrong[kind] for kind in WRONG}
    if model is not None:
        subjects, relations, objects, times = right.tensors()
        best = _best_wrong(model, truth.graph, right, dataset)
        made["best wrong object"] = FactColumns(subjects, relations, best[0], times)
        made["best wrong subject"] = FactColumns(best[1], relations, objects, times)
    told, all_right, all_wrong = {}, [], []
    for kind, facts in made.items():
        is_wrong = ~every.hold(facts)
        all_right.append(probabilities[is_wrong])
        all_wrong.append(truth.judge_facts(facts[is_wrong]).probabilities)
        told[kind] = measure_apart(all_right[-1], all_wrong[-1])
    return told | {"all": measure_apart(torch.cat(all_right), torch.cat(all_wrong))}


@torch.inference_mode()
def _best_wrong(
    model: Model, graph: TemporalGraph, facts: FactColumns, dataset: Dataset
) -> tuple[Tensor, Tensor]:
    """The best objects and the best subjects of a model that no split knows to be true."""
    known = known_answers(dataset, "cpu")["time-aware"]
    model = model.to("cpu").eval()
    sides = []
    for queries in (facts.ask_objects(), facts.ask_subjects(len(dataset.relations))):

        def best(rows: slice, queries: Any = queries) -> Tensor:
            scores: Tensor = model(queries[rows], graph)
            scores = scores.index_put(known.look_up(queries[rows]), scores.new_tensor(-torch.inf))
            return scores.argmax(1)

        size = min(rows_at_once(graph.num_entities, graph.device), 256)
        sides.append(torch.cat(list(in_batches(best, len(facts), size))))
    return sides[0], sides[1]


def truth_table(report: TruthReport) -> Table:
    """Both tasks: a row for each list, and a row for each kind of wrong fact."""
    rows: list[dict[str, Value]] = []
    for which, found in report.found.items():
        row: dict[str, Value] = {"what": f"missing: {which}", "number": found.num_hidden}
        row |= {"ap": found.average_precision, "error": found.calibration_error}
        row |= {"precision": found.precision_of_sure, "recall": found.recall_of_sure}
        row |= {f"at {count}": share for count, share in found.precision_at.items()}
        rows.append(row | {"brier": found.brier})
    for kind, told in report.told_apart.items():
        by = f" of {report.model}" if kind.startswith("best") else ""
        what = f"is it so: {'all kinds' if kind == 'all' else kind}{by}"
        figures: dict[str, Value] = {"ap": told.average_precision, "auc": told.auc}
        row = {"what": what, "number": told.num_facts}
        rows.append(row | figures)
    columns = (
        Column("what", "what"),
        Column("number", "facts", ","),
        Column("ap", "AP", ".3f"),
        *(Column(f"at {count}", f"P@{count}", ".3f", "–") for count in COUNTS),
        Column("precision", f"precision\nwhere ≥ {SURE}", ".3f", "–"),
        Column("recall", f"recall\nwhere ≥ {SURE}", ".3f", "–"),
        Column("error", f"ECE\nwhere ≥ {LEAST}", ".3f", "–"),
        Column("brier", "Brier", ".5f", "–", shown=False),
        Column("auc", "AUC", ".3f", "–"),
    )
    shares = ", ".join(f"{share:.2g} ({way})" for way, share in report.missing_shares.items())
    notes = (
        f"presumed missing: {shares}, at most {report.presumed:.2g} each; learned in "
        f"{report.seconds:,.0f} s",
        f"no mirrors: without facts whose relation comes with a known one of both entities at that "
        f"time in {MIRROR_SHARE:.0%} of the cases or more",
    )
    title = (
        f"truth on {report.dataset}: the {report.split} split is hidden, context "
        f"{report.context}, gaps {report.gaps}"
    )
    return Table(columns, tuple(rows), title, notes)
