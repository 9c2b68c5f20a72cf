# Every target sets up what it needs by itself; nothing has to be installed or activated before.
.DEFAULT_GOAL := help
.PHONY: help demo studio test check bench format docs lock clean setup built lint types layers web tests test-thorough

BIN := .venv/bin
# Hundreds of programs are started: none of them compiles again what another one has compiled.
export PYTHONDONTWRITEBYTECODE :=
# Three for two cores: much of a test is waiting for programs that it has started.
WORKERS := $(shell echo $$((($$(nproc 2>/dev/null || echo 2) * 3 + 1) / 2)))
# The tests of a file share what they have started. Files are begun in the order of tests/conftest.py.
PYTEST := scripts/in-memory $(BIN)/pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
heading = @printf '\n== %s\n' '$(1)'

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name does; do \
		printf '  make %-13s %s\n' "$$name" "$$does"; done

demo: ## set up, then run one complete agent run offline and say where the result is
	@scripts/setup core
	$(call heading,demo: one agent run without network)
	@$(BIN)/skills-runtime demo

studio: setup built ## set up, build the web app if its sources changed, then start it in a browser
	$(call heading,studio)
	@$(BIN)/skills-runtime studio

# Two things at a time: the web app needs no packages of Python, and checking types needs one core only.
test: ## set up, then run everything: lint, types, layers, the web app, all tests
	@$(MAKE) --no-print-directory --jobs=2 setup web
	@$(MAKE) --no-print-directory --jobs=2 types lint layers tests

test-thorough: setup built ## set up, then run the property tests with all their examples
	$(call heading,property tests with all their examples)
	@TEST_PROFILE=thorough $(PYTEST) tests/property tests/unit tests/e2e/service

check: setup built lint types layers ## set up, then run what is fast: lint, types, layers, unit tests
	$(call heading,unit tests)
	@$(PYTEST) tests/unit tests/test_architecture.py tests/test_public_api.py

bench: setup ## set up, then run the benchmarks
	$(call heading,benchmarks)
	@$(BIN)/python -m benchmarks

format: setup ## rewrite the Python files in the one style
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

docs: setup ## write the reference pages anew from the code
	@$(BIN)/python -m scripts.reference

lock: setup ## write the pinned requirements anew from pyproject.toml
	@PATH="$(CURDIR)/$(BIN):$$PATH"; \
		command -v uv >/dev/null || { echo 'make lock needs uv: $(BIN)/pip install uv' >&2; exit 1; }; \
		scripts/lock

clean: ## remove .venv, the caches, what was built and the output of the demo
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist demo-output
	rm -rf studio/node_modules src/skills_runtime/studio_dist test-artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup dev

# Only where npm is missing has it to wait until that was installed.
built: $(if $(shell command -v npm),,setup)
	@scripts/studio

lint: setup
	$(call heading,format)
	@$(BIN)/ruff format --check
	$(call heading,lint)
	@$(BIN)/ruff check

# It says everything at its end, for tests may be running beside it.
types: setup
	@told=$$($(BIN)/basedpyright 2>&1); status=$$?; printf '\n== types\n%s\n' "$$told"; exit $$status

layers: setup
	$(call heading,layers)
	@$(BIN)/lint-imports --no-logo

web: built
	$(call heading,the web app: lint and types)
	@cd studio && npm run --silent check
	$(call heading,the web app: tests)
	@cd studio && npm run --silent test

tests: setup built
	$(call heading,all tests)
	@$(PYTEST) || { [ $$? -eq 1 ] || exit 1; \
		printf '\n== what failed, once more and alone: the machine may have been busy\n'; \
		scripts/in-memory $(BIN)/pytest --last-failed --last-failed-no-failures none; }
