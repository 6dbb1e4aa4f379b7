# Everything that is done with zlens from a checkout. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo
FUZZ_SECONDS ?= 60
BENCH_ARGS ?=

# PyO3 looks for an interpreter; this one is sure to be there and is the one the module is built for.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Stamps inside the environment: removing .venv makes everything start afresh.
TOOLS := $(VENV)/.tools
CHECKS := $(VENV)/.checks
# The module is built quickly, or as it is released: `make setup PROFILE=release`.
PROFILE ?= develop
NATIVE := $(VENV)/.native-$(PROFILE)
PAGE := ui/node_modules/.page
SITE := target/docs/.tools
RELEASE := target/release-tools/.tools
RUST := Cargo.toml Cargo.lock $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) -not -path '*/target/*')

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' \
		| while IFS=$$'\t' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

$(TOOLS): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "zlens needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "Python's venv module is missing (Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 2; }
	@echo "Installing what zlens needs in $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# What tests and development need in addition: large, and not needed for running zlens.
$(CHECKS): tests/requirements.lock $(TOOLS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(NATIVE): $(TOOLS) $(RUST) pyproject.toml
	@command -v cargo >/dev/null \
		|| { echo "cargo is missing: zlens needs Rust 1.95 or newer (https://rustup.rs)" >&2; exit 2; }
	@echo "Building the native module"
	@# It and its pip say much; only a failure is of interest.
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE) --locked --quiet >$@.log 2>&1 \
		|| { cat $@.log >&2; exit 1; }
	@rm -f $(VENV)/.native-* && touch $@

# What the web UI is built and checked with; zlens contains it built.
$(PAGE): ui/package-lock.json
	@command -v npm >/dev/null \
		|| { echo "npm is missing: building and checking the page needs Node $$(cat ui/.nvmrc) (https://nodejs.org)" >&2; exit 2; }
	cd ui && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: setup
setup: program $(CHECKS) ## create the environment, the native module and .venv/bin/zlens

.PHONY: program
program: $(NATIVE) # zlens alone
	@# As pip does of what it installs; without it every start compiles where Python may write no bytecode.
	@$(BIN)/python -m compileall -q python/zlens

.PHONY: run
run: program ## create demo files, print what is wrong there, serve the web UI; FILE=... opens your own
ifdef FILE
	@$(BIN)/zlens info "$(FILE)"
	@$(BIN)/zlens serve "$(FILE)"
else
	@$(BIN)/zlens demo $(DEMO) --quiet
	@$(BIN)/zlens findings $(DEMO) --tz +01:00 | sed -nE '/ warnings?, /p; /^WARNING/p' | sed -n 1,4p
	@$(BIN)/zlens serve $(DEMO) --tz +01:00
endif

.PHONY: page
page: $(PAGE) ## build the web UI from ui/ into python/zlens/server/static
	cd ui && npm run --silent build

# Debian packages that tests use, each with the program it brings; a test without its program is skipped.
PACKAGES := chromium:chromium nginx:nginx-light
.PHONY: packages
packages: ## install Chromium and nginx for the tests, with apt-get
	@missing=; for pair in $(PACKAGES); do \
		PATH="$$PATH:/usr/sbin" command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair#*:}"; \
	done; \
	[ -z "$$missing" ] || { \
		sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
		$$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends $$missing fonts-dejavu-core >/dev/null; \
	} || { echo "install$$missing by hand; without them their tests are skipped" >&2; exit 2; }

# Unpacked, not installed: the package would start a service of its own.
PCP := pcp pcp-conf libpcp3 libpcp-pmda3 libpcp-gui2 libpcp-web1 libpcp-import1 libpcp-mmv1 libpcp-archive1 \
	libpcp-trace2 python3-pcp

.PHONY: pcp
pcp: ## fetch Performance Co-Pilot for the tests of the metrics (Debian packages, into target/pcp)
	@test -e target/pcp/usr/lib/libpcp.so || { \
		mkdir -p target/pcp && cd target/pcp \
		&& { apt-get download -qq $(PCP) 2>/dev/null || { apt-get update -qq && apt-get download -qq $(PCP); }; } \
		&& for deb in *.deb; do dpkg-deb -x "$$deb" . || exit 1; done && rm ./*.deb \
		&& ln -sf libpcp_pmda.so.3 usr/lib/libpcp_pmda.so && ln -sf libpcp.so.3 usr/lib/libpcp.so; \
	} || { echo "install Performance Co-Pilot by hand; without it the test that asks it is skipped" >&2; exit 2; }

.PHONY: collector
collector: ## build an OpenTelemetry Collector for the tests of the metrics (Go; 15 minutes, into target/collector)
	@test -x target/collector/collector || { cd tests/collector && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" \
		-o $(CURDIR)/target/collector/collector .; } \
		|| { echo "install Go 1.25; without it the test of the Collector is skipped" >&2; exit 2; }

.PHONY: prometheus
prometheus: ## fetch Prometheus for the tests of the metrics (Debian package, into target/prometheus)
	@command -v promtool >/dev/null || test -x target/prometheus/usr/bin/promtool || { \
		mkdir -p target/prometheus && cd target/prometheus \
		&& { apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }; } \
		&& dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb; \
	} || { echo "install Prometheus by hand; without it the tests that ask it are skipped" >&2; exit 2; }

TRINO := 476
TRINO_SHA256 := cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f

.PHONY: trino
trino: ## fetch Trino for the test of exported tables (0.8 GB, into target/trino; needs Java 24)
	@test -x target/trino/trino-server-$(TRINO)/bin/launcher || { \
		mkdir -p target/trino && cd target/trino \
		&& curl -sSf -o server.tar.gz https://repo.maven.apache.org/maven2/io/trino/trino-server/$(TRINO)/trino-server-$(TRINO).tar.gz \
		&& echo "$(TRINO_SHA256)  server.tar.gz" | sha256sum -c --quiet \
		&& tar xzf server.tar.gz && rm server.tar.gz \
		&& find trino-server-*/plugin -mindepth 1 -maxdepth 1 ! -name delta-lake ! -name iceberg -exec rm -r {} +; \
	} || { echo "Trino cannot be fetched; without it the test that asks it is skipped" >&2; exit 2; }

# Python tests run in parallel, in file order; idle workers steal tests from busy ones.
# They wait for other programs part of their time, so there are three for two processors.
CARGO_TEST := cargo test --profile develop --workspace --locked --quiet
PYTEST := $(BIN)/python -m pytest --numprocesses $(shell expr $$(nproc) + $$(nproc) / 2) --dist worksteal

.PHONY: programs
programs: $(TOOLS) # programs and examples of the crates that tests of Python start
	$(CARGO_TEST) --no-run

.PHONY: test
test: setup $(PAGE) ## run the tests of Rust, TypeScript and Python, all but long ones (some need `make packages`)
	$(CARGO_TEST)
	cd ui && npm test --silent
	$(PYTEST)

.PHONY: test-all
test-all: setup $(PAGE) ## run long tests too, with new random numbers: before a release
	@# All run, also after one that fails; a table at the end says what did and what was skipped.
	@$(BIN)/python tests/runners.py \
		"cargo: $(CARGO_TEST) -- --include-ignored" \
		"s390x?: crates/forward/s390x.sh --test" \
		"vitest: cd ui && npm test --silent" \
		"pytest: $(PYTEST) --all" \
		"spark: make spark"

SAMPLES ?= ../shared/samples
export ZLENS_SAMPLES = $(abspath $(SAMPLES))

.PHONY: samples
samples: $(CHECKS) ## list the samples of real machines and the tests that read them
	@$(BIN)/python tests/samples.py

.PHONY: mutants
mutants: setup ## count how many of 120 small faults the tests detect (two hours)
	@$(BIN)/python tests/mutants.py

# Large, and needed for nothing else; each engine in a process of its own.
SPARK := target/spark/.tools
$(SPARK): tests/spark/requirements.lock
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.PHONY: spark
spark: setup $(SPARK) ## test the data source for Spark and Sail (1 GB; Spark needs Java 17)
	for engine in sail jvm; do \
		ZLENS_SPARK=$$engine PYTHONPATH=python target/spark/bin/python -m pytest tests/spark || exit 1; \
	done

# The forwarder is one static program; with --target, build scripts are not built so.
FORWARD := cargo build --profile forward --locked --quiet --package zlens-forward --bin zlens-forward
HOST := $(shell uname -m)-unknown-linux-gnu

.PHONY: forward
forward: ## build zlens-forward for this machine, as one static program
	CARGO_TARGET_$(subst -,_,$(shell echo $(HOST) | tr a-z A-Z))_RUSTFLAGS="-C target-feature=+crt-static" $(FORWARD) --target $(HOST)
	@ls -sh --block-size=k target/$(HOST)/forward/zlens-forward

.PHONY: forward-s390x
forward-s390x: ## build zlens-forward for Linux on Z and run its tests under emulation (Debian packages)
	@crates/forward/s390x.sh --test

.PHONY: rig
rig: setup ## run all scenarios of the rig and write docs/rig-results.md
	@$(BIN)/zlens rig run --all -o target/rig || [ $$? = 1 ]
	@$(BIN)/zlens rig run smt-ideal smt-order smt-serialization --uncertain 40 --seeds 1 -o target/rig-worlds \
		--format json > target/rig-worlds-40.json || [ $$? = 1 ]
	@$(BIN)/zlens rig run smt-interference relocation-passes relocation-storage relocation-ways ssi-distribution \
		ssi-distribution-memory ssi-scaling ssi-shared-volume ssi-storage-server --uncertain 20 --seeds 1 \
		-o target/rig-worlds --format json > target/rig-worlds-20.json || [ $$? = 1 ]
	@$(BIN)/python docs/rig_results.py target/rig/results.json target/rig-worlds-40.json target/rig-worlds-20.json \
		> docs/rig-results.md

.PHONY: contrib
contrib: setup ## write dashboards for Grafana and alerts for Prometheus in contrib/ from the catalog
	@$(BIN)/python contrib/generate.py

.PHONY: picture
picture: setup ## take the picture in README.md, docs/overview.png, with Chromium
	@$(BIN)/python docs/picture.py

.PHONY: published
published: setup ## write the tables of docs/published from their listings
	@$(BIN)/python docs/published.py

.PHONY: lint lint-rust lint-python lint-page
lint: lint-rust lint-python lint-page ## check formatting, clippy, ruff, mypy, eslint, svelte-check

# PyO3 asks for an interpreter.
lint-rust: $(TOOLS)
	cargo fmt --all --check
	cargo clippy --profile develop --workspace --all-targets --locked --quiet -- -D warnings

lint-python: $(CHECKS)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-page: $(PAGE)
	cd ui && npm run --silent lint

.PHONY: format
format: setup $(PAGE) ## rewrite the sources in the house style
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cd ui && npm run --silent format

.PHONY: bench
bench: ## measure costs on a file of 1 GB (BENCH_ARGS=--help)
	@$(MAKE) --no-print-directory setup PROFILE=release
	cargo build --release --locked --quiet --package zlens-frames --examples
	$(BIN)/python bench/answers.py $(BENCH_ARGS)
	$(BIN)/python bench/bench.py $(BENCH_ARGS)
	$(BIN)/python bench/lake.py $(BENCH_ARGS)
	$(BIN)/python bench/fleet.py
	$(BIN)/python bench/guests.py $(BENCH_ARGS)
	$(BIN)/python bench/listings.py $(BENCH_ARGS)
	$(BIN)/python bench/solvers.py $(BENCH_ARGS)
	$(BIN)/python bench/simulator.py $(BENCH_ARGS)
	$(BIN)/python bench/page.py $(BENCH_ARGS)
	$(BIN)/python bench/metrics.py $(BENCH_ARGS)

# What builds the documentation site: large, and needed for nothing else. The site itself is built without network.
$(SITE): docs/requirements.lock
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.PHONY: docs
docs: setup $(SITE) ## build the documentation site in build/site, with a reference from the catalog
	$(BIN)/python docs/generate.py
	target/docs/bin/zensical build --clean

.PHONY: man
man: setup ## write the manual page, build/man/zlens.1
	@$(BIN)/python docs/man.py

.PHONY: fuzz
fuzz: setup ## run every fuzz target for FUZZ_SECONDS (needs a nightly toolchain)
	$(BIN)/python fuzz/texts.py --seconds $(FUZZ_SECONDS)
	@PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo fuzz --version >/dev/null 2>&1 \
		|| cargo install --quiet --locked --root target/tools --version 0.13.2 cargo-fuzz
	@export PATH="$(CURDIR)/target/tools/bin:$$PATH"; cd fuzz; for target in $$(cargo fuzz list); do \
		echo "== $$target, $(FUZZ_SECONDS) s"; \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1; \
	done

# What builds a release and locks requirements.
$(RELEASE): release/requirements.lock
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# On Linux the wheel is linked against the C library of manylinux_2_28; elsewhere, TARGET is the machine's own.
DIST := dist
TARGET := $(if $(filter Linux,$(shell uname -s)),$(HOST))
.PHONY: dist
dist: $(RELEASE) ## build the source archive and the wheel for this machine in dist/
	rm -rf $(DIST)
	target/release-tools/bin/maturin sdist --out $(DIST)
	PATH="$(CURDIR)/target/release-tools/bin:$$PATH" PYO3_PYTHON="$(CURDIR)/target/release-tools/bin/python" \
		target/release-tools/bin/maturin build --release --locked --out $(DIST) $(if $(TARGET),--target $(TARGET)) \
		$(if $(findstring linux,$(TARGET)),--zig --compatibility manylinux_2_28)

.PHONY: notices
notices: ## write NOTICES.txt and the web UI's bill of materials (after `make page` and changes of Cargo.lock)
	@$(PYTHON) release/components.py notices

.PHONY: lock
lock: $(RELEASE) ## write each requirements.lock from its requirements.in (with uv)
	for folder in . tests docs tests/spark release; do \
		target/release-tools/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-annotate --custom-compile-command "make lock" --quiet $$folder/requirements.in -o $$folder/requirements.lock; \
	done

.PHONY: clean
clean: ## remove everything that was built, and the environment
	rm -rf $(VENV) target fuzz/target ui/node_modules $(DEMO) bench/.data build dist \
		.cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/zlens/_native*.so
	find python tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
