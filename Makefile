# Works on a fresh clone with Python 3.11 or later, make and a C compiler.

PYTHON ?= python3
WORKERS ?= auto# processes that share the tests; 0 runs them in this one

BIN := .venv/bin
CHECKED := build/checked
READY := .venv/.ready
KERNELS := $(sort $(shell find stream_bayes -mindepth 2 -name '_[!_]*.py' -o -mindepth 2 -name '_[!_]*.pxd'))
# Kernels without a compiled twin, and twins that lost their kernel: time stamps say nothing of either.
# What they share is compiled too, and has no kernel: Cython writes its source.
SHARED := $(wildcard stream_bayes/core/_memoryviews.*.so)
SOURCES := $(filter %.py,$(KERNELS))
STALE := $(strip $(if $(SHARED),,shared) $(foreach source,$(SOURCES),$(if $(wildcard $(source:.py=.*.so)),,$(source))) \
	$(foreach twin,$(filter-out $(SHARED),$(shell find stream_bayes -name '*.so')),$(if $(wildcard $(firstword $(subst ., ,$(twin))).py),,$(twin))))
# The laws run on every build, and so do worked examples and River's checks. test_build.py shows which one that is.
LAWS := tests/laws tests/core tests/golden tests/learners/test_river_checks.py \
	tests/streams/files/test_plain_cells.py tests/test_build.py
PYTEST := -m pytest --quiet -n $(WORKERS)

# Each step below says for itself which build it wants, and which tree it imports.
unexport PYTHONPATH STREAM_BAYES_PURE STREAM_BAYES_BOUNDS
# Each of some hundred processes that the tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

say = @printf '\n== %s\n' '$(1)'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s%s\n", $$1, $$2}'

.PHONY: setup
setup: $(READY)  ## make .venv, compile the kernels, install everything needed to develop

.PHONY: demo
demo: $(READY)  ## a spam filter on made-up mails, then models side by side on a stream
	$(call say,demo: judge each mail and predict each event$(comma) then learn it)
	@$(BIN)/python -m stream_bayes.demo

.PHONY: test
test: test-compiled test-pure test-checked  ## run the tests on the compiled build, and the laws and worked examples on all three
	$(call say,all tests passed on all three builds)

.PHONY: test-compiled
test-compiled: $(READY)
	$(call say,test 1 of 3: everything$(comma) on the compiled build)
	@$(BIN)/python $(PYTEST) --build=compiled --ignore=tests/kafka
	$(call say,test 1 of 3: Kafka$(comma) in one process$(comma) with one broker)
	@$(BIN)/python -m pytest --quiet --build=compiled tests/kafka

.PHONY: test-pure
test-pure: $(READY)
	$(call say,test 2 of 3: the laws$(comma) worked examples and the checks of River$(comma) uncompiled)
	@STREAM_BAYES_PURE=1 $(BIN)/python $(PYTEST) --build=pure $(LAWS)

# In a tree of its own, tests included, so that nothing can import the unchecked kernels by mistake.
.PHONY: test-checked
test-checked: $(CHECKED)/.ready
	@find $(CHECKED) -type f ! -name '*.so' ! -name .ready -delete
	@tar -cf - --exclude='*.so' --exclude=__pycache__ stream_bayes tests conftest.py pyproject.toml | tar -xf - -C $(CHECKED)
	$(call say,test 3 of 3: the same$(comma) with bounds checks compiled in)
	@cd $(CHECKED) && $(CURDIR)/$(BIN)/python $(PYTEST) --build=checked $(LAWS)

.PHONY: bench
bench: $(READY)  ## measure speed and accuracy, on the compiled build
	$(call say,benchmarks)
	@$(BIN)/python -m benchmarks

.PHONY: soak
soak: $(READY)  ## run the tests that take long
	$(call say,soak tests)
	@$(BIN)/python $(PYTEST) --build=compiled --hypothesis-profile=soak -m soak

.PHONY: lint
lint: $(READY)  ## check style, format and types
	$(call say,lint: style)
	@$(BIN)/ruff check
	$(call say,lint: format)
	@$(BIN)/ruff format --check
	$(call say,lint: types)
	@$(BIN)/mypy

.PHONY: format
format: $(READY)  ## rewrite the files in the common format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

.PHONY: clean
clean:  ## remove everything that was built, .venv included
	rm -rf .venv build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find stream_bayes \( -name '*.so' -o -name '*.c' \) -delete
	find stream_bayes tests -name __pycache__ -type d -prune -exec rm -rf {} +

comma := ,

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"stream_bayes needs Python 3.11 or later; choose one with: make PYTHON=/path/to/python3")'
	$(call say,making .venv)
	@$(PYTHON) -m venv .venv

# The old .so goes first: one that lost its source, or that failed to build, must not be found again.
# When only kernels changed, compiling in place is enough and needs no network.
$(READY): pyproject.toml setup.py stream_bayes/_build.py $(KERNELS) $(if $(STALE),stale) | $(BIN)/python
	@find stream_bayes -name '*.so' -delete
	$(if $(filter-out $(KERNELS) stale,$?),$(install),$(compile))
	@touch $@

.PHONY: stale
stale:

define install
$(call say,installing into .venv$(comma) and compiling the kernels)
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
endef

define compile
$(call say,compiling the kernels)
@$(BIN)/python setup.py --quiet build_ext --inplace
endef

$(CHECKED)/.ready: setup.py $(KERNELS) | $(READY)
	$(call say,compiling the kernels with bounds checks$(comma) warnings being errors)
	@rm -rf $(CHECKED)
	@STREAM_BAYES_BOUNDS=1 $(BIN)/python setup.py --quiet build_ext --build-lib $(CHECKED) --build-temp build/checked-objects
	@grep -rq RaiseBufferIndexError build/checked-objects || { echo 'the checked build checks no bounds'; exit 1; }
	@touch $@
