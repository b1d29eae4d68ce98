#!/usr/bin/env bash
# Tests the packages in target/package as an administrator uses them: in a fresh Debian with a running systemd, without
# a network. `make test-package` calls it, as root, after `make package`.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly OUT=target/package
VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
readonly VERSION
readonly DEB=$OUT/landing_${VERSION}_amd64.deb
# A fresh Debian. It is downloaded again after a week, when the name of the file changes.
BASE=$HOME/.cache/landing/debian-$(date +%G-%V).tar
readonly BASE

passed=0
work=$(mktemp -d)
nspawn=
leader=
server=
trap 'finish' EXIT

finish() {
  local status=$?
  # The leader is the first process of the Debian, and ends all others there.
  for process in $server $leader $nspawn; do
    kill -KILL "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  umount --recursive "$work/image" 2>/dev/null || true
  if [ $status != 0 ]; then
    echo "FAILED: ${current:-start}" >&2
    [ ! -e "$work/boot.log" ] || tail -n 20 "$work/boot.log" >&2
    echo "$passed passed, 1 failed"
  fi
  rm -rf "$work"
}

# it CLAIM COMMAND…: a test.
it() {
  current=$1
  shift
  local started=${EPOCHREALTIME/[.,]/}
  "$@"
  passed=$((passed + 1))
  echo "ok $current ($(((${EPOCHREALTIME/[.,]/} - started) / 1000)) ms)"
}

# equals EXPECTED ACTUAL
equals() { [ "$1" = "$2" ] || { echo "expected '$1', found '$2'" >&2; return 1; }; }

# inside COMMAND…: runs a command in the Debian.
inside() {
  nsenter --target "$leader" --all -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

status() { inside curl -s -o /dev/null -w '%{http_code}' "$@"; }
sign_up() { status -H 'content-type: application/json' -d "{\"email\":\"$1\"}" http://127.0.0.1:3000/api/waitlist; }
count() { inside sh -c 'set -a; . /etc/landing.env; landing count'; }

boot() {
  if [ ! -e "$BASE" ]; then
    rm -f "$HOME"/.cache/landing/debian-*.tar
    mkdir -p "${BASE%/*}"
    mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,init-system-helpers,adduser,curl \
      bookworm "${BASE%.tar}.part.tar"
    mv "${BASE%.tar}.part.tar" "$BASE"
  fi
  mkdir "$work/debian"
  tar -C "$work/debian" -xf "$BASE"
  cp "$OUT"/landing* "$work"/previous.deb "$work/debian/root/"
  systemd-nspawn --quiet --directory "$work/debian" --boot --private-network --keep-unit --register=no \
    --link-journal=no --machine=landing-test >"$work/boot.log" 2>&1 </dev/null &
  nspawn=$!
  for _ in $(seq 300); do
    leader=$(pgrep -P "$nspawn" | head -n 1 || true)
    if [ -n "$leader" ] && inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; then return; fi
    sleep 0.1
  done
  echo "the Debian does not start" >&2
  return 1
}

# Another version of the same package, as the earlier release.
make_previous() {
  dpkg-deb --raw-extract "$DEB" "$work/previous"
  sed -i "s/^Version: .*/Version: 0.0.1/" "$work/previous/DEBIAN/control"
  # Its settings were others.
  sed -i /LANDING_HSTS/d "$work/previous/usr/share/landing/landing.env"
  (cd "$work/previous" && find usr lib -type f -exec md5sum {} + >DEBIAN/md5sums)
  dpkg-deb --build --root-owner-group "$work/previous" "$work/previous.deb" >/dev/null
}

install() { inside apt-get install -y -qq "$1" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; return 1; }; }

serves() {
  equals 200 "$(status http://127.0.0.1:3000/)"
  equals active "$(inside systemctl is-active landing.service)"
  equals enabled "$(inside systemctl is-enabled landing.socket)"
}

is_hardened() {
  inside systemd-analyze verify --man=no landing.service
  local exposure
  exposure=$(inside systemd-analyze security landing.service --no-pager | grep -o 'exposure level.*: [0-9.]*' | grep -o '[0-9.]*$')
  echo "exposure level: $exposure"
  awk "BEGIN { exit !($exposure <= 1.5) }"
}

protects_files() {
  equals '600 root' "$(inside stat -c '%a %U' /etc/landing.env)"
  equals '700 landing' "$(inside stat -c '%a %U' /var/lib/landing)"
  inside test -s /usr/share/man/man1/landing-export.1.gz
  inside test -s /usr/share/bash-completion/completions/landing
  inside test -s /usr/share/doc/landing/docs/operations.md
}

# People sign up without a pause while the package is upgraded.
upgrades_without_losing_a_sign_up() {
  cat >"$work/debian/root/sign-ups" <<'SCRIPT'
for number in $(seq 2000); do
  curl -s -o /dev/null -w '%{http_code}\n' -H 'content-type: application/json' \
    -d "{\"email\":\"$number@example.com\"}" http://127.0.0.1:3000/api/waitlist
  if [ -e /root/stop ]; then break; fi
done
SCRIPT
  inside sh /root/sign-ups >"$work/statuses" &
  local sign_ups=$!
  sleep 1
  local before
  before=$(inside systemctl show --value --property MainPID landing.service)
  install "/root/${DEB##*/}"
  sleep 1
  inside touch /root/stop
  wait "$sign_ups"
  [ "$before" != "$(inside systemctl show --value --property MainPID landing.service)" ]
  equals 201 "$(sort -u "$work/statuses")"
  echo "$(wc -l <"$work/statuses") sign-ups during the upgrade"
  equals $(($(wc -l <"$work/statuses") + 1)) "$(count)"
}

# As docs/settings.md says. No database is there.
uses_a_database() {
  inside cp -a /etc/landing.env /root/landing.env
  inside sed -i 's/^LANDING_DATA=/#&/' /etc/landing.env
  inside sh -c "echo DATABASE_URL=\'postgres://landing:secret@127.0.0.1:5/landing?connect_timeout=1\' >>/etc/landing.env"
  inside systemctl restart --no-block landing.service
  for _ in $(seq 100); do
    if inside journalctl --unit landing.service --lines 3 | grep -q '127.0.0.1:5'; then break; fi
    sleep 0.1
  done
  inside journalctl --unit landing.service --lines 3 | grep -q '127.0.0.1:5'
  inside cp -a /root/landing.env /etc/landing.env
  inside systemctl stop landing.service
  inside systemctl reset-failed landing.service || true
  inside systemctl start landing.socket landing.service
}

survives_many_restarts() {
  for _ in 1 2 3 4 5 6 7; do inside systemctl restart landing.service; done
  serves
}

stopped_site_stays_stopped() {
  inside systemctl stop landing.socket landing.service
  inside apt-get install -y -qq --reinstall "/root/${DEB##*/}" >"$work/apt.log" 2>&1
  equals inactive "$(inside systemctl is-active landing.service || true)"
  equals inactive "$(inside systemctl is-active landing.socket || true)"
  inside systemctl start landing.socket landing.service
}

lost_list_is_not_replaced_by_an_empty_one() {
  inside mv /var/lib/landing/waitlist /root/waitlist
  sign_up lost@example.com >/dev/null || true
  for _ in $(seq 100); do
    if [ "$(inside systemctl is-active landing.service || true)" = failed ]; then break; fi
    sleep 0.1
  done
  inside apt-get install -y -qq --reinstall "/root/${DEB##*/}" >"$work/apt.log" 2>&1
  equals failed "$(inside systemctl is-active landing.service || true)"
  inside systemctl start landing.service || true
  inside test ! -e /var/lib/landing/waitlist
  inside mv /root/waitlist /var/lib/landing/waitlist
  inside systemctl start landing.socket landing.service
}

is_removed_without_the_list() {
  inside apt-get remove -y -qq landing >/dev/null 2>&1
  equals 000 "$(status http://127.0.0.1:3000/ || true)"
  inside test -d /var/lib/landing/waitlist
  inside test -e /etc/landing.env
}

purge_keeps_the_list_by_default() {
  inside apt-get purge -y -qq landing >"$work/apt.log" 2>&1
  grep -q 'still in /var/lib/landing' "$work/apt.log"
  inside test -d /var/lib/landing/waitlist
  inside test ! -e /etc/landing.env
}

# As after a restore on another machine.
list_of_another_user_is_served() {
  inside chown -R 998:998 /var/lib/landing
  install "/root/${DEB##*/}"
  serves
}

purge_deletes_the_list_if_asked() {
  # The installation has registered the question. Without that, nobody would be asked.
  inside debconf-show landing | grep -q purge_list
  inside sh -c 'echo "landing landing/purge_list boolean true" | debconf-set-selections'
  inside apt-get purge -y -qq landing >/dev/null 2>&1
  inside test ! -e /var/lib/landing
}

# serve_until_ready COMMAND…: starts a server on port 3999, checks it, and stops it.
serve_until_ready() {
  "$@" >"$work/serve.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do
    if [ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:3999/readyz)" = 200 ]; then break; fi
    sleep 0.1
  done
  equals 200 "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:3999/)" || { cat "$work/serve.log" >&2; return 1; }
  ${health:-true}
  kill -TERM "$server"
  wait "$server" || { cat "$work/serve.log" >&2; return 1; }
  server=
}

archive_runs_where_it_is_unpacked() {
  mkdir "$work/archive"
  tar --zstd -C "$work/archive" -xf "$OUT/landing-$VERSION-x86_64-linux.tar.zst"
  cd "$work/archive"
  serve_until_ready "./landing-$VERSION-x86_64-linux/landing" --addr 127.0.0.1:3999
  cd - >/dev/null
}

# The image's own root, read-only except for the volume, as the user of the image. No engine is needed.
image_runs_read_only_as_a_user_without_rights() {
  mkdir "$work/unpacked" "$work/image"
  tar -C "$work/unpacked" -xf "$OUT/landing-$VERSION-image.tar"
  local layer
  layer=$(node -p "JSON.parse(fs.readFileSync('$work/unpacked/manifest.json'))[0].Layers[0]")
  tar -C "$work/image" -xf "$work/unpacked/$layer"
  # As an engine fills a new volume.
  cp -a "$work/image/data" "$work/volume"
  mount --bind "$work/image" "$work/image"
  mount --bind "$work/volume" "$work/image/data"
  mount -o remount,bind,ro "$work/image"
  local run=(chroot --userspec=65532:65532 "$work/image" /landing)
  health="${run[*]} health --addr 127.0.0.1:3999" \
    serve_until_ready env -i PATH=/usr/sbin:/usr/bin "${run[@]}" serve --addr 127.0.0.1:3999
  # The list is in the volume.
  test -e "$work/volume/waitlist"
  umount "$work/image/data"
  umount "$work/image"
  equals 65532:65532 "$(node -p "
    const config = JSON.parse(fs.readFileSync('$work/unpacked/manifest.json'))[0].Config;
    JSON.parse(fs.readFileSync('$work/unpacked/' + config)).config.User")"
}

is_small() {
  local bytes
  bytes=$(stat -c %s "$OUT/landing-$VERSION-image.tar")
  echo "$((bytes / 1000000)) MB"
  [ "$bytes" -le 40000000 ]
}

checksums_match() { (cd "$OUT" && sha256sum --quiet --check SHA256SUMS); }

components_are_listed() {
  node -e "
    const { components } = JSON.parse(fs.readFileSync('$OUT/landing-$VERSION.cdx.json'));
    const names = components.map((it) => it.name);
    for (const name of ['axum', 'sled', 'leptos', 'wasm-bindgen', 'react', 'react-dom', '@fontsource/commit-mono', 'libc6'])
      if (!names.includes(name)) throw new Error(name + ' is missing');
    for (const name of ['vitest', 'esbuild', 'proptest', 'typescript', 'windows-sys'])
      if (names.includes(name)) throw new Error(name + ' is not shipped');
    console.log(components.length + ' components');"
}

it "checksums match" checksums_match
it "lintian finds nothing" lintian --fail-on error,warning,info --suppress-tags initial-upload-closes-no-bugs "$DEB"
it "all components are listed" components_are_listed
it "the archive runs where it is unpacked" archive_runs_where_it_is_unpacked
it "the image runs read-only, as a user without rights" image_runs_read_only_as_a_user_without_rights
it "the image is small" is_small
make_previous
it "a fresh Debian starts" boot
it "the package installs" install /root/previous.deb
it "the site is served" serves
it "the program names its version" sh -c "$(declare -f equals inside); leader=$leader; equals 'landing $VERSION' \"\$(inside landing --version | cut -d' ' -f1-2)\""
it "the service is hardened" is_hardened
it "files are protected" protects_files
it "settings are read" sh -c "$(declare -f inside); leader=$leader; inside sed -i s/#LANDING_SIGNUPS_PER_MINUTE=.*/LANDING_SIGNUPS_PER_MINUTE=0/ /etc/landing.env && inside systemctl restart landing"
signs_up() { equals 201 "$(sign_up ann@example.com)"; }
it "a visitor signs up" signs_up
it "an upgrade loses no sign-up" upgrades_without_losing_a_sign_up
it "an upgrade keeps changed settings" inside grep -q '^LANDING_SIGNUPS_PER_MINUTE=0' /etc/landing.env
it "an upgrade brings the settings of the new version" inside grep -q LANDING_HSTS /usr/share/landing/landing.env
it "a list in a database is used" uses_a_database
it "many restarts do not stop the site" survives_many_restarts
it "an upgrade leaves a stopped site stopped" stopped_site_stays_stopped
it "a lost list is not replaced by an empty one" lost_list_is_not_replaced_by_an_empty_one
listed=$(count)
it "removing the package keeps the list" is_removed_without_the_list
it "the package installs again" install "/root/${DEB##*/}"
is_as_before() { equals "$listed" "$(count)"; }
it "the list is as before" is_as_before
it "a purge keeps the list by default" purge_keeps_the_list_by_default
it "a list that belonged to another user is served" list_of_another_user_is_served
it "a purge deletes the list if asked" purge_deletes_the_list_if_asked
echo "$passed passed, 0 failed"
