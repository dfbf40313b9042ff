# Everything runs in a virtual environment of its own, made on first use from a bare Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo

.PHONY: demo test faults judges check format generate clean

demo: $(DEMO)
	$(BIN)/simonides demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 4 --dist worksteal

# Races, kills and full disks again, ten times as long.
faults: $(STAMP)
	FAULTS=10 $(BIN)/python -m pytest tests/faults -n 2
	EVERY_STORE=1 $(BIN)/python -m pytest tests/stories -n 2

# The outside judges: many requests to the server, those of MCP, which are npm packages, and PgBouncer (a package of the
# system) before PostgreSQL. And the stories on tables that are split by user.
judges: $(STAMP)
	JUDGES=50 $(BIN)/python -m pytest --timeout 3600 tests/server/test_judges.py tests/server/test_leaks.py \
	  tests/stories/test_no_byte_is_left.py tests/docs/test_monitoring.py
	EVERY_STORE=1 PGBOUNCER=1 NO_SKIPS=1 $(BIN)/python -m pytest tests/stories -n 2 -k postgres
	EVERY_STORE=1 PARTITIONED=1 $(BIN)/python -m pytest tests/stories -n 2 -k postgres
	$(BIN)/python scripts/judges.py

# Form, types, and the order of imports; the tests look at documents and statements.
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python scripts/generate_async.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The async face is written from the blocking classes; run this after a change of theirs.
generate: $(STAMP)
	$(BIN)/python scripts/generate_async.py

clean:
	rm -rf $(VENV) .judges

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("simonides needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(DEMO): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(STAMP): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group test --group check
	touch $@ $(DEMO)
