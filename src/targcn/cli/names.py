"""`targcn names`: the entities and relations of a data set or run, by their names."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from targcn.cli.options import AsJson, HowToRead, load_folder, open_source
from targcn.errors import InputError
from targcn.files import require_absent
from targcn.output.tables import require_table_file, write_table
from targcn.output.terminal import show, show_json


def list_names(
    source: Annotated[
        str, Parameter(help="A run folder, or a data set: its name, folder or file.")
    ],
    text: str = "",
    /,
    *,
    top: int = 20,
    out: Path | None = None,
    read: HowToRead | None = None,
    json: AsJson = False,
) -> None:
    """List entities and relations, or search them: how many facts each has, the first and the last.

    Case and accents do not matter; a name is found if it holds every word of the
    text. If none does, the most similar names are shown.

    Args:
        text: What to look for; nothing lists the commonest names.
        top: How many names to show.
        out: Write them to this new file too: .csv, .json or .md.
    """
    if out is not None:
        require_table_file(out)
        require_absent(out)
    if top < 1:
        raise InputError(f"top is {top}; ask for at least 1 name")
    from targcn.facts.names import find_names, names_table

    is_run = (Path(source) / "run.json").is_file()
    dataset = load_folder(Path(source)).dataset if is_run else open_source(source, read)
    table = names_table(find_names(dataset, text), text, top)
    if out is not None:
        write_table(table, out)
    if json:
        show_json(table.records())
    else:
        show(table)
