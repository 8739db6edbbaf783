# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
# Formats and lints JavaScript and CSS; fetched by npm at this version.
BIOME := npx --yes @biomejs/biome@2.6.6

.PHONY: demo test test-all wheel-test check format bench docs notebooks pictures clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hackle needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV): packages are fetched and installed, which takes minutes on a slow line"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: $(READY)
	$(BIN)/hackle demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not gpu"

test-all: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not gpu"

wheel-test: $(READY)
	$(BIN)/python .ci/wheel_test.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	@if command -v npx >/dev/null; then $(BIOME) check --error-on-warnings .; \
	else echo "npx is not on the path: JavaScript and CSS are not checked; install Node.js to check them"; fi

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v npx >/dev/null; then $(BIOME) check --write .; fi

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

notebooks: $(READY)
	$(BIN)/python -m website.notebooks notebooks

pictures: $(READY)
	$(BIN)/python -m website.pictures

clean:
	rm -rf $(VENV) site
