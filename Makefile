# Set-up needs python3 (3.11 or newer), make and git; everything else goes into .venv/.
PYTHON ?= python3
BIN := .venv/bin
DATA := $(if $(MARGINPATH_DATA),$(MARGINPATH_DATA),$(wildcard ../shared/data))

.PHONY: demo install test test-all test-lowest lint docs clean

demo: install
	$(BIN)/marginpath demo

install: .venv/installed

.venv/installed: pyproject.toml lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "marginpath needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable ./lab
	touch $@

test: install lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGINPATH_DATA='$(DATA)' \
	  $(BIN)/python -m pytest --numprocesses=2

test-all: install lint
	MARGINPATH_DATA='$(DATA)' $(BIN)/python -m pytest --numprocesses=2 -m 'heavy or not heavy'

# With the oldest versions that pyproject.toml allows; what is newer below them may call them deprecated.
test-lowest: install
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest --resolution lowest-direct --editable '.[dev]' --editable ./lab
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MARGINPATH_DATA='$(DATA)' \
	  .venv-lowest/bin/python -m pytest --numprocesses=2 -W ignore::DeprecationWarning

lint: install
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:
	rm -rf .venv .venv-lowest build dist docs/_build docs/api/generated docs/auto_examples .mypy_cache .pytest_cache .ruff_cache
