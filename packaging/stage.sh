#!/usr/bin/env bash
# Collects in target/package/stage what all packages contain, from the build `dist`: the program without its symbols,
# the manual pages, the completions and the settings. The other scripts source this file.
#
# Times are those of the commit, and archives are sorted, so that packaging one build twice gives the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() { echo "packaging: $*" >&2; exit 1; }

commit=$(git describe --always --dirty --abbrev=12 --exclude='*') \
  || die "packages are built in a clone of the repository: their times are those of the commit"
target/dist/landing --version | grep -qF "($commit)" \
  || die "target/dist/landing is not of commit $commit: run make package"

# The one place that holds the version.
VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
readonly VERSION OUT=target/package STAGE=target/package/stage
umask 022

grep -q "^## \[$VERSION\]" CHANGELOG.md \
  || die "CHANGELOG.md has no section \"## [$VERSION]\", the version in Cargo.toml; write one"

rm -rf "$STAGE"
mkdir -p "$STAGE/man" "$STAGE/completions"
strip -o "$STAGE/landing" target/dist/landing
cp LICENSE README.md CHANGELOG.md "$STAGE/"
# The licence of the typefaces asks for its text.
cat islands/node_modules/@fontsource*/{newsreader,commit-mono}/LICENSE >"$STAGE/LICENSE.fonts"
"$STAGE/landing" manual --output "$STAGE/man"
"$STAGE/landing" completions bash >"$STAGE/completions/landing.bash"
"$STAGE/landing" completions zsh >"$STAGE/completions/_landing"
"$STAGE/landing" completions fish >"$STAGE/completions/landing.fish"
{
  cat packaging/landing.env
  env -i "$STAGE/landing" settings
} >"$STAGE/landing.env"

# archive FILE DIRECTORY NAME…: writes a tar archive of the files in a directory, to a file or to standard output.
archive() {
  local file=$1 directory=$2
  shift 2
  tar --create --file "$file" --directory "$directory" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner --mode=go-w "$@"
}
