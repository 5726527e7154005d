#!/bin/sh
# Builds the image with buildah, as root: no daemon, no registry; its base is the Debian that debootstrap makes.
# Where there is Docker, `docker build --tag zenserve .` does the same over Debian's own image.
set -eu
cd "$(dirname "$0")/.."
base=localhost/zenserve-bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

if ! buildah inspect --type image "$base" > /dev/null 2>&1; then
  root=$(mktemp --directory)
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror"
  # As Debian's own slim images are.
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/usr/share/doc "$root"/usr/share/man \
    "$root"/usr/share/info "$root"/usr/share/locale
  container=$(buildah from scratch)
  buildah copy --quiet "$container" "$root" /
  buildah commit --quiet --rm "$container" "$base"
fi

# What this host needs to reach packages, the build needs too; none of it stays in the image.
set -- --volume /etc/ssl/certs:/etc/ssl/certs:ro
if [ -f /etc/pip.conf ]; then set -- "$@" --volume /etc/pip.conf:/etc/pip.conf:ro; fi
buildah build --isolation chroot --format docker --layers --build-arg BASE="$base" "$@" --tag zenserve .
