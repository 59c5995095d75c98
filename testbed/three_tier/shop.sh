#!/bin/bash
# Runs the shop on hosts of a running testbed (tapline testbed up), for queries over packets that switches mirror. Needs
# root and Debian 12 packages. See README.md.
#
# The shop's processes and files are in private namespaces, which the kernel removes when this script ends, even if it
# is killed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
testbed=tl
seconds=50
rate=12
sales_here=350000
output=

# Places on the fat tree: host h-POD-EDGE-NUMBER has the address 10.POD.EDGE.NUMBER+2.
declare -A place=([proxy]=0-0-0 [app1]=0-1-0 [app2]=1-0-0 [db]=2-0-0 [cache]=2-1-0 [client]=3-0-0)

usage() {
  cat <<TEXT
Usage: shop.sh [--testbed NAME] [--seconds N] [--rate N] [--sales N] [--output DIRECTORY]
Starts the shop on hosts of a testbed, waits for Enter, then asks for pages. Exit code 0: done, 1: failed, 2: usage error.
  --testbed NAME      which (default $testbed)
  --seconds N         length of the load (default $seconds)
  --rate N            mean requests per second (default $rate)
  --sales N           rows that the database reads for a page (default $sales_here)
  --output DIRECTORY  put the servers' logs there
TEXT
}

wrong_usage() {
  echo "shop.sh: $1; see shop.sh --help" >&2
  exit 2
}

arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --testbed | --seconds | --rate | --sales | --output) [ $# -ge 2 ] || wrong_usage "$1 needs a value" ;;&
    --testbed) testbed=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --rate) rate=$2; shift 2 ;;
    --sales) sales_here=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    *) wrong_usage "unknown argument '$1'" ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || wrong_usage "--seconds takes a whole number from 1 to 9999, not '$seconds'"
[[ $rate =~ ^[1-9][0-9]{0,3}$ ]] || wrong_usage "--rate takes a whole number from 1 to 9999, not '$rate'"

[[ $sales_here =~ ^[1-9][0-9]{0,6}$ ]] || wrong_usage "--sales takes a whole number from 1 to 9999999, not '$sales_here'"

fail() {
  echo "shop.sh: $1" >&2
  [ $# -lt 2 ] || tail -n 20 "$2" >&2
  exit 1
}

. "$here/../namespaces.sh"
. "$here/servers.sh"
# Switches, servers and monitors share the host's cores, so every page has more overhead than between plain namespaces.
# The database reads more rows, to keep its share of the response times. Pages stay fresh for longer, so that each is
# requested as often while it is fresh as at 52 requests/s.
sales=$sales_here
fresh_seconds=$((12 * 52 / rate + 1))
on() { local host=$1; shift; ip netns exec "$testbed-h-${place[$host]}" "$@"; }
for name in "${!place[@]}"; do
  IFS=- read -r pod edge number <<<"${place[$name]}"
  address[$name]=10.$pod.$edge.$((number + 2))
done

outside() {
  require_packages ip:iproute2 nginx:nginx mariadbd:mariadb-server mariadb:mariadb-client memcached:memcached \
    /usr/lib/python3/dist-packages/pymysql/__init__.py:python3-pymysql
  [ -e "/run/netns/$testbed-h-${place[proxy]}" ] || fail "there is no testbed $testbed: run tapline testbed up"
  [ -z "$output" ] || [ -d "$output" ] || fail "no directory $output"
  exec setpriv --pdeathsig KILL unshare --mount --pid --ipc --mount-proc --fork --kill-child=KILL "$0" "${arguments[@]}"
}

inside() {
  [ -z "$output" ] || output=$(cd "$output" && pwd)
  work=/mnt
  mount -t tmpfs -o mode=755 tmpfs $work  # hides the host's /mnt
  cd $work
  install -d -m 1777 tmp
  export TMPDIR=$work/tmp
  cp "$here"/*.py .  # user nobody may not be able to read the repository
  open_shop
  for name in client proxy app1 app2 db cache; do echo "  $name ${address[$name]}"; done
  say "the shop is open; press Enter to generate load for $seconds s"
  read -r || true
  on client "${as_nobody[@]}" /usr/bin/python3 -B client.py "${address[proxy]}" --seconds "$seconds" --rate "$rate" ||
    fail "the client saw failures:" nginx_error.log
  until_true 30 nothing_open || fail "connections are still open after the load"
  cat app1.err app2.err >&2
  [ -z "$output" ] || cp nginx_access.jsonl app1.jsonl app2.jsonl "$output"
  say "closed"
}

if [ $$ = 1 ]; then inside; else outside; fi
