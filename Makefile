# Set-up needs python3 (3.11 or newer), make and git; everything else goes into .venv/.
PYTHON ?= python3
BIN := .venv/bin
UV := $(or $(shell command -v uv 2>/dev/null),$(BIN)/uv)
DATA := $(if $(MARGINPATH_DATA),$(MARGINPATH_DATA),$(wildcard ../shared/data))
# Bytecode is kept, also where it is not elsewhere: the tests start many processes, and each would compile all files.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= MARGINPATH_DATA='$(DATA)'

# uv installs in seconds what takes pip a minute. Where uv is not to be had, or does not know the index that pip is
# set up for, pip does it.
install = $(UV) pip install --quiet $(2) --python $(BIN)/python $(1) || \
  $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1)

.PHONY: demo install test test-all test-lowest lint docs package clean

demo: .venv/.demo
	$(BIN)/marginpath demo

install: .venv/.dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "marginpath needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	@test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv || true

# The demo needs the library, the command line, a picture and a table, and nothing for development.
.venv/.demo: pyproject.toml | $(BIN)/python
	$(call install,--editable '.[demo]')
	@touch $@

.venv/.dev: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(call install,--editable '.[dev]' --editable ./lab,--compile-bytecode)
	@touch $@ .venv/.demo

test: install
	@$(MAKE) --no-print-directory --jobs=3 lint compiled-kernels compiled-rows
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=2 --dist=worksteal

# In a fresh checkout each worker of the tests would compile the same functions: the longest come before, beside lint.
compiled-%: install
	@$(ONE_THREAD) $(BIN)/python tests/compiled.py $*

test-all: install lint
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=2 --dist=worksteal -m 'heavy or not heavy'

# With the oldest versions that pyproject.toml allows; what is newer below them may call them deprecated.
test-lowest: install
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest --resolution lowest-direct --editable '.[dev]' --editable ./lab
	$(ONE_THREAD) .venv-lowest/bin/python -m pytest --numprocesses=2 --dist=worksteal -W ignore::DeprecationWarning

lint: install
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: install
	$(call install,--editable '.[docs]')
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# What would be published, built and tried in empty environments: packaging/README.md.
package: install
	$(BIN)/python packaging/check.py --out dist

clean:
	rm -rf .venv .venv-lowest build dist docs/_build docs/api/generated docs/auto_examples .mypy_cache .pytest_cache .ruff_cache
