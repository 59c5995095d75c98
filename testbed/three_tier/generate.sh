#!/bin/bash
# Creates three_tier.pcap.zst, the servers' logs and summary.csv: see README.md. Needs root and Debian 12 packages.
#
# Everything runs in private namespaces (network, processes, mounts), with files in memory. The namespaces belong to the
# process started below. When it ends, even if this script is killed, the kernel removes them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
output=$here
seconds=50
rate=52

usage() {
  cat <<TEXT
Usage: generate.sh [--seconds N] [--rate N] [--output DIRECTORY]
Makes the three-tier capture, its logs and its summary. Exit code 0: done, 1: failed, 2: usage error.
  --seconds N         length of the load (default $seconds)
  --rate N            mean requests per second (default $rate)
  --output DIRECTORY  where the results go (default $output)
TEXT
}

wrong_usage() {
  echo "generate.sh: $1; see generate.sh --help" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --seconds | --rate | --output) [ $# -ge 2 ] || wrong_usage "$1 needs a value" ;;&
    --seconds) seconds=$2; shift 2 ;;
    --rate) rate=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    *) wrong_usage "unknown argument '$1'" ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || wrong_usage "--seconds takes a whole number from 1 to 9999, not '$seconds'"
[[ $rate =~ ^[1-9][0-9]{0,3}$ ]] || wrong_usage "--rate takes a whole number from 1 to 9999, not '$rate'"

fail() {
  echo "generate.sh: $1" >&2
  exit 1
}

. "$here/../namespaces.sh"
require_packages ip:iproute2 bridge:iproute2 ss:iproute2 ethtool:ethtool tcpdump:tcpdump tshark:tshark zstd:zstd \
  nginx:nginx mariadbd:mariadb-server mariadb-install-db:mariadb-server mariadb:mariadb-client memcached:memcached \
  unshare:util-linux setpriv:util-linux flock:util-linux /usr/bin/python3:python3 \
  /usr/lib/python3/dist-packages/pymysql/__init__.py:python3-pymysql
[ -d "$output" ] || fail "no directory $output"

# Locks the directory itself, so no lock file is left behind.
exec {lock}<"$output"
flock -n "$lock" || fail "another run is writing to $output; wait for it to end"

sandbox=
clean_up() {
  if [ -n "$sandbox" ]; then
    kill -KILL "$sandbox" 2>/dev/null || true
    wait "$sandbox" 2>/dev/null || true
  fi
  rm -rf "$output/.new"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

rm -rf "$output/.new"
mkdir "$output/.new"
in_namespaces "$here/sandbox.sh" "$output/.new" "$seconds" "$rate"
wait "$sandbox" || fail "nothing was changed in $output"
mv "$output"/.new/* "$output/"
echo "written to $output:"
cd "$output" && du -bc three_tier.* summary.csv
