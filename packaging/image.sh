#!/usr/bin/env bash
# Builds the image in target/package with buildah, which needs neither a daemon nor a base image. `make image` calls it
# after the build `dist`.
#
# The image has the program, and from this machine the libraries that the program loads and the certificates
# of public authorities. Nothing else: no shell, no package manager.
[ "${IS_STAGED:-}" ] || . "$(dirname "$0")/stage.sh"

root=$OUT/root
# Without a registry: the name of this project is nobody's on Docker Hub.
readonly TAG=localhost/landing:$VERSION
rm -rf "$root" "$OUT/data"
mkdir -p "$root"/{etc/ssl/certs,tmp}
mkdir "$OUT/data"
cp "$STAGE/landing" "$root/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
# The third column of a library, and the first one of the loader.
ldd "$STAGE/landing" | awk '$3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | while read -r library; do
  install -D "$(realpath "$library")" "$root$library"
done
echo 'landing:x:65532:65532::/data:/landing' >"$root/etc/passwd"
echo 'landing:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
find "$root" "$OUT/data" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

storage=$(mktemp -d)
trap 'rm -rf "$storage" "$root" "$OUT/data"' EXIT
buildah() { command buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs "$@"; }
# The format of Docker has health checks, and all engines read it.
buildah build --quiet --isolation chroot --format docker --timestamp "$SOURCE_DATE_EPOCH" --tag built \
  --file packaging/Containerfile "$OUT" >/dev/null
mkdir "$storage/image"
buildah push --quiet built "docker-archive:$storage/image.tar"
tar -C "$storage/image" -xf "$storage/image.tar"
# The configuration has the random id and host name of the container in which it was built. Without them, the same files
# are the same image.
node --input-type=module -e '
  import { createHash } from "node:crypto";
  import { readFileSync, rmSync, writeFileSync } from "node:fs";
  const [directory, tag] = process.argv.slice(1);
  process.chdir(directory);
  const [{ Config, Layers }] = JSON.parse(readFileSync("manifest.json", "utf8"));
  const config = JSON.parse(readFileSync(Config, "utf8"));
  delete config.container;
  delete config.container_config;
  config.config.Hostname = "";
  const text = JSON.stringify(config);
  const name = `${createHash("sha256").update(text).digest("hex")}.json`;
  writeFileSync(name, text);
  const manifest = [{ Config: name, RepoTags: [tag], Layers }];
  rmSync("manifest.json");
  writeFileSync("manifest.json", JSON.stringify(manifest));
  console.log(["manifest.json", name, ...Layers].join("\n"));
' "$storage/image" "$TAG" >"$storage/names"
rm -f "$OUT/SHA256SUMS"
archive "$OUT/landing-$VERSION-image.tar" "$storage/image" --files-from="$storage/names"
