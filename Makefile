# The commands of the README. They make .venv from nothing; no scheduler is needed.
#   make demo       a real scaling study of the torch recipe with 1 and 2 processes: table, plot, page
#   make test       the core of the tests, several at a time (real Slurm, browser … where they are installed)
#   make lint       style, types, and the checks that read the source code
#   make test-all   lint, the core, and the slow tests, which build the environments of Horovod, TensorFlow, ChainerMN
# PyPI's torch brings CUDA on Linux (several GB). The small one:
#   make demo TORCH='torch==2.13.0+cpu' PIP_OPTIONS='--extra-index-url https://download.pytorch.org/whl/cpu'
PYTHON ?= python3
TORCH ?= torch==2.13.0
PIP_OPTIONS ?=
VENV ?= .venv
PYTEST_OPTIONS ?=
BUNDLE_OPTIONS ?=
RELEASE_OPTIONS ?=
BIN = $(VENV)/bin
# where it is set, each of the thousands of Pythons that tests start compiles all modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-gpu lint bundle docs site release messages constraints clean

demo: $(VENV)/.demo
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/demo.py demo

test: $(VENV)/.test
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(PYTEST_OPTIONS)

test-all: $(VENV)/.test lint
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m "" $(PYTEST_OPTIONS)

lint: $(VENV)/.test
	$(BIN)/ruff check hackathon tests recipes team_projects docs po bundle
	$(BIN)/ruff format --check hackathon tests docs po bundle
	$(BIN)/mypy hackathon
	$(BIN)/python -m pytest -q -n 0 tests/lint
	@if command -v node >/dev/null && [ -d node_modules/textlint ]; then node po/textlint.mjs; \
	else echo 'Japanese texts were not checked by textlint. To install it (Node 20 or newer): npm ci --ignore-scripts'; fi

# One file with the toolkit and all its dependencies, for login nodes: docs/how-to/install.md.
bundle: $(BIN)/python
	$(BIN)/python bundle/build.py $(BUNDLE_OPTIONS)

# What needs a GPU, with the Python that holds a torch with CUDA; writes gpu-report.json and gpu-report.md. Without a
# GPU each part says that it was not run. No part begins after 8 minutes. One test at a time: that Python may lack xdist.
test-gpu:
	GPU_REPORT=gpu-report $(PYTHON) -m pytest -q -s -o addopts='--strict-markers --import-mode=importlib' -o required_plugins= tests/gpu

# Wheel, sdist, bundle and site in dist/, tried in fresh environments; what is still to be filled in is listed.
release: $(BIN)/python
	$(BIN)/python -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --quiet --upgrade pip 'build>=1.2' 'hatchling>=1.24' 'twine>=6.1' '.[docs]'
	$(VENV)/release/bin/python bundle/release.py $(RELEASE_OPTIONS)

# The versions and hashes of everything that the tests and the bundle take from the package index, for every Python and
# Linux machine: the newest that pyproject.toml allows.
constraints: $(BIN)/python
	$(PYTHON) -m venv $(VENV)/uv  # apart: `hackathon env create` takes a uv that lies beside its Python
	$(VENV)/uv/bin/python -m pip install --quiet 'uv>=0.9'
	$(VENV)/uv/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --python-version 3.11 \
	  --default-index https://pypi.org/simple --custom-compile-command 'make constraints' \
	  --extra mpi --extra share --extra web --extra dev --extra docs pyproject.toml constraints.in -o constraints.txt

# New texts into the .po files of the translations, old ones out of them; what is left to translate is named.
messages: $(VENV)/.test
	$(BIN)/python po/update.py

# All pages as Markdown, those of the reference with the lists that the program makes of itself.
docs: $(VENV)/.test
	rm -rf build/docs
	$(BIN)/python docs/build.py build/docs

# The documentation as a site in build/site, which a browser opens without a web server. A broken link fails.
site: docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet $(PIP_OPTIONS) '$(TORCH)'
	$(BIN)/python -m pip install --quiet -e '.[torch,share]'
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r constraints.txt
	$(BIN)/python -m pip install --quiet $(PIP_OPTIONS) '$(TORCH)'
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $(VENV)/.demo $@

clean:
	rm -rf $(VENV) demo dist/hackathon.pyz build/docs build/site
