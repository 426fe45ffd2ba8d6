"""The notebooks of the docs run from top to bottom, and hold what they say."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pages import code_cells, read_notebook, run_cell

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


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in DOCS.glob("*.ipynb")} == HOLDS.keys()


@pytest.mark.parametrize("name", HOLDS)
def test_a_notebook_is_kept_without_its_outputs(name: str) -> None:
    content = read_notebook(DOCS / f"{name}.ipynb")
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and not cell["execution_count"] for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDS)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in code_cells(read_notebook(DOCS / f"{name}.ipynb")):
        shown = run_cell(code, names)
        assert len(repr(shown).splitlines()) <= 20
        if isinstance(draw := getattr(shown, "_repr_html_", None), Callable):
            assert "<table" in draw()
    assert HOLDS[name](names)
