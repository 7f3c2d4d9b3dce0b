# make alone says what there is.
PYTHON    ?= python3

# A row of d2l_local/frameworks.ini, the one list of frameworks.
FRAMEWORKS := $(shell $(PYTHON) -m d2l_local.frameworks)
FRAMEWORK  ?= $(firstword $(FRAMEWORKS))
fact = $(shell $(PYTHON) -m d2l_local.frameworks $(1) $(2))
ifeq ($(FRAMEWORKS),)
$(error make needs Python 3, and $(PYTHON) does not run here; name another: make PYTHON=/path/to/python3)
endif
ifeq ($(filter $(FRAMEWORK),$(FRAMEWORKS)),)
$(error there is no framework $(FRAMEWORK); there is: $(FRAMEWORKS))
endif

# LANGUAGE is gettext's variable as well, which Ubuntu sets to the like of zh_CN:zh:en_US. What
# nobody typed need not be a language of the book.
LANGUAGES := $(notdir $(patsubst %/,%,$(wildcard chapters/$(FRAMEWORK)/*/)))
ASKED     := $(foreach part,$(subst :, ,$(LANGUAGE)),$(part) $(firstword $(subst _, ,$(part))))
EDITION    = $(or $(firstword $(filter $(LANGUAGES),$(ASKED))),$(if $(filter command,$(origin LANGUAGE)),$(error there is no language $(LANGUAGE); there is: $(LANGUAGES)),en))

VENV   := $(call fact,$(FRAMEWORK),venv)
PY     := $(VENV)/bin/python
LOCK   := requirements/$(FRAMEWORK).txt
READY  := $(VENV)/ready-$(FRAMEWORK)
UV     := $(or $(shell command -v uv),.uv/bin/uv)
# Sections to work on, e.g. make run SECTIONS="index hybridize"; all by default.
CHOICE := --framework $(FRAMEWORK) $(addprefix --section ,$(SECTIONS))

PYTHONS  = $(call fact,$(FRAMEWORK),requires_python)
# What is pinned without hashes, because the machine decides between its builds: PyTorch for CUDA
# where there is a driver, else for the CPU, from PyTorch's own address; or what PIP_FIND_LINKS or
# PIP_INDEX_URL offers, where one is set: such a reader may reach no other address. With it come the
# CUDA libraries of its build. What every build needs is in the lock file, with hashes.
UNLOCKED := $(call fact,$(FRAMEWORK),unlocked)

# uv has its own names for three of pip's settings; a reader who set pip's means uv too.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif

# The tests and notebooks start many processes; byte code spares each some seconds of compiling.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test test-unit lab notebooks check stamp bench lint types lock clean setup-web html serve test-web test-matrix test-again test-colab wheel test-wheel test-arm64
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(READY)  ## Make .venv and install everything into it, once

# An environment that set-up was killed in, or whose Python was removed since, is made anew.
is_venv = $(1)/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null
new_venv = $(call is_venv,$(1)) || { test ! -e $(1) || echo "make: $(1) has no Python that works; it is made anew"; rm -rf $(1) && $(UV) venv --quiet --python '$(2)' $(1) || $(call no_python,$(2)); }
# What uv fetches then is the only thing in set-up that is on no package index.
no_python = { echo "make: here is no Python $(1), and uv could fetch none; install one, or name a mirror of its downloads in UV_PYTHON_INSTALL_MIRROR"; exit 1; }
.PHONY: gone
gone = $(shell test ! -e $(1) || test -x $(dir $(1))bin/python || echo gone)

# One make at a time sets up; another waits, and then finds everything made.
ifndef ALONE
FLOCK := $(shell command -v flock)
$(READY): $(LOCK) $(UNLOCKED) pyproject.toml $(call gone,$(READY))
.venv-web/ready: requirements/web.txt $(call gone,.venv-web/ready)
$(sort $(READY) .venv-web/ready):
	@$(if $(FLOCK),$(FLOCK) -n Makefile true || echo "make: waits for another make that sets up")
	@$(if $(FLOCK),$(FLOCK) Makefile) $(MAKE) --no-print-directory ALONE=yes $@
else
# The virtual environment is made with a Python that the framework runs on. The lock's hashes are
# checked.
$(READY): $(LOCK) $(UNLOCKED) pyproject.toml $(call gone,$(READY)) | $(UV)
	@$(call new_venv,$(VENV),$(PYTHONS))
	$(UV) pip sync --quiet --compile-bytecode --require-hashes --python $(PY) $(LOCK)
	$(if $(UNLOCKED),$(UV) pip install --quiet --compile-bytecode --python $(PY) $(if $(UV_FIND_LINKS)$(UV_DEFAULT_INDEX),,--torch-backend=auto) --requirement $(UNLOCKED))
	$(UV) pip install --quiet --no-deps --no-build-isolation --offline --python $(PY) --editable .
	touch $@

.venv-web/ready: requirements/web.txt $(call gone,.venv-web/ready) | $(UV)
	@$(call new_venv,.venv-web,>=3.11)
	$(UV) pip sync --quiet --compile-bytecode --require-hashes --python $(WEB_PY) $<
	touch $@
endif

.uv/bin/uv:
	$(PYTHON) -m venv .uv || { echo "make: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	.uv/bin/python -m pip install --quiet --require-hashes --requirement requirements/uv.txt

run: $(READY)  ## Execute every notebook in every language; copies go to build/
	$(PY) -m book.builder run $(CHOICE)

# Each process loads a framework, so no more than a few. None of these tests compares two clocks:
# what is timed is processor time, or the overlap of recorded spans.
PARALLEL := --numprocesses 4 --dist worksteal
# Whole notebooks beside each other. They do compare clocks, in ways that stand other programs.
TWO_NOTEBOOKS := --numprocesses 2 --dist loadscope

test-unit: $(READY)  ## Test the parts of the package: a minute on two cores
	$(PY) -m pytest --quiet $(PARALLEL) tests/unit

test: $(READY)  ## Test the package, the builder, the text and the notebooks
	$(PY) -m pytest --quiet $(PARALLEL) --junitxml=build/reports/package.xml $(call fact,$(FRAMEWORK),tests)
	$(PY) -m pytest --quiet --junitxml=build/reports/notebooks.xml -p book.nbval $(TWO_NOTEBOOKS) --nbval --nbval-sanitize-with tests/nbval.cfg chapters/$(FRAMEWORK)

test-matrix: $(READY)  ## Test the package on every Python here, with the oldest and the newest NumPy
	$(PY) tests/matrix.py $(OPTIONS)

test-again: $(READY)  ## Run every notebook again in its kernel, after a failure, from elsewhere (slow)
	$(PY) -m pytest --quiet -m slow tests/slow/test_notebooks.py

test-colab: $(READY)  ## Run every notebook in Pythons like Colab's and Kaggle's (slow; OPTIONS="-k kaggle")
	$(PY) -m pytest --quiet -m slow --capture=no tests/book/test_colab.py $(OPTIONS)

wheel: $(READY)  ## Build the package that pip installs, into build/dist
	rm -rf build/dist
	$(PY) -m hatchling build --directory build/dist

# In an environment of its own, because twine needs much that nothing else does.
test-wheel: wheel | $(UV)  ## Test it in an empty Python, of the version of this one (slow)
	$(UV) tool run --quiet --with-requirements requirements/package.txt twine check --strict build/dist/*
	WHEEL=$$(ls build/dist/*.whl) $(PY) -m pytest --quiet -m 'slow or not slow' --capture=no tests/book/test_package.py

test-arm64:  ## Do what the Dockerfile says on an emulated ARM, as root, and test there (slow)
	$(PYTHON) -m tests.arm64 $(OPTIONS)

lab: $(READY)  ## Open JupyterLab on the notebooks (LANGUAGE=zh for Chinese)
	$(PY) -m jupyterlab --notebook-dir chapters/$(FRAMEWORK)/$(EDITION)

notebooks: $(READY)  ## Build the notebooks from chapters/text and execute what changed
	$(PY) -m book.builder build $(CHOICE)

check: $(READY)  ## Check text and notebooks without executing anything (RELEASE=1: as a release must be)
	$(PY) -m book.builder check $(if $(RELEASE),--release)

stamp: $(READY)  ## Confirm that the translations match, after reading them again
	$(PY) -m book.builder stamp $(addprefix --section ,$(SECTIONS))

bench: $(READY)  ## Measure the figures that the chapter promises
	$(PY) $(call fact,$(FRAMEWORK),bench)

WEB_PY := .venv-web/bin/python

setup-web: .venv-web/ready book/web/node_modules/ready  ## Install what the web book needs, once

book/web/node_modules/ready: book/web/package-lock.json
	npm ci --prefix book/web --no-audit --no-fund --loglevel error || { echo "make: the web book takes its JavaScript from npm; on Debian and Ubuntu: apt-get install npm"; exit 1; }
	touch $@

html: build/html/index.html  ## Build the web book from the committed notebooks, executing nothing

build/html/index.html: .venv-web/ready book/web/node_modules/ready pyproject.toml $(wildcard chapters/*/*/*.ipynb chapters/text/glossary.yml d2l_local/frameworks.ini img/*.svg book/web/*.* book/web/static/* book/web/templates/* book/web/templates/*/*)
	$(WEB_PY) -m book.web

serve: html  ## Build the web book and serve it on this machine (PORT=8000)
	$(WEB_PY) -m book.web.serve $(addprefix --port ,$(PORT))

test-web: setup-web  ## Test the web book in Chromium, which is installed if there is none
	$(WEB_PY) tests/web/browser.py
	$(WEB_PY) -m pytest --quiet --confcutdir tests/web --junitxml=build/reports/web.xml tests/web

lint: $(READY)  ## Lint and format the code, the notebooks' cells too
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m mypy
	$(PY) -m book.builder format

types: $(READY)  ## Check the types, on each system (FRAMEWORK=pytorch: with those of PyTorch)
	$(foreach system,linux darwin win32,$(PY) -m mypy --platform $(system) &&) true

compile_lock = $(UV) pip compile --quiet --upgrade --universal --python-version $(1) --generate-hashes --no-emit-index-url --no-emit-find-links

lock: | $(UV)  ## Renew the lock files from pyproject.toml
	$(foreach name,$(FRAMEWORKS),$(call compile_lock,$(firstword $(call fact,$(name),pythons))) $(addprefix --extra ,$(call fact,$(name),lock)) pyproject.toml --output-file requirements/$(name).txt &&) true
	$(call compile_lock,3.11) --group web --output-file requirements/web.txt
	$(call compile_lock,3.9) --group package --output-file requirements/package.txt
	npm update --prefix book/web --package-lock-only
	echo uv | $(call compile_lock,3.9) --no-header - --output-file requirements/uv.txt

clean:  ## Remove everything that was made here: .venv, .uv, build
	rm -rf .venv .venv-* .uv book/web/node_modules build .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
