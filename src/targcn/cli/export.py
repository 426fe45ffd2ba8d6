"""`targcn export`: a question as a page, or embeddings and predictions for other programs."""

from pathlib import Path
from typing import Literal

from targcn.cli.options import Context, Device, Flag, RunFolder, Split, load_folder
from targcn.errors import InputError
from targcn.output.terminal import show


def export_from_run(
    run: RunFolder,
    /,
    *,
    out: Path,
    to: Literal["page", "csv", "npz", "pykeen"] = "page",
    question: str | None = None,
    top: int = 10,
    hide_known: Flag = False,
    split: Split = "test",
    context: Context = None,
    device: Device = "auto",
) -> None:
    """Write the answers to a question as a page, or embeddings and predictions as files.

    page: the answers to --question, their reasons and drawings in one HTML file, which needs no
    server and no network: it can be sent to someone.

    csv, npz: the vectors of entities, relations and times, if the model has such, and the best
    answers to every query of --split. pykeen: the vectors and the ids that they belong to
    (docs/python.md).

    Args:
        out: The new file (page.html, run.npz) or folder (csv, pykeen).
        to: What to write.
        question: 'SUBJECT | RELATION | OBJECT | TIME', with ? for what is asked; for a page.
        top: How many answers.
        hide_known: Leave out answers that are known at that time already; for a page.
    """
    from targcn.files import require_absent

    if (to == "page") != (question is not None):
        raise InputError("--question is what a page answers; give both, or --to csv, npz or pykeen")
    require_absent(out)
    if question is None:
        from targcn.inference.export import export_run

        assert to != "page"
        options = {"split": split, "context": context, "top": top, "device": device}
        export_run(load_folder(run), out, to, **options)  # type: ignore[arg-type]
    else:
        from targcn.inference.predictor import Predictor
        from targcn.serve.answering import HowToAnswer
        from targcn.serve.export_page import export_page, parse_question

        asked = parse_question(question)
        predictor = Predictor(load_folder(run), context, "cpu")
        export_page(predictor, asked, out, HowToAnswer(top, hide_known, why=True))
    show(f"wrote {out}")
