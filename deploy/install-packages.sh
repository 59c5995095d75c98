#!/usr/bin/env bash
# Installs those Debian packages in packages.txt that are missing. Takes a few milliseconds if none is missing.
#   install-packages.sh [--missing] [GROUP]     the groups of packages.txt up to GROUP, by default all
#   install-packages.sh FILE                    all packages of another such list
# --missing only prints the number of missing packages. Standard output is apt's.
set -euo pipefail

list=$(dirname "$0")/packages.txt
only_count=0
if [ "${1:-}" = --missing ]; then
  only_count=1
  shift
fi
if [ -f "${1:-}" ]; then
  list=$1
  shift
fi
last=${1:-}
if [ -n "$last" ] && ! grep -qxF "[$last]" "$list"; then
  echo "error: install-packages.sh: '$last' is neither a file nor a group in $list" >&2
  exit 2
fi
mapfile -t wanted < <(awk -v last="$last" '
  /^\[/ { if (last != "" && group == last) exit; group = substr($0, 2, length($0) - 2); next }
  NF && !/^#/' "$list")

# Uses a single query for all packages, so that a demo that is already built starts immediately.
installed=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' | awk '$2 == "installed" { sub(/:.*/, "", $1); print $1 }')
missing=()
for line in "${wanted[@]}"; do
  read -r package unless program <<<"$line"
  if [ "$unless" = unless ] && command -v "$program" >/dev/null; then
    continue
  fi
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if ((only_count)); then
  echo ${#missing[@]}
  exit 0
fi
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
# Some packages include servers, which must not be started on installation.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}"
