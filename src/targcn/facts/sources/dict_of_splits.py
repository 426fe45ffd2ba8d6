"""A dictionary of tables for train, valid and test, as `datasets.load_dataset` gives one."""

from collections.abc import Mapping
from dataclasses import replace

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Split
from targcn.facts.open import find_source
from targcn.facts.reading.encode import encode_splits
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.source import Source
from targcn.facts.sources.split_folder import STEMS, refuse_other_splits
from targcn.facts.sources.table_source import TableSource

SPLIT_OF: dict[object, Split] = {stem: split for split, stems in STEMS.items() for stem in stems}


class DictOfSplits(Source):
    """The table of train alone is split like any other."""

    title = "a dictionary of such tables for train, valid and test"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, Mapping) and "train" in source and set(source) <= set(SPLIT_OF)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        assert isinstance(source, Mapping)
        if len(source) == 1:
            return find_source(source["train"]).read(source["train"], options)
        given = {SPLIT_OF[key]: table for key, table in source.items()}
        if len(given) < len(STEMS) or len(source) > len(STEMS):
            listed = ", ".join(map(repr, source))
            raise InputError(
                f"the dictionary holds {listed}; give one table each for train, valid and test, or "
                "train alone"
            )
        refuse_other_splits("the dictionary", options)
        tables = {}
        for split in STEMS:
            kind = find_source(given[split])
            if not isinstance(kind, TableSource):
                raise InputError(f"{split} of the dictionary is {kind.title}; give one table")
            table = kind.read_table(given[split], options)
            tables[split] = replace(table, where=f"{split} of the dictionary")
        return encode_splits("splits", tables, options)


SOURCE = DictOfSplits()
