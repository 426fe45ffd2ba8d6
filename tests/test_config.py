from dataclasses import dataclass
from typing import Any, Literal

import pytest

from targcn.config import build, require_at_least
from targcn.errors import InputError


@dataclass(frozen=True)
class Knobs:
    size: int = 8
    rate: float = 0.1
    title: str = "plain"
    fast: bool = False
    kind: Literal["wide", "deep"] = "wide"
    level: Literal[1, 2] = 1
    most_steps: int | None = None


def test_what_is_left_out_keeps_its_default() -> None:
    assert build(Knobs, {}, "model") == Knobs()


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        ("size", "12", 12),
        ("size", 12.0, 12),
        ("rate", "1e-3", 0.001),
        ("rate", 2, 2.0),
        ("title", "x", "x"),
        ("fast", "yes", True),
        ("fast", "False", False),
        ("fast", 1, True),
        ("fast", False, False),
        ("kind", "deep", "deep"),
        ("level", 2, 2),
        ("level", "2", 2),
        ("most_steps", "5", 5),
        ("most_steps", "none", None),
        ("most_steps", None, None),
        ("most-steps", 5, 5),
    ],
)
def test_converts(field: str, given: Any, kept: Any) -> None:
    value = getattr(build(Knobs, {field: given}, "model"), field.replace("-", "_"))
    assert (value, type(value)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("field", "given", "message"),
    [
        ("size", "twelve", "model.size is 'twelve'; a whole number was expected"),
        ("size", 1.5, "model.size is 1.5; a whole number was expected"),
        ("size", "1.5", "model.size is '1.5'; a whole number was expected"),
        ("size", True, "model.size is True; a whole number was expected"),
        ("size", None, "model.size is None; a whole number was expected"),
        ("size", float("inf"), "model.size is inf; a whole number was expected"),
        ("rate", [1], r"model.rate is \[1\]; a number was expected"),
        ("rate", "nan", "model.rate is 'nan'; a number was expected"),
        ("rate", "-inf", "model.rate is '-inf'; a number was expected"),
        ("rate", 10**400, "model.rate is 10*; a number was expected"),
        ("rate", "1e-300", r"model.rate is 1e-300; 1e-37 to 1e\+38 was expected"),
        ("title", 3, "model.title is 3; text was expected"),
        ("fast", "maybe", "model.fast is 'maybe'; true or false was expected"),
        ("kind", "tall", "model.kind is 'tall'; choose one of wide, deep"),
        ("level", 3, "model.level is 3; choose one of 1, 2"),
        ("most_steps", "few", "model.most_steps is 'few'; a whole number was expected"),
        ("sizes", 3, "model.sizes is unknown; did you mean 'size'?"),
        ("zzz", 3, "model.zzz is unknown; known are size, rate, title, fast, kind, level, most_"),
    ],
)
def test_refuses_naming_the_field(field: str, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        build(Knobs, {field: given}, "model")


def test_the_first_number_below_the_least_is_named() -> None:
    require_at_least(2, things=2, others=None)
    with pytest.raises(InputError, match=r"^things is 1; at least 2 was expected$"):
        require_at_least(2, others=3, things=1)
    with pytest.raises(InputError, match=r"^others is -1; it cannot be negative$"):
        require_at_least(0, others=-1)


def test_one_of_several_kinds() -> None:
    @dataclass(frozen=True)
    class Choice:
        tick: int | str | None = None

    for given, expected in ((24, 24), ("24", 24), ("hour", "hour"), (None, None)):
        assert build(Choice, {"tick": given}, "read").tick == expected
    with pytest.raises(InputError, match=r"^read.tick is \[\]; text was expected"):
        build(Choice, {"tick": []}, "read")
