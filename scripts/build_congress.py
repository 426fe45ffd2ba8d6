"""Build the embedded data set `congress`: who held which seat of the US Congress, 1945 to 2015.

Source: npm package us-legislators 1.2.0 (MIT, Liji Jinaraj), whose data comes from the
unitedstates/congress-legislators project (public domain, CC0).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

PACKAGE = "us-legislators@1.2.0"
TARGET = Path(__file__).parents[1] / "src/targcn/facts/congress.parquet"
FIRST_YEAR = 1945
COLUMNS = ["subject", "relation", "object", "time"]

# A Congress lasts two years. The source often moves the start of a mid-term replacement back to
# the start of that Congress, so that two holders of one seat overlap by up to this much.
CONGRESS = timedelta(days=731)
# Terms end with the last session, up to half a year before the next one starts.
RECESS = timedelta(days=300)

STATES = {
    "AK": "Alaska",
    "AL": "Alabama",
    "AR": "Arkansas",
    "AS": "American Samoa",
    "AZ": "Arizona",
    "CA": "California",
    "CO": "Colorado",
    "CT": "Connecticut",
    "DC": "District of Columbia",
    "DE": "Delaware",
    "FL": "Florida",
    "GA": "Georgia",
    "GU": "Guam",
    "HI": "Hawaii",
    "IA": "Iowa",
    "ID": "Idaho",
    "IL": "Illinois",
    "IN": "Indiana",
    "KS": "Kansas",
    "KY": "Kentucky",
    "LA": "Louisiana",
    "MA": "Massachusetts",
    "MD": "Maryland",
    "ME": "Maine",
    "MI": "Michigan",
    "MN": "Minnesota",
    "MO": "Missouri",
    "MP": "Northern Mariana Islands",
    "MS": "Mississippi",
    "MT": "Montana",
    "NC": "North Carolina",
    "ND": "North Dakota",
    "NE": "Nebraska",
    "NH": "New Hampshire",
    "NJ": "New Jersey",
    "NM": "New Mexico",
    "NV": "Nevada",
    "NY": "New York",
    "OH": "Ohio",
    "OK": "Oklahoma",
    "OR": "Oregon",
    "PA": "Pennsylvania",
    "PI": "Philippines",
    "PR": "Puerto Rico",
    "RI": "Rhode Island",
    "SC": "South Carolina",
    "SD": "South Dakota",
    "TN": "Tennessee",
    "TX": "Texas",
    "UT": "Utah",
    "VA": "Virginia",
    "VI": "Virgin Islands",
    "VT": "Vermont",
    "WA": "Washington",
    "WI": "Wisconsin",
    "WV": "West Virginia",
    "WY": "Wyoming",
}

# Fusion candidates go to their major party. Those elected against both major parties, for a minor
# one, count as independents. Puerto Rico's own parties are neither and get no fact.
PARTY_RELATIONS = {
    "Democrat": "represents as Democrat",
    "Democrat-Liberal": "represents as Democrat",
    "Republican": "represents as Republican",
    "Republican-Conservative": "represents as Republican",
    "Independent": "represents as independent",
    "Ind. Democrat": "represents as independent",
    "American Labor": "represents as independent",
    "Conservative": "represents as independent",
    "Liberal": "represents as independent",
    "Progressive": "represents as independent",
}

# Both were elected as Republicans; the source says Independent (by bioguide id and term start).
PARTY_CORRECTIONS = {
    ("C001045", "2001-01-03"): "Republican",  # Ander Crenshaw
    ("M001014", "1951-01-03"): "Republican",  # Wayne Morse, independent from 1952 on
}

# John Murtha's title in the source is that of his school.
WRONG_TITLES = {"The Kiski School"}

Fact = tuple[str, str, str, int]


@dataclass
class Term:
    """One term of one person; `seat` is empty where the district is unknown."""

    person: str
    state: str
    chamber: str
    seat: str
    start: date
    end: date
    parties: list[tuple[str, int]]


@dataclass
class Tenure:
    """Terms of one person that follow each other without a break."""

    person: str
    start: date
    end: date

    def overlap(self, other: Tenure) -> timedelta:
        return min(self.end, other.end) - max(self.start, other.start)

    def covers_part_of(self, year: int) -> bool:
        # Outgoing members leave by 3 January.
        return self.start.year <= year and self.end > date(year, 1, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, help="folder of the unpacked npm package")
    package = parser.parse_args().package
    if package:
        people = read_people(package)
    else:
        with tempfile.TemporaryDirectory() as folder:
            people = read_people(download(Path(folder)))
    facts = build(people)
    facts.write_parquet(TARGET, compression="zstd", compression_level=22, statistics=False)
    describe(facts)


def download(folder: Path) -> Path:
    command = ["npm", "pack", "--silent", PACKAGE]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    return folder / "package"


def read_people(package: Path) -> list[dict[str, Any]]:
    """People who served in 1943 or later: the earlier ones cannot precede anyone of 1945."""
    people = []
    for part in ("historical", "current"):
        text = (package / f"data/legislators-{part}.json").read_text(encoding="utf-8")
        people += json.loads(text)
    return [person for person in people if person["terms"][-1]["end"] >= "1943"]


def build(people: list[dict[str, Any]]) -> pl.DataFrame:
    names = name_people(people)
    terms = [
        read_term(person, name, term)
        for person, name in zip(people, names, strict=True)
        for term in person["terms"]
    ]
    facts = {
        *seat_facts(terms),
        *party_facts(terms),
        *succession_facts(terms),
        *senator_facts(terms),
    }
    recent = [fact for fact in facts if fact[3] >= FIRST_YEAR]
    schema = dict(zip(COLUMNS, [pl.String, pl.String, pl.String, pl.Int32], strict=True))
    return pl.DataFrame(recent, schema=schema, orient="row").sort(
        "time", "relation", "object", "subject"
    )


def name_people(people: list[dict[str, Any]]) -> list[str]:
    """Wikipedia titles, else written-out names; the birth year tells namesakes apart."""
    titles = [wikipedia_title(person) for person in people]
    plain = [
        title or written_name(person["name"]) for title, person in zip(titles, people, strict=True)
    ]
    count = Counter(plain)
    names = [
        name if title or count[name] == 1 else f"{name} (born {person['bio']['birthday'][:4]})"
        for title, name, person in zip(titles, plain, people, strict=True)
    ]
    assert len(set(names)) == len(names), "two people share one name"
    return names


def wikipedia_title(person: dict[str, Any]) -> str:
    title: str = person["id"].get("wikipedia", "")
    return "" if title in WRONG_TITLES else title


def written_name(name: dict[str, str]) -> str:
    if "nickname" in name:
        given = [name["nickname"]]
    elif name["first"].endswith("."):
        given = [name["first"], name.get("middle", "")]
    else:
        given = [name["first"], name["middle"][0].upper() + "." if "middle" in name else ""]
    return " ".join(filter(None, [*given, name["last"], name.get("suffix", "")]))


def read_term(person: dict[str, Any], name: str, term: dict[str, Any]) -> Term:
    start = date.fromisoformat(term["start"])
    party = PARTY_CORRECTIONS.get((person["id"]["bioguide"], term["start"]), term.get("party", ""))
    changes = term.get("party_affiliations", [{"party": party, "start": term["start"]}])
    state = STATES.get(term["state"], term["state"])
    return Term(
        person=name,
        state=state,
        chamber="Senate" if term["type"] == "sen" else "House",
        seat=seat_name(state, term),
        start=start,
        # A few special elections fall after the last session, the end given by the source.
        end=max(start, date.fromisoformat(term["end"])),
        parties=[(change["party"], int(change["start"][:4])) for change in changes],
    )


def seat_name(state: str, term: dict[str, Any]) -> str:
    if term["type"] == "sen":
        return f"{state} Senate seat, class {term['class']}"
    if term["district"] < 0:
        return ""
    return (
        f"{state} {ordinal(term['district'])} district" if term["district"] else f"{state} at large"
    )


def ordinal(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def seat_facts(terms: list[Term]) -> Iterator[Fact]:
    for term in terms:
        if term.seat:
            yield term.person, f"holds {term.chamber} seat", term.seat, term.start.year


def party_facts(terms: list[Term]) -> Iterator[Fact]:
    """A change of party within a term is a fact of its own year."""
    for term in terms:
        for party, year in term.parties:
            if party in PARTY_RELATIONS:
                yield term.person, PARTY_RELATIONS[party], term.state, year


def succession_facts(terms: list[Term]) -> Iterator[Fact]:
    seats = group_by_seat(terms)
    for tenures in seats.values():
        if has_several_members(tenures):
            continue
        for index, successor in enumerate(tenures):
            previous = predecessor(tenures[:index], successor)
            if previous:
                yield successor.person, "succeeded", previous.person, successor.start.year


def group_by_seat(terms: list[Term]) -> dict[str, list[Tenure]]:
    """The tenures of each seat since 1940, in the order of the holders."""
    seats = defaultdict(list)
    for term in terms:
        if term.seat:
            seats[term.seat].append(term)
    return {
        seat: [tenure for tenure in merge(held) if tenure.end.year >= 1940]
        for seat, held in seats.items()
    }


def merge(terms: list[Term]) -> list[Tenure]:
    tenures: list[Tenure] = []
    for term in sorted(terms, key=lambda term: (term.person, term.start)):
        last = tenures[-1] if tenures else None
        if last and last.person == term.person and term.start - last.end <= RECESS:
            last.end = max(last.end, term.end)
        else:
            tenures.append(Tenure(term.person, term.start, term.end))
    return sorted(tenures, key=lambda tenure: (tenure.start, tenure.end, tenure.person))


def has_several_members(tenures: list[Tenure]) -> bool:
    """Some states elected two or more members at large to what the source calls one seat."""
    return any(
        first.overlap(second) > CONGRESS
        for index, first in enumerate(tenures)
        for second in tenures[:index]
    )


def predecessor(earlier: list[Tenure], successor: Tenure) -> Tenure | None:
    """The holder just before, or nothing where the dates leave the order open."""
    if not earlier:
        return None
    last = max(earlier, key=lambda tenure: (tenure.end, tenure.start))
    rivals = [tenure for tenure in [*earlier, successor] if tenure is not last]
    tied = any((last.start, last.end) == (rival.start, rival.end) for rival in rivals)
    outlasts = last.end > successor.end
    distant = abs(successor.start - last.end) > CONGRESS
    if tied or outlasts or distant or last.person == successor.person:
        return None
    return last


def senator_facts(terms: list[Term]) -> Iterator[Fact]:
    states = defaultdict(list)
    for term in terms:
        if term.chamber == "Senate":
            states[term.state].append(term)
    for state, state_terms in states.items():
        yield from senator_facts_of_state(state, state_terms)


def senator_facts_of_state(state: str, terms: list[Term]) -> Iterator[Fact]:
    seats = group_by_seat(terms)
    services = merge(terms)
    seniors: set[tuple[str, date]] = set()
    for term in sorted(terms, key=lambda term: (term.start, term.end)):
        year = term.start.year
        for other in partners(term, seats):
            own_service, other_service = (
                service_in(services, person, year) for person in (term.person, other.person)
            )
            senior, junior = sorted((own_service, other_service), key=lambda service: service.start)
            if not order_is_known(senior, junior):
                continue
            yield senior.person, "serves beside", junior.person, year
            if junior is own_service:
                yield junior.person, "junior senator of", state, year
            if senior is own_service or (senior.person, senior.start) not in seniors:
                yield senior.person, "senior senator of", state, year
            seniors.add((senior.person, senior.start))


def partners(term: Term, seats: dict[str, list[Tenure]]) -> list[Tenure]:
    """Holders of the other seat in the year in which the term begins.

    Where both seats change hands in one year, the source's dates do not tell who met whom.
    """
    year = term.start.year
    own = [tenure for tenure in seats[term.seat] if tenure.covers_part_of(year)]
    others = [
        tenure
        for seat, tenures in seats.items()
        for tenure in tenures
        if seat != term.seat and tenure.covers_part_of(year) and tenure.person != term.person
    ]
    return others if len(own) == 1 or len(others) == 1 else []


def service_in(services: list[Tenure], person: str, year: int) -> Tenure:
    return next(
        service for service in services if service.person == person and service.covers_part_of(year)
    )


def order_is_known(senior: Tenure, junior: Tenure) -> bool:
    """Before 2000, a start within a year may have been moved to its beginning."""
    if senior.start.year < 2000:
        return senior.start.year < junior.start.year
    return senior.start < junior.start


def describe(facts: pl.DataFrame) -> None:
    """Print the size of the data set and how many true answers its queries have."""
    entities = pl.concat([facts["subject"], facts["object"]]).n_unique()
    print(f"{facts.height} facts, {entities} entities, {TARGET.stat().st_size} bytes")
    years = facts["time"].unique().sort().to_list()
    print(f"years {years[0]} to {years[-1]}")
    for known, asked in (("subject", "object"), ("object", "subject")):
        answers = facts.group_by("relation", known, "time").agg(pl.len().alias("answers"))
        summary = answers.group_by("relation").agg(
            pl.col("answers").sum().alias("facts"),
            pl.col("answers").median().alias("median"),
            pl.col("answers").mean().round(2).alias("mean"),
            pl.col("answers").max().alias("most"),
        )
        print(f"answers per ({known}, relation, year), asking for the {asked}:")
        for relation, total, median, mean, most in summary.sort("relation").iter_rows():
            print(f"  {relation:28}{total:6} facts, median {median}, mean {mean}, most {most}")


if __name__ == "__main__":
    main()
