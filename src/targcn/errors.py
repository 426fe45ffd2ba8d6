"""The one error a user can cause: a sentence that says what is wrong, where, and what to do.

Any other exception is a bug. The command line prints the sentence of an InputError and exits
with code 2; in Python it is a ValueError.
"""

import re
from collections.abc import Sequence
from typing import Final

# All that ends a line for `str.splitlines`.
LINE_END: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class InputError(ValueError):
    r"""Input that cannot be used; the message is one sentence for the user.

    Ends of lines in it, from a name in a damaged file for example, are written as Python does.

    >>> print(InputError("there is no 'a\u2028b'"))
    there is no 'a\u2028b'
    """

    def __init__(
        self, sentence: str, suggestions: Sequence[str] = (), field: str | None = None
    ) -> None:
        super().__init__(LINE_END.sub(lambda end: repr(end[0])[1:-1], sentence))
        # Names that may have been meant; the sentence has them too.
        self.suggestions: tuple[str, ...] = tuple(suggestions)
        # The part of a question that is wrong, such as its subject.
        self.field = field


class DamagedError(InputError):
    """A file of this program that is damaged; what it belongs to has to be made again."""
