"""Standard input, given as `-`."""

import os
import sys
from pathlib import Path

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.copies import copy_blocks, read_blocks
from targcn.facts.sources.spooled import Spooled
from targcn.output.terminal import say


class StandardInput(Spooled):
    title = "- for standard input"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str | Path) and str(source).strip() == "-"

    def label(self, source: object) -> str:
        return "standard input"

    def name_of(self, source: object) -> str:
        return "stdin"

    def copy_into(
        self, folder: Path, source: object, options: ReadOptions
    ) -> tuple[Path, ReadOptions]:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError(
                "several processes cannot share standard input; put the table into a file"
            )
        if sys.stdin.isatty():
            say("reading a table from standard input")
        blocks = read_blocks(sys.stdin.buffer.read, self.label(source))
        return copy_blocks(blocks, folder / "stdin", self.label(source)), options


SOURCE = StandardInput()
