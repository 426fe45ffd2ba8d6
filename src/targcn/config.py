"""Build settings, which are frozen dataclasses, from text or numbers and check every field.

Flags of the command line, run folders and TOML files all come through here. It is plain Python,
so that a machine with only torch and numpy can read a run.
"""

import math
import types
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from targcn.errors import InputError

Settings = TypeVar("Settings")
# What messages call the kinds of values.
NAMES: Final[dict[Any, str]] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple: "a list",
    Mapping: "a table",
}
# How people write true and false.
BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def build(cls: type[Settings], values: Mapping[str, Any], where: str) -> Settings:
    """Build settings of type `cls`; an error names the path of the wrong field.

    >>> from targcn.models.floors import DecayedCopySettings
    >>> build(DecayedCopySettings, {"scale": "7"}, "decayed-copy").scale
    7.0
    >>> build(DecayedCopySettings, {"scal": "7"}, "decayed-copy")
    Traceback (most recent call last):
    targcn.errors.InputError: decayed-copy.scal is unknown; did you mean 'scale'?
    """
    kinds = get_type_hints(cls)
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    checked = {}
    for written, value in values.items():
        name = written.replace("-", "_")
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {', '.join(known)}"
            raise InputError(f"{where}.{written} is unknown; {hint}")
        checked[name] = _convert(value, kinds[name], f"{where}.{written}")
    return cls(**checked)


def require_libraries(what: str, extra: str, *libraries: str) -> None:
    """Refuse what an extra of the package is needed for, if it is not installed."""
    for library in libraries:
        if find_spec(library) is None:
            raise InputError(f"{what} needs {library}: pip install 'targcn[{extra}]'")


def require_choice(choices: Collection[str], **given: str) -> None:
    """Refuse what is not among the choices, naming the first."""
    for name, value in given.items():
        if value not in choices:
            raise InputError(f"{name} {value!r} is unknown; choose one of {', '.join(choices)}")


def require_least(settings: object, **least: int) -> None:
    """Refuse a setting below its least value; None passes."""
    for name, low in least.items():
        require_at_least(low, **{name: getattr(settings, name)})


def require_at_least(low: int, **numbers: float | None) -> None:
    """Refuse a number below the least, naming the first; None passes."""
    for name, number in numbers.items():
        if number is not None and not number >= low:
            expected = f"at least {low} was expected" if low else "it cannot be negative"
            raise InputError(f"{name} is {number}; {expected}")


def require_share(**numbers: float) -> None:
    """Refuse arguments that are not between 0 and 1."""
    for name, number in numbers.items():
        if not 0 < number < 1:
            raise InputError(f"{name} is {number}; a share between 0 and 1 was expected")


def require_positive(settings: object, name: str) -> None:
    """Refuse a setting that is 0 or negative."""
    if not getattr(settings, name) > 0:
        raise InputError(f"{name} is {getattr(settings, name)}; it must be above 0")


def _convert(value: Any, kind: Any, path: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if value is None or value == "none":
            return None
        *others, last = (choice for choice in get_args(kind) if choice is not type(None))
        for choice in others:
            with suppress(InputError):
                return _convert(value, choice, path)
        return _convert(value, last, path)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_convert(part, get_args(kind)[0], path) for part in value)
    if origin is Mapping and isinstance(value, Mapping):
        return value
    if origin is Literal:
        for choice in get_args(kind):
            if str(value) == str(choice):
                return choice
        raise InputError(
            f"{path} is {value!r}; choose one of {', '.join(map(str, get_args(kind)))}"
        )
    if kind is bool and str(value).lower() in BOOLEANS:
        return BOOLEANS[str(value).lower()]
    if kind in (int, float) and not isinstance(value, bool):
        try:
            if not math.isfinite(float(value)):
                raise ValueError
            if kind is int and isinstance(value, float) and value != int(value):
                raise ValueError
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            pass
        else:
            # Larger and smaller numbers do not fit into the 32 bits of a tensor.
            least, most = (1, 2**31 - 1) if kind is int else (1e-37, 1e38)
            if number and not least <= abs(number) <= most:
                raise InputError(f"{path} is {value}; {least} to {most} was expected")
            return number
    if kind is str and isinstance(value, str):
        return value
    raise InputError(f"{path} is {value!r}; {NAMES.get(origin or kind, kind)} was expected")
