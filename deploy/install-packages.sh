#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing; does nothing, in a few milliseconds, where none is. "package unless
# program" is not wanted where the program is there: it may be of another source.
set -euo pipefail

list=$(dirname "$0")/packages.txt
mapfile -t wanted < <(grep -v '^#' "$list")

missing=()
for line in "${wanted[@]}"; do
  read -r package unless program <<<"$line"
  if [ "$unless" = unless ] && command -v "$program" >/dev/null; then
    continue
  fi
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
  as_root=(sudo)
else
  echo "error: these packages are missing and installing them needs root:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  echo "Run that as root, or run make again as root or with sudo rights." >&2
  exit 1
fi

echo "Installing ${#missing[@]} missing packages: ${missing[*]}" >&2
# Servers come with some of the packages; none shall start by itself.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
