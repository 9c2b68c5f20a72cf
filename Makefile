# Every target sets up what it needs; nothing has to be installed or activated first.
.DEFAULT_GOAL := help
.PHONY: help demo studio install uninstall wheel test check bench format docs lock clean setup built litellm lint types layers web tests test-thorough

BIN := .venv/bin
# Tests start hundreds of programs: let them share compiled bytecode.
export PYTHONDONTWRITEBYTECODE :=
# Three workers for two cores: tests mostly wait for programs they started.
WORKERS := $(shell echo $$((($$(nproc 2>/dev/null || echo 2) * 3 + 1) / 2)))
# Tests of one file share fixtures. tests/conftest.py sets the order of files.
PYTEST := scripts/in-memory $(BIN)/pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
heading = @printf '\n== %s\n' '$(1)'

help: ## list all targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name does; do \
		printf '  make %-13s %s\n' "$$name" "$$does"; done

demo: ## set up, run a complete agent run offline and print where the result is
	@scripts/setup core
	$(call heading,demo: one agent run without network)
	@$(BIN)/skills-runtime demo

studio: setup built ## set up, build the web app if its sources changed, and open it in a browser
	$(call heading,studio)
	@$(BIN)/skills-runtime studio

install: ## put the commands on your PATH: own environment, links in ~/.local/bin
	@scripts/install

uninstall: ## remove what `make install` installed; configuration and runs stay
	@scripts/install --remove

wheel: built ## build the wheel with Studio inside, into dist/
	@scripts/setup core
	@$(BIN)/python -m hatchling build --target wheel --directory dist

# Two jobs at a time: the web app needs no Python packages, and type checking uses one core.
test: ## set up, then run lint, types, layers, the web app and all tests
	@$(MAKE) --no-print-directory --jobs=2 setup web
	@$(MAKE) --no-print-directory --jobs=2 types lint layers tests

test-thorough: setup built ## set up, then run the property tests with all examples
	$(call heading,property tests with all examples)
	@TEST_PROFILE=thorough $(PYTEST) tests/property tests/unit tests/e2e/service

check: setup built lint types layers ## set up, then run the fast checks: lint, types, layers, unit tests
	$(call heading,unit tests)
	@$(PYTEST) tests/unit tests/test_architecture.py tests/test_public_api.py

bench: setup ## set up, then run the benchmarks
	$(call heading,benchmarks)
	@$(BIN)/python -m benchmarks

format: setup ## format the Python files
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

docs: setup ## generate the reference pages from the code
	@$(BIN)/python -m scripts.reference

lock: setup ## pin the requirements of pyproject.toml
	@PATH="$(CURDIR)/$(BIN):$$PATH"; \
		command -v uv >/dev/null || { echo 'make lock needs uv: $(BIN)/pip install uv' >&2; exit 1; }; \
		scripts/lock

clean: ## remove .venv, caches, build results and the demo output
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist demo-output
	rm -rf studio/node_modules src/skills_runtime/studio_dist test-artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup dev

# Without npm, wait for the setup that installs it.
built: $(if $(shell command -v npm),,setup)
	@scripts/studio

lint: setup
	$(call heading,format)
	@$(BIN)/ruff format --check
	$(call heading,lint)
	@$(BIN)/ruff check

# Print everything at the end, because tests may be running at the same time.
types: setup
	@output=$$($(BIN)/basedpyright 2>&1); status=$$?; printf '\n== types\n%s\n' "$$output"; exit $$status

layers: setup
	$(call heading,layers)
	@$(BIN)/lint-imports --no-logo

web: built
	$(call heading,the web app: lint and types)
	@cd studio && npm run --silent check
	$(call heading,the web app: tests)
	@cd studio && npm run --silent test

# A real third-party model server for one test.
litellm: setup
	@scripts/litellm

tests: setup built litellm
	$(call heading,all tests)
	@$(PYTEST) || { [ $$? -eq 1 ] || exit 1; \
		printf '\n== rerun failed tests alone: the machine may have been busy\n'; \
		scripts/in-memory $(BIN)/pytest --last-failed --last-failed-no-failures none; }
