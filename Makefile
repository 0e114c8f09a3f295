# Everything here makes its own virtual environment when there is none: nothing is to be installed
# by hand but Python 3.11 or newer and, for what runs Spark, Java 17 or newer.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint bench regret calibrate dev docs clean java

demo: $(READY) java  ## compile an example, print the PySpark code that it becomes, and run it
	@echo "\$$ cat examples/sliding.ssql"
	@cat examples/sliding.ssql
	@echo
	@echo "\$$ ssql compile examples/sliding.ssql"
	@$(BIN)/ssql compile examples/sliding.ssql
	@echo
	@echo "\$$ ssql run examples/sliding.ssql --until-done"
	@$(BIN)/ssql run examples/sliding.ssql --until-done

test: $(READY) java  ## the whole test suite
	$(BIN)/python -m pytest

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## the benchmarks, as ratios
	$(BIN)/python bench/compile_time.py
	$(BIN)/python bench/windows.py
	$(BIN)/python bench/operators.py
	$(BIN)/python bench/joins.py

regret: $(READY)  ## is the chosen plan the fastest one? About half an hour
	$(BIN)/python bench/regret.py

calibrate: $(READY)  ## the constants of the cost model, measured on this machine
	$(BIN)/python bench/calibrate.py --write

docs: $(READY)  ## the generated pages of docs/
	$(BIN)/python -m pytest -q tests/test_docs.py --rewrite

dev: $(READY)  ## an environment to work in
	@echo "ready: . $(BIN)/activate"

java:
	@command -v java >/dev/null 2>&1 || { \
	  echo "Java is not on the PATH, and Spark needs Java 17 or newer."; \
	  echo "Install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"; \
	  echo "and try again."; exit 1; }

# The bytecode and the parser's tables are made here, so that the first command is as fast as the
# second.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ssql needs Python 3.11 or newer; say which with: make PYTHON=python3.11 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@$(BIN)/python -m compileall -q __init__.py __main__.py arguments.py cli.py console.py showing.py compiler grammar planner runtime
	@$(BIN)/python -c 'from ssql.grammar import statement_parser; statement_parser()'
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
