# `make demo` and `make test` do all set-up on a fresh machine with Python 3.11 to 3.13.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RESULTS := benchmarks/results

.PHONY: demo test quick check format bench torture docs site package clean

demo: $(READY)  ## set up, then the main job on the embedded data
	@bash scripts/demo.sh $(abspath $(BIN)/targcn)

# Tests run in one process per core.
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal

test: $(READY) check  ## set up, then every check
	$(PYTEST)

quick: $(READY)  ## the inner loop: style and the quick tests, without a browser
	$(BIN)/ruff check --quiet .
	$(PYTEST) -m "not slow and not drawn" --ignore=tests/serve/page

check: $(READY)  ## style and types alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure what the docs claim; writes benchmarks/results
	$(BIN)/python -m benchmarks sampler icews05-15 --out $(RESULTS)/sampler.json
	$(BIN)/python -m benchmarks epoch icews14 --out $(RESULTS)/epoch.json
	$(BIN)/python -m benchmarks epoch icews14 --model tntcomplex --out $(RESULTS)/epoch-tntcomplex.json
	$(BIN)/python -m benchmarks evaluate icews14 --model tntcomplex --out $(RESULTS)/evaluate-tntcomplex.json
	for model in targcn seen decayed-copy; do \
	  $(BIN)/python -m benchmarks evaluate icews05-15 --model $$model --out $(RESULTS)/evaluate-$$model.json || exit; \
	done
	for model in boxte atise; do for compile in false true; do \
	  $(BIN)/python -m benchmarks evaluate icews14 --model $$model --dim 40 --compile $$compile --repeats 1 --no-plain \
	    --out $(RESULTS)/evaluate-$$model-compile-$$compile.json || exit; \
	done; done
	$(BIN)/python -m benchmarks predict icews05-15 --recipe published-code --out $(RESULTS)/predict.json
	$(BIN)/python -m benchmarks predict --facts 1000000 --entities 10000000 --model evidence --prior-dim 32 \
	  --out $(RESULTS)/predict-many-entities.json
	for data in congress icews14; do \
	  $(BIN)/python -m benchmarks serve $$data --out $(RESULTS)/serve-$$data.json || exit; \
	done
	$(BIN)/python -m benchmarks missing icews14 --out $(RESULTS)/missing.json
	$(BIN)/python -m benchmarks ingest --rows 2e6 20e6 --out $(RESULTS)/ingest.json
	$(BIN)/python -m benchmarks ingest --rows 2e6 20e6 --longest 365 --out $(RESULTS)/ingest-intervals.json
	$(BIN)/python -m benchmarks scale --facts 1e6 1e7 1e8 3e8 --steps 10 --out $(RESULTS)/scale.json

MINUTES ?= 10

torture: $(READY)  ## kill, mutate, mangle and fill for so many MINUTES; prints one table
	PYTHONPATH=tests $(BIN)/python -m torture --minutes $(MINUTES)

docs: $(READY)  ## put the figures of results/ into the texts, and draw their plots again
	$(BIN)/python website/figures.py results --fill README.md docs/*.md --plots docs/pictures

site: $(VENV)/.site  ## build the documentation site into build/site; nothing is fetched from the network
	$(BIN)/python website/gather.py build/site-source
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f build/site-source/mkdocs.yml -d $(CURDIR)/build/site

package:  ## build the package, install it in empty environments, and count what it brings
	bash scripts/check_package.sh $(PYTHON)

clean:  ## remove what set-up and tests leave behind
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

$(VENV)/.site: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[site]"
	touch $@
