"""One question with its answers, their reasons and drawings, as one file to send to someone."""

import base64
import json
import re
from dataclasses import asdict
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

import targcn
from targcn.files import atomic_file, require_absent
from targcn.inference.answer_table import explain_answer
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.serve.answering import HowToAnswer, answer

# The modules of the page that the file holds, each after those that it imports.
MODULES: Final = (
    "page/dom.js",
    "page/state.js",
    "page/time.js",
    "page/answers.js",
    "page/reasons.js",
    "snapshot.js",
)
IMPORT: Final = re.compile(r"^import [^;]+;\n", re.MULTILINE)
EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


def export_page(predictor: Predictor, question: Question, path: Path, how: HowToAnswer) -> None:
    """Write the answers to a question into a new HTML file that needs no other.

    Names stand in it as JSON alone, which no browser reads as markup.
    """
    require_absent(path)
    [answered] = answer(predictor, [question], how)
    assert answered.question is not None
    dataset, timeline = predictor.dataset, predictor.dataset.timeline
    ticks = [int(timeline.ticks[0]), int(timeline.ticks[0]) + 1]
    explanations = [
        asdict(explain_answer(predictor, answered.question, row["asked"], row["answer"], top=20))
        for row in answered.rows
        if predictor.gives_reasons
    ]
    content = {
        "run": {
            "model": predictor.model_name,
            "context": predictor.context,
            "num_entities": len(dataset.entities),
            "has_probabilities": predictor.has_probabilities,
            "unit": timeline.unit,
            "last": timeline.last,
            "histogram": {"ticks": ticks, "labels": [timeline.label(tick) for tick in ticks]},
        },
        "answer": asdict(answered),
        "explanations": explanations,
        "made": f"{predictor.model_name} on {dataset.name} ({dataset.summary}); "
        f"targcn {targcn.__version__}",
    }
    title = escape(" — ".join(word or "?" for word in asdict(answered.question).values()))
    script = bundle()
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    rows = "".join(f"<li>{escape(row['answer'])}</li>" for row in answered.rows)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_read('page/style.css')}</style>\n</head>\n<body>\n"
        f"<noscript><h1>{title}</h1><ol>{rows}</ol></noscript>\n"
        f'<script type="application/json" id="content">{data}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )
    with atomic_file(path) as draft:
        draft.write_text(page, encoding="utf-8", newline="\n")


def bundle() -> str:
    """The modules as one: no file of its own can be imported by a page that stands alone."""
    texts = (_read(name) for name in MODULES)
    return "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts)


def _read(name: str) -> str:
    return (files("targcn.serve") / name).read_text(encoding="utf-8")
