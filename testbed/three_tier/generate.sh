#!/bin/bash
# Makes three_tier.pcap.zst, the servers' logs and summary.csv: see README.md. Needs root and Debian 12 packages.
#
# Everything runs in namespaces of its own (network, processes, mounts) with its files in memory. They belong to the
# process started below and the kernel takes them down with it, however this script ends.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
output=$here
seconds=50
rate=52

usage() {
  cat <<TEXT
Usage: generate.sh [--seconds N] [--rate N] [--output DIRECTORY]
Makes the three-tier capture, its logs and its summary. Exit code 0: done, 1: failed, 2: wrong usage.
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

export PATH=$PATH:/usr/sbin:/sbin
missing_packages() {
  local tool_package
  for tool_package in ip:iproute2 bridge:iproute2 ss:iproute2 ethtool:ethtool tcpdump:tcpdump tshark:tshark zstd:zstd \
    nginx:nginx mariadbd:mariadb-server mariadb-install-db:mariadb-server mariadb:mariadb-client memcached:memcached \
    unshare:util-linux setpriv:util-linux flock:util-linux; do
    command -v "${tool_package%:*}" >/dev/null || echo "${tool_package#*:}"
  done
  [ -x /usr/bin/python3 ] || echo python3
  /usr/bin/python3 -c 'import pymysql' 2>/dev/null || echo python3-pymysql
}

missing=$(missing_packages | sort -u | tr '\n' ' ')
[ -z "$missing" ] || fail "Debian packages are missing; install them with:
  apt-get install -y --no-install-recommends $missing"
[ "$(id -u)" = 0 ] || fail "network namespaces need root; start it with sudo"
[ -d "$output" ] || fail "no directory $output"
unshare --mount --net --pid --fork true 2>/dev/null ||
  fail "not allowed to make namespaces; in a container, that takes --privileged"

# The lock is on the directory itself, so that no lock file stays behind.
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
setpriv --pdeathsig KILL unshare --mount --net --pid --ipc --uts --mount-proc --fork --kill-child=KILL \
  "$here/sandbox.sh" "$output/.new" "$seconds" "$rate" {lock}<&- &
sandbox=$!
wait "$sandbox" || fail "nothing was changed in $output"
mv "$output"/.new/* "$output/"
echo "written to $output:"
cd "$output" && du -bc three_tier.* summary.csv
