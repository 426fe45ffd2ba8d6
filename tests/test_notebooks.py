"""The notebooks of the docs run from top to bottom, and hold what they say."""

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

DOCS: Final = Path(__file__).parents[1] / "docs"
Names = Mapping[str, Any]


def addresses_are_found(names: Names) -> bool:
    """A person's company gives the address away."""
    right = names["answers"]["answer"][0] == names["homes"][names["asked"], 2016]
    return right and names["num_right"] > 0.8 * len(names["missing"])


def the_best_model_is_chosen(names: Names) -> bool:
    differences = names["valid"].differences
    return names["chosen"].startswith("evidence") and not differences["seen"].zero_inside


def only_earlier_facts_are_reasons(names: Names) -> bool:
    explanation, comparison = names["explanation"], names["comparison"]
    facts = [fact for reason in explanation.reasons for fact in reason.facts]
    contexts = {run.report.setting.context for run in comparison.runs}
    return contexts == {explanation.context} == {"past"} and all(
        fact.delta is None or fact.delta < 0 for fact in facts
    )


HOLDS: Final[Mapping[str, Callable[[Names], bool]]] = {
    "own-table": addresses_are_found,
    "comparing-models": the_best_model_is_chosen,
    "forecasting": only_earlier_facts_are_reasons,
}


def code_cells(name: str) -> list[dict[str, Any]]:
    content = json.loads((DOCS / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def run_cells(name: str, names: dict[str, Any]) -> Iterator[object]:
    """Run the code of a notebook; the last expression of each cell is what it shows."""
    for cell in code_cells(name):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            yield eval(compile(ast.Expression(last.value), name, "eval"), names)


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in DOCS.glob("*.ipynb")} == HOLDS.keys()


@pytest.mark.parametrize("name", HOLDS)
def test_a_notebook_is_kept_without_its_outputs(name: str) -> None:
    assert all(cell["outputs"] == [] and not cell["execution_count"] for cell in code_cells(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDS)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for shown in run_cells(name, names):
        assert len(repr(shown).splitlines()) <= 20
        if isinstance(draw := getattr(shown, "_repr_html_", None), Callable):
            assert "<table" in draw()
    assert HOLDS[name](names)
