# make demo | examples | examples-data | test | test-all | test-spark | test-web | test-shuffler | test-pythons | lint | format | docs | tables | coverage | dist | smoke | hooks | bench | clean
# Each sets up .venv from pyproject.toml by itself.
PYTHON ?= python3
VENV := .venv
# Tests start hundreds of interpreters: compiled modules are kept even where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPARK_STAMP := $(VENV)/.spark
DOCS_STAMP := $(VENV)/.docs
WEB_STAMP := $(VENV)/.web
PYTEST := -m pytest -q -n 2 --dist worksteal
# Where a forgotten assert could let something through: what is refused, in functions and in mechanisms.
REFUSALS := tests/support/test_validation.py tests/support/test_by_name.py tests/accounting/test_bad_input.py \
	tests/auditing/test_bad_input.py tests/mechanisms/test_registry.py tests/numerics/test_pair.py \
	tests/contract/test_mechanisms.py::test_bad_values_are_refused_in_one_sentence \
	tests/contract/test_mechanisms.py::test_bad_reports_are_refused_in_one_sentence

.PHONY: demo examples examples-data test test-all test-spark test-web test-shuffler test-pythons lint format docs tables coverage dist smoke hooks bench clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(STAMP)

$(SPARK_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,spark]"
	touch $(SPARK_STAMP)

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs]"
	touch $(DOCS_STAMP)

$(WEB_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,web]" "playwright>=1.45"
	touch $(WEB_STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py

examples: $(STAMP)
	for example in headline flights census; do $(BIN)/python examples/$$example.py || exit 1; done

examples-data: $(STAMP)
	$(BIN)/python examples/fetch.py

test: $(STAMP)
	$(BIN)/python $(PYTEST) -m "not slow and not spark and not web and not shuffler"
	$(BIN)/python -O $(PYTEST) -m "not slow and not spark and not web and not shuffler" $(REFUSALS)

test-all: $(STAMP)
	$(BIN)/python $(PYTEST) -m "not spark and not web and not shuffler"
	$(BIN)/python -O $(PYTEST) -m "not slow and not spark and not web and not shuffler"

# On a cluster of its own, in one process; a test that is skipped has failed.  Java 17 must be installed.
test-spark: $(SPARK_STAMP)
	$(BIN)/python -m pytest -q -m spark tests/engines tests/contract/test_engines.py

# The page in Debian's Chromium, which must be installed (apt-get install chromium); a test that is skipped has failed.
test-web: $(WEB_STAMP)
	$(BIN)/python -m pytest -q -m web tests/web

# The service on SQLite and on Debian's PostgreSQL, which must be installed (apt-get install postgresql), killed at
# random points, and the JavaScript client in Node 20 and Chromium; a test that is skipped has failed.  SLOW= runs the
# long ones too.
SLOW ?= and not slow
test-shuffler: $(WEB_STAMP)
	$(BIN)/python -m pytest -q -m "shuffler $(SLOW)" tests/shuffler

test-pythons:
	.ci/pythons

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in build/site: all code of all pages is run unless build/results has it from the same page, library and
# packages; what is shown is compared, a warning is an error, and nothing may come from elsewhere.
docs: $(DOCS_STAMP)
	PYTHONPATH=tools $(BIN)/python -m handbook build/pages
	PYTHONPATH=tools NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	PYTHONPATH=tools $(BIN)/python -m handbook.offline build/site

# Every generated part of the pages: layers, theorems and all tables of numbers, a minute; the measured page is make bench's.
tables: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m house.write

coverage: $(STAMP)
	$(BIN)/python $(PYTEST) -m "not slow and not spark and not web and not shuffler" --cov --cov-report=term-missing:skip-covered

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --outdir dist

smoke: dist
	$(PYTHON) -m venv --clear build/smoke
	build/smoke/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/smoke/bin/python -I .ci/smoke.py

hooks: $(STAMP)
	$(BIN)/pre-commit install

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-* build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
