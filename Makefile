# `make demo` and `make test` do all set-up on a fresh machine with Python 3.11 to 3.13.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check format bench clean

demo: $(READY)  ## set up, then the main job on the embedded data
	@bash scripts/demo.sh $(BIN)/targcn

test: $(READY) check  ## set up, then every check
	$(BIN)/python -m pytest

check: $(READY)  ## style and types alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure what the docs claim; writes benchmarks/results
	$(BIN)/python benchmarks/graph_memory.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/evaluate_floors.py
	$(BIN)/python benchmarks/sampler.py
	$(BIN)/python benchmarks/epoch.py
	$(BIN)/python benchmarks/predict.py

clean:  ## remove what set-up and tests leave behind
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@
