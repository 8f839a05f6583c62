# make demo | examples | examples-data | test | test-heavy | test-all | test-spark | test-web | test-shuffler | test-docs | test-pythons | test-lowest | note | lint | format | docs | tables | figures | coverage | dist | smoke | hooks | bench | clean
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
MERGE := not slow and not spark and not web and not shuffler
QUICK := $(MERGE) and not heavy
PYTEST := -m pytest -q -n 2 --dist worksteal
# Parts with a target of their own, which make test leaves to it.
OWN := tests/web tests/shuffler tests/documentation tests/test_pages.py tests/test_note.py
# Where a forgotten assert could let something through: what is refused, in functions and in mechanisms.
REFUSALS := tests/support/test_validation.py tests/mechanisms/test_values.py tests/accounting/test_bad_input.py \
	tests/auditing/test_bad_input.py tests/mechanisms/test_registry.py tests/numerics/test_pair.py \
	tests/contract/test_mechanisms.py::test_bad_values_are_refused_in_one_sentence \
	tests/contract/test_mechanisms.py::test_bad_reports_are_refused_in_one_sentence

.PHONY: demo examples examples-data test test-heavy test-all test-spark test-web test-shuffler test-docs test-pythons test-lowest note lint format docs tables figures coverage dist smoke hooks bench clean

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
	$(BIN)/python $(PYTEST) -m "$(QUICK)" tests $(OWN:%=--ignore=%)
	$(BIN)/python -O -m pytest -q -m "$(QUICK)" $(REFUSALS)

# What takes a fifth of a second or more each: not needed after every edit, but before a merge.
test-heavy: $(STAMP)
	$(BIN)/python $(PYTEST) -m "$(MERGE) and heavy" tests

test-all: $(STAMP) note
	$(BIN)/python $(PYTEST) -m "not spark and not web and not shuffler"
	$(BIN)/python -O $(PYTEST) -m "$(MERGE)"

# The note, build/note/note.pdf: its tables and figures from the library, then Debian's TeX, which must be installed
# (apt-get install latexmk texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended lmodern).
note: $(STAMP)
	PYTHONPATH=tests:tools $(BIN)/python -m notebuild build/note

# On a cluster of its own, in one process; a test that is skipped has failed.  Java 17 must be installed.
test-spark: $(SPARK_STAMP)
	$(BIN)/python -m pytest -q -m spark tests/engines tests/contract/test_engines.py

# The page's server, then the page in Debian's Chromium, which must be installed (apt-get install chromium); there a
# test that is skipped has failed.
test-web: $(WEB_STAMP)
	$(BIN)/python $(PYTEST) -m "$(MERGE)" tests/web
	$(BIN)/python -m pytest -q -m web tests/web

# The service on SQLite and on Debian's PostgreSQL, which must be installed (apt-get install postgresql), killed at
# random points, and the JavaScript client in Node 20 and Chromium; a test that is skipped has failed.  SLOW= runs the
# long ones too.
SLOW ?= not slow
test-shuffler: $(WEB_STAMP)
	$(BIN)/python -m pytest -q -m "$(SLOW)" tests/shuffler

test-pythons:
	.ci/pythons

# The quick tests with the lowest version of every dependency that pyproject.toml names.  Old packages warn about new
# ones, so a warning is no error here.
LOWEST := .venv-lowest
test-lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		--editable ".[plot,frame,accounting,data,web,shuffler]"
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --editable ".[dev]"
	$(LOWEST)/bin/python $(PYTEST) -m "$(MERGE)" -o "filterwarnings=ignore::pytest.PytestConfigWarning"
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python "cryptography==42.0.0"  # the core's own floor
	$(LOWEST)/bin/python $(PYTEST) -m "$(QUICK)" tests/randomness tests/protocol

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline --no-progress .github/workflows

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What the pages show, cite and name, and the examples of all docstrings.
test-docs: $(STAMP)
	$(BIN)/python $(PYTEST) -m "$(MERGE)" src tools tests/documentation tests/test_pages.py tests/test_note.py

# The site, in build/site: all code of all pages is run unless build/results has it from the same page, library and
# packages; what is shown is compared, a warning is an error, and nothing may come from elsewhere.
docs: $(DOCS_STAMP)
	PYTHONPATH=tools $(BIN)/python -m handbook build/pages
	PYTHONPATH=tools NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	PYTHONPATH=tools $(BIN)/python -m handbook.offline build/site

# Every generated part of the pages: layers, theorems, all tables of numbers and the figures, a minute; the measured page
# is make bench's.
tables: $(STAMP)
	PYTHONPATH=tests:tools $(BIN)/python -m house.write

# Every figure of docs.
figures: $(STAMP)
	PYTHONPATH=tests:tools $(BIN)/python -m house.write figures

coverage: $(STAMP)
	$(BIN)/python $(PYTEST) -m "$(MERGE)" --cov --cov-report=term-missing:skip-covered

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
