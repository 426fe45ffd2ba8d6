"""The one error a user can cause: a sentence that says what is wrong, where, and what to do.

Any other exception is a bug. The command line prints the sentence of an InputError and exits
with code 2; in Python it is a ValueError.
"""

from collections.abc import Sequence


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence for the user."""

    def __init__(self, sentence: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        # Names that may have been meant; the sentence has them too.
        self.suggestions: tuple[str, ...] = tuple(suggestions)


class DamagedError(InputError):
    """A file of this program that is damaged; what it belongs to has to be made again."""
