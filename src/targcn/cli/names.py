"""`targcn names`: the entities and relations of a data set or run, by their names."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from targcn.cli.options import (
    AsJson,
    HowToRead,
    NewTable,
    load_folder,
    open_source,
    show_table,
)
from targcn.config import require_at_least


def list_names(
    source: Annotated[
        str, Parameter(help="A run folder, or a data set: its name, folder or file.")
    ],
    text: str = "",
    /,
    *,
    top: int = 20,
    out: NewTable = None,
    read: HowToRead | None = None,
    json: AsJson = False,
) -> None:
    """List entities and relations, or search them: how many facts each has, the first and the last.

    Case and accents do not matter; a name is found if it holds every word of the
    text. If none does, the most similar names are shown.

    Args:
        text: What to look for; nothing lists the commonest names.
        top: How many names to show.
    """
    require_at_least(1, top=top)
    from targcn.facts.names import find_names, names_table

    is_run = (Path(source) / "run.json").is_file()
    dataset = load_folder(Path(source)).dataset if is_run else open_source(source, read)
    show_table(names_table(find_names(dataset, text), text, top), out, json)
