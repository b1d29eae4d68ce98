#!/usr/bin/env bash
# Builds what a release consists of in target/package: a Debian package, an archive, an image, a list of components
# (SBOM), and the checksums of all four. `make package` calls it after the build `dist`.
. "$(dirname "$0")/stage.sh"

name=landing-$VERSION-x86_64-linux
rm -f "$OUT"/landing[-_]* "$OUT/SHA256SUMS"

# Debian reads its own format, and links to ours. The time is that of the commit.
cat >"$STAGE/changelog.debian" <<CHANGELOG
landing ($VERSION-1) stable; urgency=medium

  * See NEWS in /usr/share/doc/landing.

 -- Steward <hello@steward.example>  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG
ln -s ../lib/landing/landing "$STAGE/landing.link"
cargo deb --quiet --no-build --no-strip --output "$OUT/landing_${VERSION}_amd64.deb"

mkdir "$STAGE/archive"
cp -r "$STAGE"/{landing,man,completions,landing.env,LICENSE,LICENSE.fonts,README.md,CHANGELOG.md} docs \
  packaging/debian/landing.s* "$STAGE/archive/"
archive - "$STAGE/archive" --transform="s|^\.|$name|" . | zstd --quiet -19 -T1 -o "$OUT/$name.tar.zst"

(IS_STAGED=yes && . packaging/image.sh)
node packaging/sbom.mjs >"$OUT/landing-$VERSION.cdx.json"

(cd "$OUT" && sha256sum landing[-_]* >SHA256SUMS)
rm -rf "$STAGE" "$OUT/root" "$OUT/data"
(cd "$OUT" && ls -l --block-size=1 -- * | awk 'NF > 8 { print $5, $9 }')
