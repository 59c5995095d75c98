# Functions that start the shop, sourced by sandbox.sh and shop.sh after ../namespaces.sh. REQUIRES: $here is this
# folder; $work, for the shop's files, is the working directory; ${address[NAME]} and `on NAME COMMAND…` exist for the
# shop's six hosts.

# The number of rows that the database reads for a page, and the seconds for which a cached page is fresh.
sales=46000
fresh_seconds=12

nothing_open() {
  local host
  for host in client proxy app1 app2 db cache; do
    [ -z "$(on "$host" ss -Htn state connected exclude time-wait)" ] || return 1
  done
}

start_cache() {
  on cache memcached -u nobody -l "${address[cache]}" -p 11211 -U 0 -m 64 >memcached.log 2>&1 &
  until_true 20 listens cache 11211 || fail "memcached did not come up:" memcached.log
}

# start_app NAME ARGUMENTS...
start_app() {
  local name=$1; shift
  on "$name" "${as_nobody[@]}" /usr/bin/python3 -B app_server.py "$name" \
    --listen "${address[$name]}:8080" --db "${address[db]}" --cache "${address[cache]}" "$@" \
    >"$name.jsonl" 2>"$name.err" &
  until_true 110 listens "$name" 8080 || fail "the application server $name did not come up:" "$name.err"
}

start_proxy() {
  sed "s/PROXY_ADDRESS/${address[proxy]}/; s/APP1_ADDRESS/${address[app1]}/; s/APP2_ADDRESS/${address[app2]}/" \
    "$here/nginx.conf" >nginx.conf
  on proxy nginx -p "$work/" -e nginx_error.log -c "$work/nginx.conf" 2>nginx.err &
  until_true 20 listens proxy 80 || fail "nginx did not start listening:" nginx.err
}

open_shop() {
  say "starting MariaDB, memcached, two application servers and nginx"
  start_database db --slow-query-log-file="$work/db_log/slow.log" --long-query-time=0
  sed "s/seq_1_to_46000/seq_1_to_$sales/" "$here/shop.sql" | sql
  start_cache
  start_app app2 --preload --fresh-seconds "$fresh_seconds"
  start_app app1 --wrong-key-share 0.9 --fresh-seconds "$fresh_seconds"
  start_proxy
}
