#!/bin/bash
# The part of generate.sh that is inside the namespaces: network, servers, load, capture, results. Not for direct use:
# it relies on the end of the private namespaces to clean up. Arguments: directory for the results, seconds of load,
# requests per second.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
output=$1 seconds=$2 rate=$3
fail() {
  echo "sandbox.sh: $1" >&2
  [ $# -lt 2 ] || tail -n 20 "$2" >&2
  exit 1
}

. "$here/../namespaces.sh"
. "$here/servers.sh"
enter_folder
cp "$here"/*.py .  # user nobody may not be able to read the repository

start_capture() {
  touch tcpdump.log
  tcpdump -i br0 -s 0 -B 65536 --immediate-mode -U --time-stamp-precision=nano -Z root \
    -w "$work/three_tier.pcap" 2>tcpdump.log &
  capture=$!
  until_true 20 grep -q 'listening on' tcpdump.log || fail "tcpdump did not start:" tcpdump.log
}

stop_capture() {
  until_true 30 nothing_open || fail "connections are still open after the load"
  sleep 1  # tcpdump does not drain the kernel's buffer when it ends; a lost packet fails the log comparison
  kill -INT "$capture"
  wait "$capture" || fail "tcpdump failed:" tcpdump.log
  grep -q '^0 packets dropped by kernel' tcpdump.log ||
    fail "the capture has losses; try again on a less busy machine:" tcpdump.log
}

read_inventory "$here/inventory.yaml"
add_switch
number=1
for host in client proxy app1 app2 db cache; do
  add_host "$host" $((number++))
done

open_shop

say "capturing $seconds s at $rate requests per second"
until_true 30 nothing_open || fail "connections are still open before the load"
start_capture
sql -e 'SET GLOBAL slow_query_log = 1'
on client "${as_nobody[@]}" /usr/bin/python3 -B client.py "${address[proxy]}" \
  --seconds "$seconds" --rate "$rate" || fail "the client saw failures:" nginx_error.log
stop_capture
sql -e 'SET GLOBAL slow_query_log = 0'
cat app1.err app2.err >&2
[ ! -s app1.err ] && [ ! -s app2.err ] || fail "an application server reported errors"

say "checking the capture against the logs"
/usr/bin/python3 -B summarize.py --inventory "$here/inventory.yaml" --pcap three_tier.pcap \
  --nginx nginx_access.jsonl --app app1.jsonl --app app2.jsonl --output "$output/summary.csv"

say "compressing"
cat app1.jsonl app2.jsonl >three_tier.app.jsonl
mv nginx_access.jsonl three_tier.nginx_access.jsonl
cat db_log/slow.log >three_tier.mariadb_slow.log
for file in three_tier.pcap three_tier.app.jsonl three_tier.nginx_access.jsonl three_tier.mariadb_slow.log; do
  zstd -q -19 --long=27 -T2 "$file" -o "$output/$file.zst"
done
