"""`targcn push` and `targcn pull`: runs on a hub of models."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from targcn.cli.options import Flag, RunFolder, require_folder, warn_if_unfinished
from targcn.output.terminal import show

Repository = Annotated[str, Parameter(help="Where it is on the hub: OWNER/NAME.")]


def push_folder(run: RunFolder, repository: Repository, /, *, public: Flag = False) -> None:
    """Put a run on the Hugging Face hub (needs the extra hub; HF_ENDPOINT names another one).

    The facts that it was trained on go with it: mind their terms.

    Args:
        public: Let everyone see a repository that is new; otherwise it is private.
    """
    require_folder(run)
    from targcn.runs.hub import push_run

    warn_if_unfinished(run)
    show(f"put on {push_run(run, repository, private=not public)}")


def pull_folder(repository: Repository, /, *, out: Path, revision: str | None = None) -> None:
    """Fetch a run from the Hugging Face hub into a new folder (needs the extra hub).

    Args:
        out: The folder to write; it must not exist.
        revision: The branch, tag or commit; default: main.
    """
    from targcn.runs.hub import pull_run

    pull_run(repository, out, revision=revision)
    show(f"fetched {out}; evaluate it with: targcn evaluate {out}")
