# The commands of this project. `make` without a target lists them.

# The address of the site. Without DATA, the directory of its list, the program looks for the list as docs/settings.md says.
ADDR ?= $(or $(LANDING_ADDR),127.0.0.1:3000)

# .ci/setup installs its tools in ~/.cache/landing. wasm-opt comes with the npm packages.
export PATH := $(HOME)/.cache/landing/bin:$(HOME)/.cargo/bin:$(CURDIR)/islands/node_modules/.bin:$(PATH)
export CARGO_TARGET_DIR := target

PRETTIER := islands/node_modules/.bin/prettier islands end2end style --log-level warn
# Fails if there is no command of this name.
CHECK = $(if $($(1)_$(NAME)),,$(error add one of these: $(patsubst $(1)_%,NAME=%,$(filter $(1)_%,$(.VARIABLES)))))

.NOTPARALLEL:
.PHONY: help run watch build test lint test-rust test-islands test-end2end test-browsers bench torture generate fmt package image test-package audit

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile

run: build ## set up, build the release and serve it: ADDR=127.0.0.1:3000 DATA=data
	exec target/release/landing --addr "$(ADDR)" $(if $(DATA),--data "$(DATA)")

watch: ## serve while you work, and reload the open page after each change
	@.ci/setup watch
	LANDING_ADDR="$(ADDR)" LEPTOS_SITE_ADDR="$(ADDR)" $(if $(DATA),LANDING_STORE="$(DATA)") cargo leptos watch

build: ## set up, and build the release in target/release
	@.ci/setup
	cargo build --release

test: ## set up, then run every check and test
	@.ci/setup test
	@$(MAKE) --no-print-directory --keep-going lint test-rust test-islands test-end2end

lint:
	cargo fmt --all --check
	$(PRETTIER) --check
	cargo clippy --release --workspace --exclude island-host --all-targets -- -D warnings
	cargo clippy --release --package island-host --target wasm32-unknown-unknown -- -D warnings
	cargo deny check --hide-inclusion-graph licenses bans sources
	cd islands && npx tsc
	node style/fonts.mjs --check
	zizmor --offline --quiet .github/workflows
	cd end2end && npx tsc

# More threads than processors, because many tests wait for a timeout.
test-rust:
	RUST_TEST_THREADS=$$((3 * $$(getconf _NPROCESSORS_ONLN))) cargo test --release

test-islands:
	cd islands && npx vitest run

test-end2end:
	cargo build --release
	cd end2end && npx playwright test
	cd end2end && JOURNEYS=core npx playwright test --config browsers.config.ts

test-browsers: ## run every visitor journey in Chromium, Firefox and WebKitGTK, in all windows and media
	@.ci/setup test
	cargo build --release
	cd end2end && npx playwright test --config browsers.config.ts

# The program of packages and benchmarks.
PROGRAM := cargo build --profile dist --features jemalloc
BENCH := $(PROGRAM) && cargo run --profile dist --package landing-benches --bin
BENCH_http = $(BENCH) http
BENCH_store = $(BENCH) store
BENCH_siege = $(BENCH) siege $(ATTACK)
BENCH_postgres = $(BENCH) postgres
BENCH_lighthouse = cargo build --release && node end2end/lighthouse/run.mjs
bench: ## measure: NAME=http|store|siege|postgres|lighthouse, and ATTACK=crowd
	$(call CHECK,BENCH)
	@.ci/setup bench
	$(BENCH_$(NAME))

# Without sanitizers: they find errors of unsafe code, and this crate forbids it.
FUZZ = CARGO_TARGET_DIR=target/fuzz RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir fuzz --sanitizer none $(1) \
	target/fuzz/corpus/$(1) fuzz/corpus/$(1) -- -max_total_time=$(or $(FUZZ_SECONDS),600) -max_len=5000 -timeout=25
TORTURE_powercut = POWER_CUTS=5000 POWER_CUT_SIGN_UPS=3000 POWER_CUT_CLIENTS=32 cargo test --release power_cut -- --nocapture
TORTURE_kill = KILL_ROUNDS=200 SEND_PEOPLE=10000 SEND_KILLS=40 cargo test --release -- --nocapture durability::kill \
	killed_sends_lose_and_repeat_no_message
TORTURE_faults = FAULT_MINUTES=$(or $(MINUTES),20) cargo test --release no_database_fault -- --nocapture
TORTURE_failover = FAILOVER_ROUNDS=$(or $(ROUNDS),50) cargo test --release automatic_failover -- --nocapture
TORTURE_conformance = CONFORMANCE_STORE="$(or $(STORE),$(error add STORE=postgres://…))" cargo test --release -- \
	store::conformance::postgres store::changes::postgres store::random_histories::postgres concurrent_joins_across_instances_are_new_and_counted_once
TORTURE_fuzz = mkdir -p $(foreach it,$(PARSERS),target/fuzz/corpus/$(it)) $(foreach it,$(PARSERS),&& $(call FUZZ,$(it)))
PARSERS := email body forwarded record
torture: ## a test at full length: NAME=powercut|kill|faults|failover|conformance|fuzz, and MINUTES=, ROUNDS=, STORE=, FUZZ_SECONDS=
	$(call CHECK,TORTURE)
	@.ci/setup test
	$(TORTURE_$(NAME))

GENERATE_bindings = WRITE_BINDINGS=1 cargo test --release bindings::
GENERATE_fonts = node style/fonts.mjs
GENERATE_pictures = cargo build --release && node end2end/pictures.mjs
GENERATE_snapshots = cargo build --release && cd end2end && npx playwright test visual --update-snapshots
generate: ## files that are committed: NAME=bindings|fonts|pictures|snapshots
	$(call CHECK,GENERATE)
	@.ci/setup $(if $(filter pictures snapshots,$(NAME)),test)
	$(GENERATE_$(NAME))

fmt: ## format everything
	cargo fmt --all
	$(PRETTIER) --write

package: ## build the Debian package, the archive, the image, the SBOM and the checksums in target/package
image: ## build only the image
package image:
	@.ci/setup package
	LANDING_COMMIT=$$(git describe --always --dirty --abbrev=12 --exclude='*') $(PROGRAM)
	packaging/$@.sh

test-package: package ## install, upgrade and remove the packages in a fresh Debian with systemd, as root
	@.ci/setup $@
	packaging/test.sh

audit: ## look up known vulnerabilities of the dependencies, over the internet
	@.ci/setup audit
	cargo deny check --hide-inclusion-graph advisories
	for directory in islands end2end end2end/lighthouse; do (cd $$directory && npm audit) || exit 1; done
