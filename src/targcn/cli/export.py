"""`targcn export`: a question as a page, or embeddings and predictions for other programs."""

from pathlib import Path
from typing import Annotated, Literal

from targcn.cli import options
from targcn.cli.options import checked, load_folder, load_predictor
from targcn.errors import InputError
from targcn.files import require_absent
from targcn.output.terminal import show


def export_from_run(
    run: options.RunFolder,
    /,
    *,
    out: Annotated[Path, checked(require_absent)],
    to: Literal["page", "csv", "pykeen"] = "page",
    question: str | None = None,
    top: int = 10,
    hide_known: bool = False,
    split: options.Split = "test",
    context: options.Context = None,
    device: options.Device = "auto",
) -> None:
    """Write the answers to a question as a page, or embeddings and predictions as files.

    page: the answers to --question, their reasons and drawings in one HTML file, which needs no
    server and no network: it can be sent to someone.

    csv: the vectors of entities, relations and times, if the model has such, and the best
    answers to every query of --split. pykeen: the vectors and the ids that they belong to
    (docs/python.md).

    Args:
        out: The new file (page.html) or folder (csv, pykeen).
        to: What to write.
        question: 'SUBJECT | RELATION | OBJECT | TIME', with ? for what is asked; for a page.
        top: How many answers.
        hide_known: Leave out answers that are known at that time already; for a page.
    """
    if (to == "page") != (question is not None):
        raise InputError("--question is what a page answers; give both, or --to csv or pykeen")
    if question is None:
        from targcn.inference.export import export_run

        assert to != "page"
        chosen = {"split": split, "context": context, "top": top, "device": device}
        export_run(load_folder(run), out, to, **chosen)  # type: ignore[arg-type]
    else:
        from targcn.inference.questions import Question
        from targcn.inference.what_if import parse_fact
        from targcn.serve.answering import HowToAnswer
        from targcn.serve.export_page import export_page

        asked = Question(*parse_fact(question)[:4])
        how = HowToAnswer(top, hide_known, why=True)
        export_page(load_predictor(run, context), asked, out, how)
    show(f"wrote {out}")
