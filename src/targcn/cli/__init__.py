"""The command line: every command is a few lines over the library.

Nothing heavy is imported before a command needs it. An InputError, or a flag that is not known,
prints one sentence and exits with 2.
"""

import os
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from cyclopts import App, CycloptsError, Parameter

from targcn import __version__
from targcn.errors import InputError
from targcn.output.terminal import is_main_process, printable, say

SECONDS_TO_TALK: Final = 5.0

app = App(
    name="targcn",
    help="Complete a temporal knowledge graph: rank the missing facts among dated ones.",
    version=f"targcn {__version__}",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    # No --no-… for flags, and no default where nothing is given.
    default_parameter=Parameter(
        negative="",
        show_default=lambda value: None if value is False or value == () else value,
    ),
)
# A command is imported when it is asked for.
COMMANDS: Final = {
    "data": "data:data",
    "names": "data:list_names",
    "models": "train:list_models",
    "train": "train:train",
    "search": "search:search_recipe",
    "fuse": "compare:fuse_runs",
    "evaluate": "evaluate:evaluate_run",
    "compare": "compare:compare_runs",
    "predict": "predict:predict_answers",
    "missing": "predict:find_missing_facts",
    "explain": "explain:explain_answer",
    "export": "export:export_from_run",
    "rules": "explain:list_rules",
    "serve": "serve:serve_runs",
    "reproduce": "reproduce:reproduce",
}
for name, place in COMMANDS.items():
    app.command(f"targcn.cli.{place}", name=name)
app.register_install_completion_command(
    help="Let the shell complete commands and options of targcn."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the exit code is 2 for anything a user can put right."""
    given = sys.argv[1:] if arguments is None else arguments
    # A lone hyphen is standard input; the blank keeps it from being taken for an option.
    given = [" -" if word == "-" else word for word in given]
    try:
        if not given or given[0] in ("-h", "--help"):
            # The help of them all, which says what each is for.
            for command in COMMANDS:
                app[command]
        app(given, exit_on_error=False, print_error=False)
    except (InputError, CycloptsError) as error:
        # A sentence about an option's value needs no more words around it.
        reason = error.__cause__ if isinstance(error.__cause__, InputError) else error
        _complain(" ".join(str(reason).split()))
    except (MemoryError, RuntimeError) as error:
        if not _is_short_of_memory(error):
            raise
        _complain("there is not enough memory for this; close other programs, or ask for less")
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        # In whichever process it happened: the others do not know about it.
        where = f"{error.filename}: " if error.filename else ""
        print(f"targcn: {printable(f'{where}{error.strerror or error}')}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        say("stopped")
        sys.exit(130)


def _is_short_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError):
        return True
    from targcn.devices import is_out_of_memory

    return is_out_of_memory(error)


def _complain(sentence: str) -> None:
    say(sentence)
    if not is_main_process():
        # The launcher ends all processes when one has left: let the main one say it first.
        time.sleep(SECONDS_TO_TALK)
    sys.exit(2)


def _warn(message: Warning | str, *where: Any, **how: Any) -> None:
    """Print a warning as one sentence, without the line of code that caused it."""
    say(f"warning: {' '.join(str(message).split())}")


def program() -> None:
    """The program `targcn`: the command line, then out at once.

    Taking torch down in order costs half a second at every exit, and nothing here needs it.
    """
    code = 0
    warnings.showwarning = _warn
    # A terminal that lacks a letter shows another one; a closed one gets nothing.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    except Exception:
        sys.excepthook(*sys.exc_info())
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
