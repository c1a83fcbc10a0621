# Preceptor on one machine: needs Python 3.11 or newer, make and a package index. `make` lists the targets.

VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
PYTHONS := $(PYTHON) python3.13 python3.12 python3.11 python3 python
TEMPLATES := $(shell find templates apps -name '*.html' | sort)
ONCE ?=
PORT ?= 8000
ARGS ?=
COVER ?=

# Where this is set, each of the hundred processes of a run would compile anew what it imports: minutes in all.
unexport PYTHONDONTWRITEBYTECODE

# What `make lint` runs, each from the virtual environment; the template tools refuse an empty list of files.
LINT := "ruff format --check ." "ruff check ." lint-imports mypy \
	$(if $(TEMPLATES),"djlint --check --lint --quiet $(TEMPLATES)" "djade --target-version 5.2 --check $(TEMPLATES)")

# The long proofs, and the same with short seeds.
PROOFS := benchmarks.prompt_assembly benchmarks.audit_chain benchmarks.sanitizer benchmarks.prompt_cache benchmarks.turn benchmarks.waiting_turns benchmarks.api benchmarks.sse_streams benchmarks.chaos tests.proofs.containment tests.proofs.production tests.proofs.openapi tests.proofs.connection_pools tests.proofs.random_acts tests.proofs.crowded_inbox tests.proofs.durability tests.proofs.whole_tests tests.proofs.coverage_order tests.proofs.coverage tests.proofs.mutants

# Not part of the short form: figures alone, which a busy machine does not tell, and what the tests do with short seeds already.
WHOLE_ONLY := benchmarks.audit_chain benchmarks.sanitizer benchmarks.turn benchmarks.waiting_turns benchmarks.api tests.proofs.durability tests.proofs.random_acts tests.proofs.connection_pools tests.proofs.whole_tests tests.proofs.coverage_order tests.proofs.coverage

# What pytest leaves out unless it is asked for by name; `-m` on a command line takes the place of pyproject's.
HERE := not browser and not live and not langgraph

# Tracing takes a twelfth of the time; `.ci/run` asks for it.
TRACED := --cov --cov-config=tests/conventions/kernel.coveragerc --cov-report=json

.PHONY: help demo test test-fast test-all format lint browser-test examples-test screenshots live-test proof proof-quick manage clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(RUNTIME) ## set up, start everything, play the story, stay until Ctrl-C (ONCE=1: stop after the story)
	@exec $(PY) -m apps.launcher demo --port $(PORT) $(if $(filter-out 0,$(ONCE)),--once)

test: $(DEV) ## set up and run the tests but the slow ones (ARGS="-k name" passes words to pytest)
	$(PY) -m pytest -n auto --dist worksteal -m "$(HERE) and not slow" $(ARGS)

test-fast: $(DEV) ## tests of the pure rules, in seconds: no database, no process
	FAST_TESTS=1 $(PY) -m pytest -n 2 --dist worksteal -q -m "$(HERE) and pure and not slow and not processes" $(ARGS)

test-all: $(DEV) ## all of them, as .ci/run does it: the slow ones too, counts held to their limits (COVER=1: floors of coverage too)
	$(if $(ARGS),,HOLD_COUNTS=1) $(PY) -m pytest -n auto --dist worksteal --durations=30 --durations-min=0.5 $(if $(COVER),$(TRACED)) $(ARGS)
	$(if $(COVER),$(if $(ARGS),,$(PY) -m tests.conventions.coverage_floors))

format: $(DEV) ## write code and templates in their form, and mend what can be mended
	@$(VENV)/bin/ruff format --quiet .
	@$(VENV)/bin/ruff check --fix --quiet . || true
	@$(VENV)/bin/djlint --reformat --quiet $(TEMPLATES) || true
	@$(VENV)/bin/djade --target-version 5.2 $(TEMPLATES) || true
	@$(VENV)/bin/ruff check .

lint: $(DEV) ## format, imports, types, templates
	@status=0; for check in $(LINT); do \
		echo "-- $$check" | cut -c 1-100; \
		$(VENV)/bin/$$check || status=1; \
	done; exit $$status

browser-test: $(DEV) ## tests in a real Chromium (says how to get one when it is missing; PICTURES=1: keep a picture of each page)
	$(PY) -m pytest -m browser -n 2 --dist loadfile --no-loadscope-reorder --durations=10 $(ARGS)

examples-test: $(DEV) ## run the programs of examples/ against a running product of ours, the one on LangGraph too
	@$(PY) -m uv pip install -q --require-hashes --target .preceptor/langgraph -r requirements-examples.lock
	LANGGRAPH_HOME=$(CURDIR)/.preceptor/langgraph $(PY) -m pytest -n 0 -m "langgraph or not langgraph" tests/end_to_end/test_example_programs.py $(ARGS)

screenshots: $(DEV) ## take the pictures of docs/console.md anew, in a real Chromium
	TAKE_PICTURES=1 $(PY) -m pytest -m browser -n 0 -q tests/browser/every_page/test_screenshots.py

live-test: $(DEV) ## the story against a real model endpoint; costs money and needs ANTHROPIC_API_KEY
	@test -n "$$ANTHROPIC_API_KEY" || { echo "Set ANTHROPIC_API_KEY: these tests talk to a real model."; exit 1; }
	$(PY) -m pytest -m live $(ARGS)

proof: $(DEV) ## the long proofs and benchmarks, whole (about an hour); fails where a promise is broken
	@status=0; for each in $(PROOFS); do echo "== $$each"; $(PY) -m $$each || status=1; done; exit $$status

proof-quick: $(DEV) ## the same with short seeds, as .ci/run does it
	@status=0; for each in $(filter-out $(WHOLE_ONLY),$(PROOFS)); do echo "== $$each"; began=$$(date +%s); \
		$(PY) -m $$each --quick || status=1; echo "-- $$each took $$(($$(date +%s) - began)) s"; done; exit $$status

manage: $(RUNTIME) ## run a command beside the databases: make manage ARGS="shell"
	@$(PY) -m apps.launcher run -- $(PY) manage.py $(ARGS)

clean: ## remove the virtual environment, caches, and the data of the demo
	@if [ -L .preceptor/elsewhere ]; then case "$$(readlink .preceptor/elsewhere)" in \
		*/preceptor-*) rm -rf "$$(readlink .preceptor/elsewhere)" ;; esac; fi
	rm -rf $(VENV) .preceptor .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage coverage*.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: newer than their lock file, so a second run installs nothing. Neither needs the other.
$(RUNTIME): requirements-embedded.lock | $(VENV)/.uv
	@$(call install,requirements-embedded.lock)

$(DEV): requirements-dev.lock | $(VENV)/.uv
	@$(call install,requirements-dev.lock)

# uv reads neither pip's settings nor its index; where it cannot install, pip does the same with the same hashes.
install = echo "Installing $(1) ..."; \
	if [ -z "$$UV_DEFAULT_INDEX" ] && [ -n "$$PIP_INDEX_URL" ]; then export UV_DEFAULT_INDEX="$$PIP_INDEX_URL"; fi; \
	$(PY) -m uv pip install --quiet --python $(PY) --require-hashes --compile-bytecode -r $(1) \
	|| { echo "uv could not; trying pip."; $(PY) -m pip install --quiet --require-hashes -r $(1); } \
	&& touch $@

# The virtual environment, and uv in it at the locked version and hash.
$(VENV)/.uv: requirements-dev.lock
	@python=; for candidate in $(PYTHONS); do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Python 3.11 or newer is missing (looked for: $(PYTHONS)). Install one, or name it: make demo PYTHON=/path/to/python3"; exit 1; \
	fi; \
	if ! $(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "Making $(VENV) with $$python ..."; rm -rf $(VENV); \
		"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
			echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }; \
	fi
	@awk '/^uv==/ { print; on = 1; next } /^[^ ]/ { on = 0 } on' requirements-dev.lock > $(VENV)/uv.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	@touch $@
