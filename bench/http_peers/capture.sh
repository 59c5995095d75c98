#!/bin/bash
# capture.sh REQUESTS FOLDER: runs nginx and a client in private namespaces, and captures their traffic with tcpdump.
# Writes FOLDER/clean.pcap and nginx's log, FOLDER/access.jsonl. Needs root. Runs itself again inside the namespaces,
# with --within.
set -euo pipefail

fail() {
  echo "capture: $1" >&2
  [ $# -lt 2 ] || tail -n 20 "$2" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
modules=/usr/lib/nginx/modules
. "$here/../../testbed/namespaces.sh"

if [ "$1" != --within ]; then
  require_packages ip:iproute2 ss:iproute2 ethtool:ethtool unshare:util-linux setpriv:util-linux tcpdump:tcpdump nginx:nginx \
    $modules/ngx_http_lua_module.so:libnginx-mod-http-lua /usr/bin/python3:python3
  folder=$(mkdir -p "$2" && cd "$2" && pwd)
  trap '[ -z "$sandbox" ] || { kill -KILL "$sandbox" 2>/dev/null; wait "$sandbox" 2>/dev/null; } || true' EXIT
  in_namespaces "$here/capture.sh" --within "$1" "$folder"
  wait "$sandbox"
  exit
fi

requests=$2 folder=$3
enter_folder
address=([client]=10.9.0.1 [web]=10.9.0.80)
add_switch
add_host client 1
add_host web 2

mkdir web
chown www-data web
sed "s|MODULES|$modules|" "$here/nginx.conf" >web/nginx.conf
on web nginx -p "$work/web/" -e error.log -c "$work/web/nginx.conf" &
server=$!
until_true 30 listens web 80 || fail "nginx did not start:" web/error.log

tcpdump -i br0 -s 0 -B 262144 --immediate-mode -Z root -w "$folder/clean.pcap" tcp 2>tcpdump.log &
capture=$!
until_true 20 grep -q 'listening on' tcpdump.log || fail "tcpdump did not start:" tcpdump.log
on client /usr/bin/python3 "$here/client.py" "${address[web]}" 80 "$requests"
kill -QUIT "$(cat web/nginx.pid)"  # a graceful shutdown: waits for connections to end, then flushes the log
wait "$server"
sleep 1  # tcpdump does not drain the kernel's buffer when it ends
kill -INT "$capture"
wait "$capture" || fail "tcpdump failed:" tcpdump.log
grep -q '^0 packets dropped by kernel' tcpdump.log || fail "the capture has losses; try again on a less busy machine:" tcpdump.log
cp web/access.jsonl "$folder/"
[ "$(wc -l <"$folder/access.jsonl")" = "$requests" ] || fail "nginx did not log $requests requests:" web/error.log
