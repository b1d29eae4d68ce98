# The commands of this project. `make` alone lists them.

# Where the site is served, and the directory of its waitlist, if that is not in `data` or a database.
ADDR ?= $(or $(LANDING_ADDR),127.0.0.1:3000)
DATA ?= $(LANDING_DATA)

# .ci/setup puts there what it had to build; wasm-opt comes with the npm packages.
export PATH := $(HOME)/.cache/landing/bin:$(HOME)/.cargo/bin:$(CURDIR)/islands/node_modules/.bin:$(PATH)
# The program looks for the site's files beside itself: target/release/{landing,site}.
export CARGO_TARGET_DIR := target

RELEASE := LEPTOS_SITE_ROOT=target/release/site LEPTOS_HASH_FILES=true cargo leptos build --release --precompress
PRETTIER := islands/node_modules/.bin/prettier islands end2end style --log-level warn

.PHONY: help run watch test lint test-rust test-islands test-end2end bench bench-store bench-owner bench-postgres siege fuzz powercut kill conformance faults lighthouse manual fmt fonts pictures snapshots build setup bindings

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

run: build ## set up, build the release, serve it: make run ADDR=127.0.0.1:3000 DATA=data
	exec target/release/landing --addr "$(ADDR)" $(if $(DATA),--data "$(DATA)")

watch: setup ## serve while you work: a change reaches the open page by itself
	LANDING_ADDR="$(ADDR)" $(if $(DATA),LANDING_DATA="$(DATA)") LEPTOS_SITE_ADDR="$(ADDR)" cargo leptos watch

test: ## set up, then every check and test there is
	@.ci/setup test
	@$(MAKE) --no-print-directory --keep-going lint test-rust test-islands test-end2end

lint:
	cargo fmt --all --check
	$(PRETTIER) --check
	cargo clippy --all-targets -- -D warnings
	cargo deny check --hide-inclusion-graph licenses bans sources
	cargo clippy --lib --no-default-features --features hydrate --target wasm32-unknown-unknown -- -D warnings
	cd islands && npx tsc && node fonts.mjs --check
	cd end2end && npx tsc

# Twice as many as processors: many wait for somebody's patience to end.
test-rust:
	RUST_TEST_THREADS=$$((2 * $$(getconf _NPROCESSORS_ONLN))) cargo test

test-islands:
	cd islands && npx vitest run

test-end2end:
	$(RELEASE)
	cd end2end && npx playwright test

bench: build ## compare the release server with bare axum: requests a second, latency, memory
	.ci/setup bench
	cargo run --release --example bench

bench-store: setup ## compare durable sign-ups with a bare append and sync; what a long list costs
	mkdir -p target
	cargo run --release --example bench-store

bench-owner: build ## what the owner's commands take with a million people, and what visitors notice
	cargo run --release --example bench-owner

bench-postgres: build ## compare copies over PostgreSQL with its own benchmark; move a million people there and back
	.ci/setup postgres
	cargo run --release --example bench-postgres

siege: build ## attack the release, and see what a polite visitor notices: five minutes
	.ci/setup siege
	cargo run --release --example siege

# Without the sanitizers, which look for what unsafe code does: there is none.
FUZZ := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR=target/fuzz \
	RUSTC_BOOTSTRAP=1 cargo fuzz
FUZZ_SECONDS ?= 600

fuzz: setup ## look for bytes that break a parser: ten minutes for each, FUZZ_SECONDS=600
	.ci/setup fuzz
	for target in email body forwarded; do \
		mkdir -p target/fuzz/corpus/$$target; \
		$(FUZZ) run --fuzz-dir fuzz --sanitizer none $$target \
			target/fuzz/corpus/$$target fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=5000 -timeout=25 || exit 1; \
	done

powercut: setup ## rebuild 5,000 disks as a power cut may leave them, and open the list on each
	.ci/setup durability
	POWER_CUTS=5000 POWER_CUT_SIGN_UPS=3000 POWER_CUT_CLIENTS=32 cargo test --test site power_cut -- --nocapture

kill: setup ## kill the program 200 times while people sign up
	.ci/setup durability
	KILL_ROUNDS=200 cargo test --test site kill -- --nocapture

STORE ?= $(LANDING_STORE)

conformance: setup ## run the conformance suite and a race in a database of yours: STORE=postgres://…
	@case "$(STORE)" in postgres*://*) ;; *) echo 'name a database: make conformance STORE=postgres://…' >&2; exit 2 ;; esac
	.ci/setup postgres
	CONFORMANCE_STORE="$(STORE)" cargo test --test site -- store::contract::postgres \
		of_many_who_come_to_several_copies_at_once_each_is_new_once_and_counted_once

MINUTES ?= 20

faults: setup ## random faults of PostgreSQL under three instances, as root: MINUTES=20
	.ci/setup postgres
	FAULT_MINUTES=$(MINUTES) cargo test --test site whatever_happens_to_the_database -- --nocapture

lighthouse: build ## what Lighthouse says of the page on a phone: medians of five
	.ci/setup lighthouse
	node end2end/lighthouse/run.mjs

manual: setup ## write man pages and shell completions to target/manual
	cargo run --example manual

fmt: setup ## format everything
	cargo fmt --all
	$(PRETTIER) --write

bindings: ## write islands/bindings anew, after a change in src/wire.rs or src/copy/islands.rs
	WRITE_BINDINGS=1 cargo test --lib --no-default-features wire

fonts: setup ## make public/fonts and style/fonts.css anew, after a change in islands/fonts.mjs
	node islands/fonts.mjs

pictures: build ## make icons, social card and README picture anew, after a change of name or design
	.ci/setup test
	node end2end/pictures.mjs

snapshots: build ## take the pictures anew that the tests compare the page with
	.ci/setup test
	cd end2end && npx playwright test visual --update-snapshots

build: setup
	$(RELEASE)

setup:
	@.ci/setup
