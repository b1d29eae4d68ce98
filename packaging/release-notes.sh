#!/usr/bin/env bash
# release-notes.sh TAG [URL]: prints the section of CHANGELOG.md for a tag such as v0.1.0. Fails unless it is the version
# in Cargo.toml. Links to files lead to the URL of the repository's files at the tag.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ "$1" = "v$version" ] || { echo "the tag is $1, but the version in Cargo.toml is $version" >&2; exit 1; }
notes=$(awk -v heading="## [$version]" 'index($0, "## [") == 1 { is_on = index($0, heading) == 1; next } is_on' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md has no section \"## [$version]\"" >&2; exit 1; }
# On a release page, each line break would show.
awk '
  /^$/ || /^[-#*]/ { if (line != "") print line; line = $0; if (line == "") print ""; next }
  { sub(/^ +/, ""); line = line == "" ? $0 : line " " $0 }
  END { print line }
' <<<"$notes" | sed "s|](docs/|](${2:-.}/docs/|g"
