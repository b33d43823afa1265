# Works on a fresh clone with Python 3.11 or later, make and a C compiler.

PYTHON ?= python3
WORKERS ?= auto# processes that share the tests; 0 runs them in this one

BIN := .venv/bin
CHECKED := build/checked
# A stamp for each set of packages in .venv: the demo's, and all that development needs.
DEMO := .venv/.demo
# Where nobody looks, as in CI, the page of the demo ends after so many seconds.
PAGE_SECONDS ?= 10
DEV := .venv/.dev
PYTEST := -m pytest --quiet -n $(WORKERS)
# Run on every build: the laws, worked examples, and the rooms of the core that have kernels. tests/builds.py says how
# much of it. River's checks run with bounds checks too, as they bring features that come and go; uncompiled they would
# ask the same Python once more.
KERNELS := $(patsubst stream_bayes/%/,tests/%,$(sort $(dir $(wildcard stream_bayes/core/*/_[!_]*.py))))
LAWS := tests/laws $(KERNELS) tests/golden tests/streams/files/test_plain_cells.py tests/test_build.py

# Each step below chooses its build and its tree itself.
unexport PYTHONPATH STREAM_BAYES_PURE STREAM_BAYES_BOUNDS
# Without bytecode each of some hundred processes that the tests start would compile all its imports.
unexport PYTHONDONTWRITEBYTECODE

comma := ,
say = @printf '\n== %s\n' '$(1)'
# Only what has changed is compiled; see setup.py.
compile = @$(BIN)/python setup.py --quiet build_ext --inplace
# The kernels are compiled apart, so installing is quick; Python compiles a module when it is first imported.
install = @STREAM_BAYES_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s%s\n", $$1, $$2}'

.PHONY: setup
setup: $(DEV)  ## make .venv with everything needed to develop, and compile the kernels that changed
	$(compile)

.PHONY: demo
demo: $(DEMO)  ## a spam filter on made-up mails, models side by side on a stream, then both live on a page
	$(call say,compiling the kernels that changed)
	$(compile)
	$(call say,demo: judge each mail and predict each event$(comma) then learn it)
	@$(BIN)/python -m stream_bayes.demo
	$(call say,demo: a stream that drifts and a filter live in a browser$(comma) until Ctrl-C)
	@if [ -t 1 ]; then $(BIN)/python -m stream_bayes demo; \
	else $(BIN)/python -m stream_bayes demo --no-browser --port 0 --seconds $(PAGE_SECONDS); fi

.PHONY: check
check: setup lint  ## check style, types and the tests that your edit can break, in some three minutes
	$(call say,check: the rules of the house$(comma) a core of laws$(comma) and the rooms you changed)
	@$(BIN)/python $(PYTEST) --build=compiled $$($(BIN)/python -m tests.affected)
	@$(BIN)/python -m stream_bayes.testing --once

# Kafka's tests mostly wait, so they run at the same time as all others, in processes with a broker each. Their output
# is shown in one piece, at their end: the lines of the others come as they go.
KAFKA_WORKERS ?= 2
.PHONY: test
test: setup  ## run all tests on the compiled build
	@$(MAKE) --no-print-directory --jobs=2 test-kafka test-all-but-kafka

.PHONY: test-all-but-kafka
test-all-but-kafka:
	$(call say,test: everything but Kafka)
	@$(BIN)/python $(PYTEST) --build=compiled --ignore=tests/kafka_broker

.PHONY: test-kafka
test-kafka:
	@mkdir -p build
	@$(BIN)/python -m pytest --quiet -n $(KAFKA_WORKERS) --build=compiled tests/kafka_broker >build/test-kafka.log 2>&1; status=$$?; \
		printf '\n== test: Kafka\n'; cat build/test-kafka.log; exit $$status

# Needs Chromium with its driver, and nginx (apt-get install chromium chromium-driver nginx-light); what is missing is
# skipped, and said.
.PHONY: test-browser
test-browser: setup  ## run the tests of the page in a headless Chromium and behind nginx
	$(call say,test: the page in a browser)
	@$(BIN)/python -m pytest --quiet -rs --build=compiled -m browser tests/browser

.PHONY: screenshots
screenshots: setup  ## take the pictures of the page that the documentation shows; then look at them
	$(call say,docs: pictures of the page)
	@$(BIN)/python -m tests.browser.screenshots docs/images

# Needs what tests/mail_systems/programs.py lists, and root for some of it; what is missing is skipped, and said.
.PHONY: test-mail-systems
test-mail-systems: setup  ## run the filter in Postfix, rspamd, Dovecot, procmail and systemd's programs
	$(call say,test: the spam filter in mail systems)
	@$(BIN)/python -m pytest --quiet -rs --build=compiled -m 'not soak' tests/mail_systems \
		tests/mail/server/test_mail_systems.py tests/mail/server/test_users_in_mail_systems.py \
		tests/mail/filter/test_other_filters.py

.PHONY: test-pure
test-pure: setup
	$(call say,test: laws and worked examples$(comma) uncompiled)
	@STREAM_BAYES_PURE=1 $(BIN)/python $(PYTEST) --build=pure $(LAWS)

# Without its products, in a copy: what is left must work on. The laws and kernels cannot know a product, so they are
# left out, and processes that are killed, or crash, at each step say nothing about products.
APART := build/apart
.PHONY: test-apart
test-apart: setup  ## run the tests of what is left without mail, Kafka, workers and the service
	$(call say,test: without mail$(comma) Kafka$(comma) workers and the service)
	@rm -rf $(APART) && mkdir -p $(APART)
	@tar -cf - --exclude=__pycache__ stream_bayes tests examples docs conftest.py pyproject.toml | tar -xf - -C $(APART)
	@cd $(APART) && rm -rf $(foreach room,mail kafka workers serve,stream_bayes/$(room) tests/$(room)) \
		tests/kafka_broker tests/mail_systems tests/browser tests/repository
	@cd $(APART) && rm -f $$(grep -rlE 'from tests\.(mail|kafka|workers|serve)' tests)
	@cd $(APART) && PYTHONPATH=$(CURDIR)/$(APART) $(CURDIR)/$(BIN)/python $(PYTEST) --build=compiled -k 'not killed and not crash and not power_cut' \
		tests/streams tests/cli tests/saving/snapshots tests/evaluation tests/door

# In a tree of its own, tests included, so that nothing can import the unchecked kernels by mistake.
.PHONY: test-checked
test-checked: $(CHECKED)/.ready
	@find $(CHECKED) -type f ! -name '*.so' ! -name .ready -delete
	@tar -cf - --exclude='*.so' --exclude=__pycache__ stream_bayes tests conftest.py pyproject.toml | tar -xf - -C $(CHECKED)
	$(call say,test: the same$(comma) with bounds checks compiled in)
	@cd $(CHECKED) && $(CURDIR)/$(BIN)/python $(PYTEST) --build=checked $(LAWS) tests/learners/test_river_checks.py

# Runs the notebooks, and fails for a warning, such as a link to nowhere.
.PHONY: docs
docs: setup  ## build the documentation into build/site
	$(call say,documentation)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo build/site/index.html

.PHONY: sbom
sbom: setup  ## list the package and what it needs in build/stream_bayes.cdx.json, a CycloneDX bill of materials
	@mkdir -p build && $(BIN)/python docker/make_sbom.py >build/stream_bayes.cdx.json && echo build/stream_bayes.cdx.json

.PHONY: bench
bench: setup  ## measure speed and accuracy, on the compiled build
	$(call say,benchmarks)
	@$(BIN)/python -m benchmarks

# Needs valgrind (apt-get install valgrind); a minute and a half.
.PHONY: bench-guard
bench-guard: setup  ## count the instructions of kernels and paths, and make them the baseline of .ci/run
	$(call say,benchmarks: a new baseline of instructions)
	@$(BIN)/python -m benchmarks.guard --renew

EVENTS ?= 5000# of each stream

.PHONY: bench-streams
bench-streams: setup  ## compare AdaptiveBayes with River's classifiers on public streams; hours
	$(call say,benchmarks: public streams)
	@$(BIN)/python -m benchmarks.streams --events $(EVENTS)

.PHONY: bench-regression
bench-regression: setup  ## compare AdaptiveRegression with kept results of River's and MOA's regressors; runs those that are not kept; minutes
	$(call say,benchmarks: numbers as targets)
	@PYTHONPATH=build/capymoa $(BIN)/python -m benchmarks.regression $(OPTIONS)

.PHONY: capymoa
capymoa: setup  ## install CapyMOA in build/capymoa, for the benchmarks with MOA; it needs Java
	@$(BIN)/python -m pip install --quiet --upgrade --target build/capymoa --no-deps \
		capymoa==0.15.1 'jpype1~=1.7,!=1.7.0' deprecated wrapt seaborn tqdm

.PHONY: bench-streams-moa
bench-streams-moa: capymoa  ## the same for MOA's classifiers; needs Java
	$(call say,benchmarks: public streams with MOA)
	@PYTHONPATH=build/capymoa $(BIN)/python -m benchmarks.streams --events $(EVENTS) --model CapyMOA

.PHONY: soak
soak: setup  ## run the tests that take minutes each
	$(call say,soak tests)
	@$(BIN)/python $(PYTEST) --build=compiled --hypothesis-profile=soak -m soak

# As CI does for the lowest and the highest versions. pip-audit finds no fault in packages that its database
# does not have, so those are counted.
.PHONY: audit
audit: setup  ## compare the installed versions with a database of advisories, if one can be reached
	$(call say,audit: known faults of the installed packages)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/pip-audit pip-audit
	@$(BIN)/python -m pip freeze --exclude-editable >build/versions.txt
	@PYTHONPATH=build/pip-audit $(BIN)/python -m pip_audit --requirement build/versions.txt --no-deps --disable-pip \
		>build/audit.log 2>&1; cat build/audit.log; \
		all=$$(wc -l <build/versions.txt); skipped=$$(grep -c 'could not be audited' build/audit.log); \
		if grep -qE 'Found [0-9]+ known' build/audit.log; then exit 1; fi; \
		if grep -q 'No known vulnerabilities' build/audit.log && [ $$skipped -lt $$all ]; then \
			echo "audit: $$((all - skipped)) of $$all packages were compared"; exit 0; fi; \
		echo 'audit: nothing was compared: no database of advisories could be reached'; exit 2

.PHONY: lint
lint: $(DEV)  ## check style, format and types
	$(call say,lint: style)
	@$(BIN)/ruff check
	$(call say,lint: format)
	@$(BIN)/ruff format --check
	$(call say,lint: types)
	@$(BIN)/mypy

.PHONY: format
format: $(DEV)  ## rewrite the files in the common format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

.PHONY: declarations
declarations: $(DEV)  ## write the lists and tables that are made from the learners' catalogue
	@$(BIN)/python -m tests.repository.declarations
	@$(MAKE) --no-print-directory format

.PHONY: clean
clean:  ## remove everything that was built, .venv included
	rm -rf .venv build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find stream_bayes \( -name '*.so' -o -name '*.c' \) -delete
	find stream_bayes tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"stream_bayes needs Python 3.11 or later; choose one with: make PYTHON=/path/to/python3")'
	$(call say,making .venv)
	@$(PYTHON) -m venv .venv

$(DEMO): pyproject.toml stream_bayes/_build.py | $(BIN)/python
	$(call say,installing what the demo needs into .venv)
	$(install) '.[demo]'
	@touch $@

$(DEV): pyproject.toml stream_bayes/_build.py | $(BIN)/python
	$(call say,installing what development needs into .venv)
	$(install) '.[dev]'
	@touch $(DEMO) $@

$(CHECKED)/.ready: setup.py $(shell find stream_bayes -name '_[!_]*.py' -o -name '*.pxd') | $(DEV)
	$(call say,compiling the kernels with bounds checks$(comma) warnings being errors)
	@rm -rf $(CHECKED)
	@STREAM_BAYES_BOUNDS=1 $(BIN)/python setup.py --quiet build_ext --build-lib $(CHECKED) --build-temp build/checked-objects
	@grep -rq RaiseBufferIndexError build/checked-objects || { echo 'the checked build checks no bounds'; exit 1; }
	@touch $@
