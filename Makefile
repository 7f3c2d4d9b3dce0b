# make alone says what there is.

# What set-up makes the environments with, if the framework runs on it.
PYTHON    ?= python3

# A row of d2l_local/base/frameworks.ini, the one list of frameworks.
FRAMEWORKS := $(shell $(PYTHON) -m d2l_local.base.frameworks)
FRAMEWORK  ?= $(firstword $(FRAMEWORKS))
fact = $(shell $(PYTHON) -m d2l_local.base.frameworks $(1) $(2))
ifeq ($(FRAMEWORKS),)
$(error make needs Python 3, and $(PYTHON) does not run here; name another: make PYTHON=/path/to/python3)
endif
ifeq ($(filter $(FRAMEWORK),$(FRAMEWORKS)),)
$(error there is no framework $(FRAMEWORK); there is: $(FRAMEWORKS))
endif

VENV   := $(call fact,$(FRAMEWORK),venv)
PY     := $(VENV)/bin/python
# uv, fetched where there is none, and told of pip's settings.
UV     := $(PYTHON) -m d2l_local uv
# Sections to work on, e.g. make run SECTIONS="index hybridize"; all by default.
CHOICE := --framework $(FRAMEWORK) $(addprefix --section ,$(SECTIONS))

# The tests and notebooks start many processes; byte code spares each some seconds of compiling.
unexport PYTHONDONTWRITEBYTECODE
# Another Python's packages have no business in the environments.
unexport PYTHONPATH PYTHONHOME

.PHONY: always help setup run test test-unit coverage lab notebooks check stamp bench lint types lock clean setup-web html serve test-web test-again test-plants test-colab wheel test-wheel
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup:  ## Make .venv and install everything into it, once; everything below begins with this
	@$(PYTHON) -m d2l_local setup --framework $(FRAMEWORK) $(if $(filter setup,$(MAKECMDGOALS)),,--quiet)

run: setup  ## Execute every notebook; copies go to build/ (a story is executed in one language, told in the others)
	$(PY) -m book.builder run $(CHOICE)

# Each process loads a framework, so no more than a few. None of these tests compares two clocks:
# what is timed is processor time, or the overlap of recorded spans.
PARALLEL := --numprocesses 4 --dist worksteal
# Whole notebooks beside each other. They do compare clocks, in ways that stand other programs.
TWO_NOTEBOOKS := --numprocesses 2 --dist loadscope

test-unit: setup  ## Test the parts of the package
	$(PY) -m pytest --quiet $(PARALLEL) tests/unit tests/backend

test: setup  ## Test the package, the builder, the text and the notebooks
	$(PY) -m pytest --quiet $(PARALLEL) --junitxml=build/reports/package.xml $(call fact,$(FRAMEWORK),tests)
	$(PY) -m pytest --quiet --junitxml=build/reports/notebooks.xml -p book.nbval $(TWO_NOTEBOOKS) --timeout=1200 --nbval --nbval-sanitize-with tests/nbval.cfg chapters/$(FRAMEWORK)

coverage: setup  ## List the lines of what needs no framework that no test reaches (slow)
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest --quiet $(PARALLEL) $(call fact,$(FRAMEWORK),tests)
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

test-again: setup  ## Run every notebook again in its kernel, after a failure, from elsewhere (slow)
	$(PY) -m pytest --quiet -m slow tests/slow/test_notebooks.py

test-plants: setup  ## Execute experiments with a false line in each; a check must notice (slow)
	$(PY) -m pytest --quiet -m 'slow or not slow' tests/book/test_plants.py

test-colab: setup  ## Run every notebook in Pythons like Colab's and Kaggle's (slow; OPTIONS="-k kaggle")
	$(PY) -m pytest --quiet -m slow --capture=no tests/book/test_colab.py $(OPTIONS)

wheel: setup  ## Build the package that pip installs, into build/dist
	rm -rf build/dist
	$(PY) -m hatchling build --directory build/dist

# In an environment of its own, because twine needs much that nothing else does.
test-wheel: wheel  ## Test it in an empty Python, of the version of this one (slow)
	$(UV) tool run --quiet --with-requirements requirements/package.txt twine check --strict build/dist/*
	WHEEL=$$(ls build/dist/*.whl) $(PY) -m pytest --quiet -m 'slow or not slow' --capture=no tests/book/test_package.py

lab: setup  ## Open JupyterLab on the notebooks (LANGUAGE=zh for Chinese; OPTIONS are JupyterLab's)
	$(PY) -m d2l_local lab --framework $(FRAMEWORK) $(if $(filter command,$(origin LANGUAGE)),--language $(LANGUAGE)) $(OPTIONS)

notebooks: setup  ## Build the notebooks from chapters/text and execute what changed
	$(PY) -m book.builder build $(CHOICE)

check: setup  ## Check text and notebooks without executing anything (RELEASE=1: as a release must be)
	$(PY) -m book.builder check $(if $(RELEASE),--release) $(addprefix --section ,$(SECTIONS))

stamp: setup  ## Confirm that the translations match, after reading them again
	$(PY) -m book.builder stamp $(addprefix --section ,$(SECTIONS))

bench: setup  ## Measure the figures that the chapter promises
	$(PY) $(call fact,$(FRAMEWORK),bench)

WEB_PY := .venv-web/bin/python

setup-web: .venv-web/ready-web book/web/node_modules/ready  ## Install what the web book needs, once

# Asked each time, and newer only where something was to do.
.venv-web/ready-web: always
	@$(PYTHON) -m d2l_local setup --web --quiet

book/web/node_modules/ready: book/web/package-lock.json
	npm ci --prefix book/web --no-audit --no-fund --loglevel error || { echo "make: the web book takes its JavaScript from npm; on Debian and Ubuntu: apt-get install npm"; exit 1; }
	touch $@

html: build/html/index.html  ## Build the web book from the committed notebooks, executing nothing

build/html/index.html: .venv-web/ready-web book/web/node_modules/ready pyproject.toml $(wildcard chapters/*/*/*.ipynb chapters/text/glossary.yml d2l_local/base/frameworks.ini img/*.svg book/web/*.* book/web/static/* book/web/templates/* book/web/templates/*/*)
	$(WEB_PY) -m book.web

serve: html  ## Build the web book and serve it on this machine (PORT=8000)
	$(WEB_PY) -m book.web.serve $(addprefix --port ,$(PORT))

test-web: setup-web  ## Test the web book in Chromium, which is installed if there is none
	$(WEB_PY) tests/web/browser.py
	$(WEB_PY) -m pytest --quiet --confcutdir tests/web --junitxml=build/reports/web.xml tests/web

schema = $(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.$(1)

lint: setup  ## Lint and format the code, the notebooks' cells too, and lint what GitHub reads
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m mypy
	@imports=$$($(VENV)/bin/lint-imports --no-cache) || { echo "$$imports"; exit 1; }
	$(PY) -m book.builder format
	$(call schema,github-workflows) .github/workflows/*.yml
	$(call schema,github-issue-forms) $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(call schema,github-issue-config) .github/ISSUE_TEMPLATE/config.yml
	$(call schema,dependabot) .github/dependabot.yml
	$(call schema,citation-file-format) CITATION.cff
	$(VENV)/bin/zizmor --quiet --offline --no-progress .github

types: setup  ## Check the types, on each system (FRAMEWORK=pytorch: with those of PyTorch)
	$(foreach system,linux darwin win32,$(PY) -m mypy --platform $(system) &&) true

compile_lock = $(UV) pip compile --quiet --upgrade --universal --python-version $(1) --generate-hashes --no-emit-index-url --no-emit-find-links

lock:  ## Renew the lock files from pyproject.toml
	$(foreach name,$(FRAMEWORKS),$(call compile_lock,$(firstword $(call fact,$(name),pythons))) $(addprefix --extra ,$(call fact,$(name),lock)) pyproject.toml --output-file requirements/$(name).txt &&) true
	$(call compile_lock,3.11) --group web --output-file requirements/web.txt
	$(call compile_lock,3.9) --group package --output-file requirements/package.txt
	npm update --prefix book/web --package-lock-only
	echo uv | $(call compile_lock,3.9) --no-header - --output-file requirements/uv.txt

clean:  ## Remove everything that was made here: .venv, .uv, build
	rm -rf .venv .venv-* .uv book/web/node_modules build .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
