#!/usr/bin/env bash
# Builds the image in target/package with buildah, which needs neither a daemon nor a base image. `make image` calls it
# after the release build.
#
# The image has the program, the site, and from this machine the libraries that the program loads and the certificates
# of public authorities. Nothing else: no shell, no package manager.
[ "${IS_STAGED:-}" ] || . "$(dirname "$0")/stage.sh"

root=$OUT/root
# Without a registry: the name of this project is nobody's on Docker Hub.
readonly TAG=localhost/landing:$VERSION
rm -rf "$root" "$OUT/data"
mkdir -p "$root"/{etc/ssl/certs,tmp}
mkdir "$OUT/data"
cp -r "$STAGE/landing" "$STAGE/site" "$root/"
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
# Its configuration has a random host name, with which no two images would be the same.
container=$(buildah from built)
buildah config --hostname landing "$container"
buildah commit --quiet --format docker --squash --timestamp "$SOURCE_DATE_EPOCH" "$container" "$TAG" >/dev/null
image=$OUT/landing-$VERSION-image.tar
rm -f "$image" "$OUT/SHA256SUMS"
buildah push --quiet "$TAG" "docker-archive:$image:$TAG"
