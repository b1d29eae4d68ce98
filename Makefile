# The commands of this project. `make` without a target lists them.

# The address of the site, and the directory of its list. Without DATA, the list is in `data` or in LANDING_STORE.
ADDR ?= $(or $(LANDING_ADDR),127.0.0.1:3000)
DATA ?= $(LANDING_DATA)

# .ci/setup installs the tools that it builds in ~/.cache/landing. wasm-opt comes with the npm packages.
export PATH := $(HOME)/.cache/landing/bin:$(HOME)/.cargo/bin:$(CURDIR)/islands/node_modules/.bin:$(PATH)
# The program finds the site's files beside itself: target/release/{landing,site}.
export CARGO_TARGET_DIR := target

# `landing --version` names the commit.
RELEASE := LANDING_COMMIT=$$(git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null) LEPTOS_SITE_ROOT=target/release/site LEPTOS_HASH_FILES=true cargo leptos build --release --precompress
PRETTIER := islands/node_modules/.bin/prettier islands end2end style --log-level warn

.PHONY: help run watch test lint test-rust test-islands test-end2end test-browsers bench bench-store bench-postgres siege fuzz powercut kill conformance faults failover lighthouse package image test-package audit fmt fonts pictures snapshots build setup bindings

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

run: build ## set up, build the release and serve it: ADDR=127.0.0.1:3000 DATA=data
	exec target/release/landing --addr "$(ADDR)" $(if $(DATA),--data "$(DATA)")

# The islands are rebuilt into this directory, and the server reads them from there. cargo-leptos watches it
# (Cargo.toml), so it must exist first.
ISLANDS_DIR := $(CURDIR)/target/islands

watch: setup ## serve while you work, and reload the open page after each change
	rm -rf "$(ISLANDS_DIR)"
	mkdir -p "$(ISLANDS_DIR)"
	export LANDING_ISLANDS_DIR="$(ISLANDS_DIR)" LANDING_ADDR="$(ADDR)" LEPTOS_SITE_ADDR="$(ADDR)" $(if $(DATA),LANDING_DATA="$(DATA)"); \
	node islands/build/build.mjs --watch "$(ISLANDS_DIR)" & \
	exec cargo leptos watch

test: ## set up, then run every check and test
	@.ci/setup test
	@$(MAKE) --no-print-directory --keep-going lint test-rust test-islands test-end2end

lint:
	cargo fmt --all --check
	$(PRETTIER) --check
	cargo clippy --all-targets -- -D warnings
	cargo deny check --hide-inclusion-graph licenses bans sources
	cargo clippy --lib --no-default-features --features hydrate --target wasm32-unknown-unknown -- -D warnings
	cd islands && npx tsc
	node style/fonts.mjs --check
	zizmor --offline --quiet .github/workflows
	cd end2end && npx tsc

# More threads than processors, because many tests wait for a timeout. With three for each, databases took too long to
# accept a connection.
test-rust:
	RUST_TEST_THREADS=$$((5 * $$(getconf _NPROCESSORS_ONLN) / 2)) cargo test

test-islands:
	cd islands && npx vitest run

test-end2end:
	$(RELEASE)
	cd end2end && npx playwright test
	cd end2end && JOURNEYS=core npx playwright test --config browsers.config.ts

test-browsers: build ## run every visitor journey in Chromium, Firefox and WebKitGTK, in all windows and media
	.ci/setup test
	cd end2end && npx playwright test --config browsers.config.ts

bench: build ## compare the release with bare axum: requests per second, latency, memory
	.ci/setup bench
	cargo run --release --example bench

bench-store: setup ## compare durable sign-ups with a bare append and sync, and measure a long list
	mkdir -p target
	cargo run --release --example bench-store

bench-postgres: build ## compare instances over PostgreSQL with pgbench, and move a million entries
	.ci/setup postgres
	cargo run --release --example bench-postgres

siege: build ## attack the release for six minutes, and measure what other visitors notice: ATTACK=crowd
	.ci/setup siege
	cargo run --release --example siege "$(ATTACK)"

# Without sanitizers: they find errors of unsafe code, and this crate forbids it.
FUZZ := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR=target/fuzz \
	RUSTC_BOOTSTRAP=1 cargo fuzz
FUZZ_SECONDS ?= 600

fuzz: setup ## fuzz each parser for ten minutes: FUZZ_SECONDS=600
	.ci/setup fuzz
	for target in email body forwarded record; do \
		mkdir -p target/fuzz/corpus/$$target; \
		$(FUZZ) run --fuzz-dir fuzz --sanitizer none $$target \
			target/fuzz/corpus/$$target fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=5000 -timeout=25 || exit 1; \
	done

powercut: setup ## simulate 5,000 power cuts, and open the list after each
	.ci/setup durability
	POWER_CUTS=5000 POWER_CUT_SIGN_UPS=3000 POWER_CUT_CLIENTS=32 cargo test --test site durability::power_cut -- --nocapture

kill: setup ## kill the program 200 times during sign-ups, and 40 times while it sends 10,000 messages
	.ci/setup durability
	KILL_ROUNDS=200 SEND_PEOPLE=10000 SEND_KILLS=40 cargo test --test site -- --nocapture durability::kill \
		killed_sends_lose_and_repeat_no_message

STORE ?= $(LANDING_STORE)

conformance: setup ## run the conformance suite against your database: STORE=postgres://…
	@case "$(STORE)" in postgres*://*) ;; *) echo 'no database: run make conformance STORE=postgres://…' >&2; exit 2 ;; esac
	.ci/setup postgres
	CONFORMANCE_STORE="$(STORE)" cargo test --test site -- store::conformance::postgres \
		store::corrections::postgres store::facts::postgres \
		concurrent_joins_across_instances_are_new_and_counted_once

faults: setup ## inject random PostgreSQL faults under three instances, as root: MINUTES=20
	.ci/setup postgres
	FAULT_MINUTES=$(or $(MINUTES),20) cargo test --test site no_database_fault -- --nocapture

ROUNDS ?= 50

failover: setup ## lose the primary of a database that fails over, in fifty rounds, as root: ROUNDS=50
	.ci/setup failover
	FAILOVER_ROUNDS=$(ROUNDS) cargo test --test site automatic_failover -- --nocapture

lighthouse: build ## run Lighthouse five times for a phone, and print the medians
	.ci/setup lighthouse
	node end2end/lighthouse/run.mjs

package: build ## build the Debian package, the archive, the image, the SBOM and the checksums in target/package
	.ci/setup package
	packaging/package.sh

image: build ## build only the image
	.ci/setup package
	packaging/image.sh

test-package: package ## install, upgrade and remove the packages in a fresh Debian with systemd, as root
	.ci/setup package-test
	packaging/test.sh

audit: ## look up known vulnerabilities of the dependencies, over the internet
	.ci/setup audit
	cargo deny check --hide-inclusion-graph advisories
	for directory in islands end2end end2end/lighthouse; do (cd $$directory && npm audit) || exit 1; done

fmt: setup ## format everything
	cargo fmt --all
	$(PRETTIER) --write

bindings: ## regenerate islands/bindings after a change in src/wire.rs or src/copy/islands.rs
	WRITE_BINDINGS=1 cargo test --lib --no-default-features wire

fonts: setup ## regenerate public/fonts and style/fonts.css after a change in style/fonts.mjs
	node style/fonts.mjs

pictures: build ## regenerate icons, social card and README picture after a change of name or design
	.ci/setup test
	node end2end/pictures.mjs

snapshots: build ## regenerate the screenshots that the tests compare the page with
	.ci/setup test
	cd end2end && npx playwright test visual --update-snapshots

build: setup
	$(RELEASE)

setup:
	@.ci/setup
