"""The columns of a table of facts, found by their names."""

from collections.abc import Sequence
from typing import Final, cast

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions

NAMES: Final = ("subject", "relation", "object")
ROLES: Final = (*NAMES, "time")
# Instead of a time, facts may have the first and the last one at which they hold.
INTERVAL_ROLES: Final = (*NAMES, "start", "end")
# The usual names of the columns; the first is our own.
USUAL_NAMES: Final = {
    "subject": "subject subj head source src from actor1 source_name s h",
    "relation": "relation rel predicate property relationship edge verb action event_text r p",
    "object": "object obj tail target dst dest destination to actor2 target_name o",
    "time": "time date datetime timestamp day month year when at ts t event_date sqldate",
    "start": "start begin beginning begins since start_date start_time start_year startdate "
    "starttime startyear begin_date begin_time begin_year from_date from_year date_from valid_from "
    "validfrom valid_since time_begin time_start occur_since occurs_since first first_date "
    "first_year",
    "end": "end ending ends until till end_date end_time end_year enddate endtime endyear to_date "
    "to_year date_to valid_to validto valid_until time_end occur_until occurs_until last last_date "
    "last_year",
}
ROLE_OF_NAME: Final = {name: role for role, names in USUAL_NAMES.items() for name in names.split()}


def usual_role(column: str) -> str | None:
    """The role that a column of this name usually has, if any."""
    return ROLE_OF_NAME.get(_fold(column))


def _fold(column: str) -> str:
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def find_columns(columns: Sequence[str], where: str, options: ReadOptions) -> dict[str, str]:
    """The column of each role: the one given, or the only one with a usual name.

    A table has times, or starts and ends; if it has all of them, the times count unless the others
    are given. A start without an end is a time.

    >>> find_columns(["head", "rel", "tail", "year"], "the frame", ReadOptions())
    {'subject': 'head', 'relation': 'rel', 'object': 'tail', 'time': 'year'}
    >>> list(find_columns(["s", "r", "o", "since", "until"], "the frame", ReadOptions()))
    ['subject', 'relation', 'object', 'start', 'end']
    """
    given = {role: cast("str | None", getattr(options, role)) for role in USUAL_NAMES}
    usual = _usual_roles(columns, {role for role, name in given.items() if name is not None})
    fitting = {}
    for role, name in given.items():
        if name is not None:
            fitting[role] = [column for column in columns if column == name]
        else:
            free = (column for column in columns if column not in given.values())
            fitting[role] = [column for column in free if usual[column] == role]
    has_interval = bool(given["start"] or given["end"])
    if has_interval and given["time"]:
        raise InputError("--time is for facts of one time; leave it out, or --start and --end")
    if not has_interval and not fitting["time"] and not given["time"]:
        has_interval = bool(fitting["start"])
    if has_interval and not given["end"] and not fitting["end"]:
        has_interval = False
        given["time"], fitting["time"] = given["start"], fitting["start"]
    roles = INTERVAL_ROLES if has_interval else ROLES
    if misfits := [role for role in roles if len(fitting[role]) != 1]:
        raise _misfit(misfits, given, fitting, columns, where)
    return {role: fitting[role][0] for role in roles}


def _usual_roles(columns: Sequence[str], given: set[str]) -> dict[str, str | None]:
    """The usual role of each column; from and to are times beside a subject and an object.

    These may be given, or have usual names themselves.
    """
    usual = {column: usual_role(column) for column in columns}
    times = {"from": "start", "to": "end"}
    ours: dict[str, str | None] = {
        column: times[_fold(column)] for column in columns if _fold(column) in times
    }
    others = {usual[column] for column in columns if column not in ours} | given
    is_interval = set(ours.values()) == {"start", "end"} and {"subject", "object"} <= others
    return usual | ours if is_interval else usual


def _misfit(
    roles: Sequence[str],
    given: dict[str, str | None],
    fitting: dict[str, list[str]],
    columns: Sequence[str],
    where: str,
) -> InputError:
    """What is wrong with the columns of these roles: those that are absent, or the first other."""
    if absent := [role for role in roles if not fitting[role] and not given[role]]:
        it, one = ("it", "one") if len(absent) == 1 else ("them", "them")
        problem = (
            f"no column for the {', '.join(absent)} among {_quote(columns)}; rename {it} to "
            f"{_quote(absent)}, or choose {one} with {' '.join(f'--{role}' for role in absent)}"
        )
    else:
        role = roles[0]
        problem = f"no column {given[role]!r} among {_quote(columns)}; rename it to {role!r}"
        if listed := fitting[role]:
            problem = f"{len(listed)} columns could hold the {role}: {_quote(listed)}; rename all "
            problem += "but one"
        problem += f", or choose one with --{role}"
    return InputError(f"{where}: {problem} if this is a data set")


def _quote(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:12]) or "none"
