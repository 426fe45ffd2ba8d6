"""A data set known by name: the embedded one, or a benchmark of the catalogue."""

from dataclasses import replace

from targcn.errors import InputError
from targcn.facts.catalog import CATALOG, EMBEDDED, EMBEDDED_FILE, fetch
from targcn.facts.dataset import SPLITS, Dataset
from targcn.facts.derive import derive_unseen, keep_times, origin_of
from targcn.facts.open import Source, find_source
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.prepared_folder import is_prepared


class NamedDataset(Source):
    title = "the name of a data set"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str) and (source == EMBEDDED or source in CATALOG)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        if source == EMBEDDED:
            return find_source(EMBEDDED_FILE).read(EMBEDDED_FILE, options)
        named = CATALOG[str(source)]
        if named.origin and (options.origin or options.tick):
            raise InputError(
                f"{named.name} counts days from {named.origin}; leave out --origin and --tick"
            )
        if named.derived_from:
            dataset = self.read(named.derived_from, options)
            if named.kept_times:
                note = f"the {len(named.kept_times)} times that the paper's authors kept"
                return keep_times(dataset, named.kept_times, origin_of(named.name).kind, note)
            return derive_unseen(dataset, halves="file-order")
        folder = fetch(named)
        if not is_prepared(folder):
            options = replace(options, reversed=named.reversed)
            if named.origin:
                # Some publishers write dates, others count days from the first one.
                options = replace(options, origin=named.origin, tick="day")
        dataset = find_source(folder).read(folder, options)
        num_facts = tuple(len(dataset.splits[split]) for split in SPLITS)
        num_entities = len(dataset.entities)
        if (num_facts, num_entities) != (named.num_facts, named.num_entities):
            raise InputError(
                f"{folder} is not {named.name}: it has {num_facts} facts of {num_entities} "
                f"entities, but {named.num_facts} of {named.num_entities} were published; "
                "fetch it again"
            )
        return replace(dataset, name=named.name)


SOURCES = (NamedDataset(),)
