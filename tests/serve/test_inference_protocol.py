"""The Open Inference Protocol."""

from typing import Any

import pytest

from small_server import Here, problem_of
from targcn.inference.predictor import Predictor
from targcn.runs.run import Run


def column(name: str, *values: str, shape: list[int] | None = None) -> dict[str, Any]:
    return {"name": name, "shape": shape or [len(values)], "datatype": "BYTES", "data": values}


TWO = [column("subject", "plain", ""), column("relation", "r0", "R1"), column("object", "?", "..")]
TWO.append(column("time", "1970-01-09", "1970-01-03"))


def test_health_and_metadata(here: Here) -> None:
    assert here.ask("GET", "/v2/health/live").json == {"live": True}
    assert here.ask("GET", "/v2/health/ready").json == {"live": True, "ready": True}
    assert here.ask("GET", "/v2/models/copy/ready").json == {"name": "copy", "ready": True}
    assert here.ask("GET", "/v2").json["name"] == "targcn"
    model = here.ask("GET", "/v2/models/evidence").json
    assert [one["name"] for one in model["inputs"]] == ["subject", "relation", "object", "time"]
    assert [one["name"] for one in model["outputs"]] == ["answer", "probability", "known"]
    copy = here.ask("GET", "/v2/models/copy").json
    assert [one["name"] for one in copy["outputs"]] == ["answer", "score", "known"]
    problem_of(here.ask("GET", "/v2/models/other"), 404)


def test_infer(here: Here, runs: dict[str, Run]) -> None:
    body = {"id": "7", "inputs": TWO, "parameters": {"top": 3}}
    found = here.ask("POST", "/v2/models/evidence/infer", body).json
    assert (found["model_name"], found["id"]) == ("evidence", "7")
    outputs = {one["name"]: one for one in found["outputs"]}
    questions = [("plain", "r0", None, "1970-01-09"), (None, "r1", "..", "1970-01-03")]
    expected = Predictor(runs["evidence"], device="cpu").predict_many(questions, top=3)
    assert outputs["answer"]["shape"] == [2, 3]
    assert outputs["answer"]["data"] == expected["answer"].to_list()
    assert outputs["probability"]["data"] == pytest.approx(expected["probability"].to_list())
    assert outputs["probability"]["datatype"] == "FP64"


def test_what_other_clients_send(here: Here) -> None:
    """Parameters of other servers change nothing; an id that was not given does not come back."""
    inputs = [one | {"parameters": {"content_type": "str"}} for one in TWO]
    body = {"inputs": inputs, "parameters": {"priority": 2, "top": 1}}
    found = here.ask("POST", "/v2/models/copy/infer", body)
    assert found.status == 200, found.body
    assert found.json.keys() == {"model_name", "outputs"}
    assert found.json["outputs"][0]["shape"] == [2, 1]


def test_rows_are_filled_up(here: Here) -> None:
    parameters = {"top": 9, "hide_known": True}
    body = {"inputs": TWO, "parameters": parameters, "outputs": [{"name": "answer"}]}
    (answers,) = here.ask("POST", "/v2/models/copy/infer", body).json["outputs"]
    rows, width = answers["shape"]
    assert len(answers["data"]) == rows * width
    assert width <= 9


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ([*TWO[:3], column("time", "soon", "1970-01-09")], "question 1: 'soon' is not a date"),
        ([*TWO[:3], column("time", "1970-01-09")], "columns of equal length"),
        ([column("subject", "plain", shape=[2])], "has 1 values and the shape [2]"),
        ([column("planet", "plain")], "there is no other input 'planet'"),
        ([TWO[0], TWO[0]], "there is no other input 'subject'"),
        ([column("subject", "plane"), column("relation", "r0"), column("time", "1970")], "plain"),
    ],
)
def test_wrong_inputs(here: Here, inputs: list[dict[str, Any]], sentence: str) -> None:
    problem = problem_of(here.ask("POST", "/v2/models/copy/infer", {"inputs": inputs}), 422)
    assert sentence in problem["error"]


def test_an_unknown_output(here: Here) -> None:
    body = {"inputs": TWO, "outputs": [{"name": "probability"}]}
    problem = problem_of(here.ask("POST", "/v2/models/copy/infer", body), 422)
    assert "choose from answer, score, known" in problem["detail"]
