# Each target makes .venv and installs what it needs, once. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
BIN = .venv/bin
DATA ?= ../shared/data

.PHONY: setup demo test lint lint-page test-slow torture model reproduce bench families tables clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: setup
	$(BIN)/weft demo --out runs/demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not torture"

test-slow: setup
	$(BIN)/python -m pytest -m slow

# The long forms of the tests behind docs/trust.md: kills, a full disk, the service under stress, fuzzing.
torture: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[torture]"
	$(BIN)/python -m pytest -rP -m torture
	$(BIN)/python -m pytest tests/fuzz --hypothesis-profile torture --hypothesis-show-statistics
	for target in plans corpora tokeniser documents codecs folders checkpoints; do \
		$(BIN)/python -m tests.fuzz.with_atheris $$target -max_total_time=300 || exit 1; \
	done

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Types and style of the page's scripts: only where there is npm, which nobody needs to use weft.
lint-page:
	@if command -v npm > /dev/null; then \
		cd tests/page && npm ci --silent --no-audit --no-fund && npm run --silent types && npm run --silent lint; \
	else echo "lint-page: skipped, because there is no npm"; fi

# The shipped model, as it was made: about an hour and a half on two cores. See weft/shipped/en-de/README.md.
model: setup
	$(BIN)/python -m benchmarks.shipped_model --data $(DATA) --out runs/en-de

# The reference score on Multi30k: three seeds, see docs/results.md.
reproduce: setup
	$(BIN)/python -m benchmarks.multi30k --data $(DATA) --out runs/multi30k

# The tables in docs/, from benchmarks/results.
tables: setup
	$(BIN)/python -m benchmarks.tables

# Speed compared with other libraries, see docs/benchmarks.md.
bench: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.decoding --data $(DATA)
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.start_up
	$(BIN)/python -m benchmarks.recurrence
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.glossary

# Every family under the same budget, about four and a half hours of one core: see docs/results.md.
families: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.families --data $(DATA) --out runs/families
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.families --data $(DATA) --out runs/families --plans transformer-tiny,convs2s-tiny --seeds 1,2,3
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.families --data $(DATA) --out runs/families-tatoeba --pairs tatoeba --plans seq2seq-rnn-tiny,bahdanau-tiny --minutes 5
	$(BIN)/python -m benchmarks.lengths runs/families --data $(DATA)
	$(BIN)/python -m benchmarks.lengths runs/families-tatoeba --data $(DATA) --pairs tatoeba
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.families --data $(DATA) --out runs/families --speed

clean:
	rm -rf .venv runs build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
