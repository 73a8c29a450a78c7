# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

unexport PYTHONDONTWRITEBYTECODE  # what is imported is compiled once, and not by every process that is started

.PHONY: demo test lint format clean

demo: $(READY)
	$(BIN)/unmask demo

WORKERS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')  # many tests wait for a process of their own
CHROMIUM := $(shell command -v chromium chromium-browser google-chrome | head -n 1)

test: lint
	@test -n '$(CHROMIUM)' || echo 'the pages are not looked at: there is no chromium (Debian: apt-get install chromium)'
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --durations=10

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "unmask needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
