"""What an exported page holds; tests/serve/page looks at it in a browser."""

import base64
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from small_server import NAMES
from targcn.errors import InputError
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.runs.run import Run
from targcn.serve.answering import HowToAnswer
from targcn.serve.export_page import bundle, export_page

HOW = HowToAnswer(top=9, why=True)


def content_of(page: str) -> dict[str, object]:
    [found] = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page)
    content: dict[str, object] = json.loads(found)
    return content


@pytest.fixture(scope="module")
def predictor(runs: dict[str, Run]) -> Predictor:
    return Predictor(runs["evidence"], device="cpu")


def first(predictor: Predictor) -> str:
    return predictor.dataset.timeline.first


def test_page_holds_answers_and_reasons(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    export_page(predictor, Question("plain", "r0", None, first(predictor)), path, HOW)
    content = content_of(path.read_text(encoding="utf-8"))
    asked = predictor.predict("plain", "r0", None, first(predictor), top=9)
    rows = content["answer"]["rows"]  # type: ignore[index]
    assert [row["answer"] for row in rows] == asked["answer"].to_list()
    explained = [one["object"] for one in content["explanations"]]  # type: ignore[attr-defined]
    assert explained == asked["answer"].to_list()


@pytest.mark.parametrize(
    "question", [(None, "r0", "plain"), ("plain", None, "a/b?c#d%20"), ("plain", "r0", "..")]
)
def test_other_places(
    predictor: Predictor, tmp_path: Path, question: tuple[str | None, ...]
) -> None:
    path = tmp_path / "page.html"
    export_page(predictor, Question(*question, first(predictor)), path, HOW)
    content = content_of(path.read_text(encoding="utf-8"))
    assert all(content["explanations"])  # type: ignore[arg-type]


def test_names_are_no_markup(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    evil = "<script>alert(1)</script>"
    assert evil in NAMES
    export_page(predictor, Question(evil, "r0", None, first(predictor)), path, HOW)
    page = path.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    # Only the script of the page may run, and nothing may be loaded.
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert len(scripts) == 1


def test_modules_become_one() -> None:
    text = bundle()
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert "</script" not in text


def test_a_model_without_reasons(runs: dict[str, Run], tmp_path: Path) -> None:
    predictor, path = Predictor(runs["copy"], device="cpu"), tmp_path / "page.html"
    export_page(predictor, Question("plain", "r0", None, first(predictor)), path, HOW)
    content = content_of(path.read_text(encoding="utf-8"))
    assert content["explanations"] == []


def test_what_cannot_be_exported(predictor: Predictor, tmp_path: Path) -> None:
    (tmp_path / "old.html").touch()
    with pytest.raises(InputError, match="exists"):
        export_page(predictor, Question("plain", "r0", None, 5), tmp_path / "old.html", HOW)
