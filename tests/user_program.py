"""What a user writes, with every public name of targcn: scripts/check_types.py has it checked."""

from pathlib import Path

import polars as pl

import targcn


def figures(report: targcn.Report) -> str:
    mrr = report.metrics["time-aware"]["both"]["mrr"]
    low, high = report.mrr_interval["static"]["both"]
    return f"{report.setting.context}: {mrr:.3f}, static {low:.3f} to {high:.3f}"


def compare_models(dataset: targcn.Dataset, out: Path) -> targcn.Comparison:
    runs = {name: targcn.fit(dataset, name, dim=8, epochs=1) for name in ("distmult", "tcomplex")}
    for name, run in runs.items():
        targcn.save_run(run, out / name)
    found = targcn.compare([out / name for name in runs], filter="static", ties="mean")
    best: targcn.Run = targcn.load_run(out / found.ranked[0].name)
    print(figures(targcn.evaluate(best, split="valid", context="train")))
    print(figures(targcn.evaluate(targcn.fuse(runs))))
    return found


def learn(dataset: targcn.Dataset, out: Path) -> targcn.Run:
    if out.exists():
        return targcn.resume(out)
    run = targcn.fit(dataset, out=out, epochs=1, progress=lambda now: print(now.figures))
    rules: tuple[targcn.Rule, ...] = targcn.rules(run, top=3)
    print([rule.weight for rule in rules])
    return run


def ask(run: targcn.Run) -> list[str]:
    answers = targcn.predict(run, "Ted Kennedy", "serves beside", None, 2009, top=3)
    likely = answers.filter(pl.col("probability") > 0.01)
    questions = [targcn.Question("Ted Kennedy", "serves beside", None, 2009)]
    every = targcn.predict_many(run, questions, on_error="skip")
    reasons: targcn.Explanation = targcn.explain(
        run, "Ted Kennedy", "serves beside", "John Kerry", 2009
    )
    predictor = targcn.Predictor(run, context="all", device="cpu")
    graph: targcn.TemporalGraph = predictor.graph
    gaps = targcn.missing(run, time=2009, top=3, at_least=0.5)
    print(gaps["probability"].to_list(), targcn.missing("congress", gaps="facts").height)
    verdict = predictor.judge("Ted Kennedy", "serves beside", "John Kerry", 2009)
    print(verdict, verdict.probability, [sign.factor for sign in verdict.signs])
    print(every.height, reasons.rank, predictor.device, predictor.model_name, len(graph))
    try:
        predictor.predict("Ted Kenedy", "serves beside", None, 2009)
    except targcn.InputError as error:
        print(error, error.suggestions)
    return likely["answer"].to_list()


def main(out: Path) -> None:
    options = targcn.ReadOptions(where="time >= 2009")
    dataset = targcn.open_dataset("congress", options, split_seed=1)
    train: targcn.Facts = dataset.splits["train"]
    subject, relation, object, time = dataset.named("train", 0)
    print(len(train), subject, relation, object, time, dataset.entities[:2])
    print(compare_models(dataset, out).differences["distmult"].zero_inside)
    print(ask(learn(dataset, out / "evidence")))


if __name__ == "__main__":
    main(Path("runs"))
