# Every target does all the set-up it needs. PYTHON names another interpreter (3.11 or newer).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
Q ?=
# How many tests run side by side: one more than there are cores, since many wait for processes and time limits.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# uv trusts the certificates of the system, as pip does.
export UV_SYSTEM_CERTS := true
export UV_NATIVE_TLS := true
# uv looks for packages in the folder that pip is told of, too.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
# What answering questions about any file needs, without a key.
EXTRAS := local,files,audio,ocr,gaia,web,browser
# What the tests need besides.
DEV_EXTRAS := $(EXTRAS),postgres,web-page,otel

.PHONY: help ask test check bench docs picture constraints node-lock clean

help:
	@echo 'make ask Q="…"     answer a question'
	@echo 'make test          run the tests'
	@echo 'make check         format, lint and types'
	@echo 'make bench         measure, beside baselines in the same run'
	@echo 'make docs          write the generated pages of docs/'
	@echo 'make picture       draw docs/terminal.svg and docs/page.png from real questions (needs tmux and Chromium)'
	@echo 'make constraints   resolve constraints.txt anew'
	@echo 'make node-lock     resolve the Node programs of tests/judges anew'

# Neither make nor the shell may read the question: it may hold $, quotes and backticks.
ask: export QUESTION = $(value Q)
ask: $(VENV)/.installed
	@$(BIN)/alita $$([ -t 0 ] && [ -t 2 ] || echo --yes) "$$QUESTION"

test: $(VENV)/.installed-dev $(VENV)/.installed-mcp1 $(VENV)/.installed-node $(VENV)/.installed-whisper
	@$(BIN)/alita model pull
	@$(BIN)/alita model pull speech
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.installed-bench
	@$(BIN)/alita model pull
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.installed-dev
	$(BIN)/python docs/generate.py

picture: $(VENV)/.installed-dev
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/page_picture.py

constraints: $(VENV)/uv
	grep -v '^#' constraints.txt > constraints.new  # versions that still fit stay
	$(BIN)/uv pip compile -q pyproject.toml --all-extras --group dev --group bench --python-version 3.11 \
		--no-header --no-annotate --no-emit-index-url -o constraints.new
	(sed -n '/^#/p' constraints.txt; sed 's/+cpu$$//; /^nvidia-/d; /^cuda-/d' constraints.new) > constraints.txt.tmp
	mv constraints.txt.tmp constraints.txt
	rm constraints.new

$(VENV)/uv:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: apt-get install python3.11 python3.11-venv"; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; $(PYTHON) is older. Name another: make PYTHON=… ask"; exit 2; }
	@echo "Setting up $(VENV) (1 of 4: uv) …" >&2
	@"$(PYTHON)" -m venv $(VENV) || { echo "$(PYTHON) cannot make environments: apt-get install python3-venv"; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv >&2
	@touch $@

$(VENV)/.installed: $(VENV)/uv pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (2 of 4: about 170 packages, 700 MB) …" >&2
	@$(BIN)/uv pip install --python $(BIN)/python -c constraints.txt -e ".[$(EXTRAS)]" >&2
	@echo "Setting up $(VENV) (3 of 4: compiling them, about a minute) …" >&2
	@$(BIN)/uv pip install --quiet --compile-bytecode --offline --python $(BIN)/python -c constraints.txt -e ".[$(EXTRAS)]" >&2
	@echo "Setting up $(VENV) (4 of 4: alita) …" >&2
	@$(BIN)/python -m compileall -q src >&2
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt -e ".[$(DEV_EXTRAS)]" --group dev >&2
	@touch $@

# openai-whisper, for its tests, where a build of torch without CUDA can be had: the usual one takes several gigabytes.
$(VENV)/.installed-whisper: $(VENV)/.installed-dev
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt \
		"torch==$$(sed -n 's/^torch==//p' constraints.txt)+cpu" openai-whisper >&2 2>/dev/null \
		|| echo "No CPU build of torch can be had here: openai-whisper is not tested." >&2
	@touch $@

# What figures are measured beside.
$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt --group bench >&2
	@touch $@

# Other people's MCP programs, for tests/judges: the SDK of the 1.x line in an environment of its own …
$(VENV)/.installed-mcp1: tests/judges/mcp1-constraints.txt $(VENV)/uv
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/mcp1
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)/mcp1/bin/python -r $< >&2
	@touch $@

# … and Node packages, a Node among them. Without npm the tests that need them are left out, except in CI.
$(VENV)/.installed-node: tests/judges/package.json tests/judges/package-lock.json $(VENV)/uv
	@if command -v npm >/dev/null; then \
		mkdir -p $(VENV)/node && cp tests/judges/package.json tests/judges/package-lock.json $(VENV)/node && \
		npm ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund --loglevel=error >&2 && touch $@; \
	else echo "npm is missing: tests/judges leaves out what needs Node (apt-get install npm)" >&2; fi

node-lock: $(VENV)/uv
	cd tests/judges && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved \
		--no-audit --no-fund --loglevel=error
	$(BIN)/python tests/judges/strip_lock.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
