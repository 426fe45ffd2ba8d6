"""Convert names to ids and back.

Ids are positions among the sorted names, so that the same facts get the same ids from any file.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import overload

from targcn.errors import InputError


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort by code point, or by value if every name is a whole number."""
    names = list(names)
    if all(name.isascii() and name.isdigit() for name in names):
        # By length, then by digits, which is the order of the values: int() refuses long ones.
        return sorted(names, key=lambda name: (len(name.lstrip("0")), name.lstrip("0"), name))
    return sorted(names)


def tidy_name(name: str) -> str:
    """A name without blanks around it, in the Unicode form NFC: as tables of facts are read."""
    return unicodedata.normalize("NFC", name.strip())


class Vocabulary(Sequence[str]):
    """The names of one kind (entities or relations), in the order of their ids; immutable.

    >>> relations = Vocabulary("relation", ["meets", "visits"])
    >>> relations.id_of("visits"), relations.names[1]
    (1, 'visits')
    >>> relations[:1], "visits" in relations, relations
    (['meets'], True, 2 names of kind relation: 'meets', 'visits')
    >>> relations.id_of("visit")
    Traceback (most recent call last):
    targcn.errors.InputError: relation 'visit' is not in this graph; did you mean 'visits'?
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[str]: ...

    def __getitem__(self, position: int | slice) -> str | Sequence[str]:
        return self.names[position]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __repr__(self) -> str:
        first = ", ".join(map(repr, self.names[:5])) + (", …" if len(self) > 5 else "")
        return f"{len(self):,} names of kind {self.kind}: {first}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and list(self.names) == list(other.names)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def id_of(self, name: str) -> int:
        """The id of a name; the InputError about an unknown one suggests similar names."""
        number = self._ids.get(name, self._ids.get(tidy_name(name)))
        if number is not None:
            return number
        nearest = suggest(name, self.names)
        hint = f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
        raise InputError(f"{self.kind} {name!r} is not in this graph{hint}", nearest)

    @cached_property
    def _folded_ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for position, name in enumerate(self.names):
            ids.setdefault(fold(name), []).append(position)
        return ids

    def knows(self, name: str) -> bool:
        """Whether a name is one of these, whatever its case and accents."""
        return fold(name) in self._folded_ids

    def find(self, name: str) -> int:
        """The id of a name as people write it: its case and accents may differ if one name is left.

        >>> Vocabulary("entity", ["Köln", "Kiel"]).find("koln")
        0
        """
        if name in self._ids:
            return self._ids[name]
        alike = self._folded_ids.get(fold(name), [])
        if len(alike) > 1:
            names = [self.names[number] for number in alike[:5]]
            listed = " or ".join(map(repr, names))
            raise InputError(
                f"{self.kind} {name!r} could be {listed}; write it as one of them", names
            )
        return alike[0] if alike else self.id_of(name)


def fold(name: str) -> str:
    """A name without what people leave out: capital letters, accents, repeated blanks.

    >>> fold("Besançon  Étoile"), fold("Straße")
    ('besancon etoile', 'strasse')
    """
    if not name.isascii():
        parts = unicodedata.normalize("NFKD", name)
        name = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return " ".join(name.casefold().split())


def suggest(name: str, known: Sequence[str], limit: int = 3) -> list[str]:
    """The known names most similar to a mistyped one, best first; where it is a word of one, that.

    >>> suggest("angela merkl", ["Angela Merkel", "Angola", "China"])
    ['Angela Merkel']
    >>> suggest("Jeter", ["Peter", "Derek Jeter"])
    ['Derek Jeter', 'Peter']
    """
    folded = fold(name)
    by_folded = {fold(candidate): candidate for candidate in reversed(known)}
    holding = [other for other in by_folded if folded in other] if len(folded) >= 3 else []
    as_word = [other for other in holding if f" {folded} " in f" {other} "]
    # difflib takes about 20 µs per name. If there are very many, only those that contain the
    # beginning of a word of the wanted name are compared.
    compared = list(by_folded)
    if len(compared) > 20_000:
        starts = [word[:3] for word in folded.split() if len(word) >= 3] or [folded]
        compared = [other for other in compared if any(start in other for start in starts)][:20_000]
    nearest = difflib.get_close_matches(folded, compared, n=limit, cutoff=0.7)
    best = dict.fromkeys([*sorted(as_word, key=len), *nearest, *sorted(holding, key=len)])
    return [by_folded[other] for other in list(best)[:limit]]
