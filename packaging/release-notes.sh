#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for a tag such as v0.1.0. Fails unless it is the version in Cargo.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ "$1" = "v$version" ] || { echo "the tag is $1, but the version in Cargo.toml is $version" >&2; exit 1; }
notes=$(awk -v heading="## [$version]" 'index($0, "## [") == 1 { is_on = index($0, heading) == 1; next } is_on' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md has no section \"## [$version]\"" >&2; exit 1; }
echo "$notes"
