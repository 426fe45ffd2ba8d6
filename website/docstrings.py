"""Examples in docstrings are code, which Markdown cannot tell."""

import re
from typing import Any

import griffe


def fence_examples(text: str) -> str:
    """The text with its examples in fences: from `>>>` to the next blank line.

    >>> fence_examples("Add.\\n\\n>>> 1 + 1\\n2")
    'Add.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return re.sub(r"^>>>.*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S)


class Examples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)
