# Every target sets itself up: a virtual environment in .venv, updated when pyproject.toml changes.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto

# Many tests start processes: each would compile the sources anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test explore docs package bench experiments soak lint format clean

demo: $(VENV)/.demo
	$(BIN)/edgewise demo

test: $(VENV)/.dev lint
	$(BIN)/python -m pytest -n $(JOBS)

# Property tests with new random examples, from seeds that are printed; `make test` repeats the same ones.
SEEDS ?= 5
explore: $(VENV)/.dev
	for seed in $$(shuf -i 1-1000000 -n $(SEEDS)); do echo "--hypothesis-seed=$$seed"; \
	  HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n $(JOBS) -m hypothesis --hypothesis-seed=$$seed || exit 1; done

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in docs/_build/html: the examples run, the figures are drawn, and a warning is an error.
docs: $(VENV)/.docs
	rm -rf docs/api/names docs/api/uses
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Both distributions, in dist/; the wheel is then installed into an empty environment, used and typed.
package: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(PYTHON) -m venv dist/env
	dist/env/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cp tests/package/use.py dist/env
	cd dist/env && bin/edgewise --version && bin/python -m edgewise --version
	cd dist/env && bin/python use.py && bin/edgewise demo
	cd dist/env && $(abspath $(BIN))/mypy --strict --python-executable bin/python use.py
	rm -rf dist/env

# Left out: large.py and top.py take hours, cluster.py starts workers that it kills, gpu.py needs a GPU.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/rounds.py
	$(BIN)/python benchmarks/learners.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/explain.py
	$(BIN)/python benchmarks/starts.py
	$(BIN)/python benchmarks/errors.py
	$(BIN)/python benchmarks/suite.py
	$(BIN)/python benchmarks/importances.py
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/fusion.py
	$(BIN)/python benchmarks/recommend.py
	$(BIN)/python benchmarks/updates.py
	$(BIN)/python benchmarks/many_classes.py
	$(BIN)/python benchmarks/wide.py
	$(BIN)/python benchmarks/searches.py
	$(BIN)/python benchmarks/curves.py

experiments: $(VENV)/.bench
	$(BIN)/python -m experiments all --resume

# Attacks for an hour: mutated files, kills, full disks, random frames, threads, growth. Figures in .soak/.
MINUTES ?= 60
soak: $(VENV)/.dev
	$(BIN)/python -m soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) .soak build dist docs/_build docs/gallery docs/api/names docs/api/uses .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src soak tests benchmarks experiments examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("edgewise needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@
