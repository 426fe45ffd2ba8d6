"""`targcn export`: the answers to a question as a page to send to someone."""

from pathlib import Path

from targcn.cli.options import Context, Flag, RunFolder, load_folder
from targcn.output.terminal import show


def export_answers(
    run: RunFolder,
    /,
    *,
    question: str,
    out: Path,
    top: int = 10,
    hide_known: Flag = False,
    context: Context = None,
) -> None:
    """Write the answers to a question, their reasons and drawings into one HTML file.

    The file needs nothing else, no server and no network: it can be sent to someone.

    Args:
        question: 'SUBJECT | RELATION | OBJECT | TIME', with ? for what is asked.
        out: The new file, page.html for example.
        top: How many answers.
        hide_known: Leave out answers that are known at that time already.
    """
    from targcn.files import require_absent
    from targcn.inference.predictor import Predictor
    from targcn.serve.answering import HowToAnswer
    from targcn.serve.export_page import export_page, parse_question

    require_absent(out)
    asked = parse_question(question)
    predictor = Predictor(load_folder(run), context, "cpu")
    export_page(predictor, asked, out, HowToAnswer(top, hide_known, why=True))
    show(f"wrote {out}")
