"""Run folders on a hub of models, Hugging Face's or one with the same interface (HF_ENDPOINT)."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targcn.errors import InputError
from targcn.files import atomic_folder, require_absent
from targcn.runs.store import STATE, load_run

if TYPE_CHECKING:
    from huggingface_hub import HfApi

# What a run folder holds; whatever else is on the hub is left there.
PARTS: Final = (
    *("run.json", "README.md", "metrics.json", "trace.jsonl", "weights.safetensors"),
    *("data/*", "members/*"),
)


def push_run(folder: Path | str, repository: str, *, private: bool = True) -> str:
    """Put a run folder, its facts included, on the hub; gives back its address there.

    Where its training stands (state.safetensors) stays here.
    """
    folder = Path(folder)
    load_run(folder)
    api = _api()
    with _explained(repository):
        api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            allow_patterns=list(PARTS),
            ignore_patterns=[f"*{STATE}"],
            commit_message="Add a run of targcn",
        )
    return f"{api.endpoint}/{repository}"


def pull_run(repository: str, out: Path | str, *, revision: str | None = None) -> None:
    """Fetch a run from the hub into a new folder; it appears whole, and only if it can be read."""
    out = Path(out)
    require_absent(out)
    api = _api()
    with atomic_folder(out) as draft:
        with _explained(repository):
            api.snapshot_download(
                repository,
                revision=revision,
                local_dir=draft,
                cache_dir=draft / ".cache",
                allow_patterns=list(PARTS),
            )
        # What the library notes for itself about its downloads.
        shutil.rmtree(draft / ".cache", ignore_errors=True)
        load_run(draft)


def _api() -> "HfApi":
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise InputError("a hub needs huggingface_hub: pip install 'targcn[hub]'") from None
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="targcn")


@contextmanager
def _explained(repository: str) -> Iterator[None]:
    """Turn what the hub or the way to it refuses into one sentence."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        yield
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"the hub did not take or give {repository}: {reason}; a repository is OWNER/NAME, and "
            "'hf auth login' says who you are"
        ) from None
