#!/bin/bash
# The part of run that is inside the namespaces: sets up the network and servers, then runs experiment.py. Not for
# direct use.
set -euo pipefail

fail() {
  echo "popularity: $1" >&2
  [ $# -lt 2 ] || tail -n 20 "$2" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../namespaces.sh"
enter_folder
cp "$here"/{web,web.conf,inventory.yaml} "$here/../load.py" .  # user nobody may not be able to read the repository

read_inventory "$here/inventory.yaml"
add_switch
ip address add "${address[monitor]}/24" dev br0
number=1
for host in client1 client2 proxy web1 web2 web3; do
  add_host "$host" $((number++))
done

redis-server --bind "${address[monitor]}" --protected-mode no --save '' --appendonly no --dir "$work" >redis.log &

make_pages() {
  install -d web1/pages/video
  awk 'BEGIN {
    for (page = 1; page <= 1000; page++) {
      file = sprintf("web1/pages/video/%04d", page)
      for (line = 1; line <= 60; line++) printf "video %d, line %d: %d\n", page, line, page * 7919 + line > file
      close(file)
    }
  }'
}
make_pages
./web start web1
install -d proxy
sed "s|LUA_FOLDER|$work/proxy|" "$here/proxy.conf" >proxy/nginx.conf
cp "$here/../../deploy/nginx/tapline_pool.lua" proxy/
on proxy nginx -p "$work/proxy/" -e error.log -c "$work/proxy/nginx.conf" || fail "nginx did not start:" proxy/error.log
until_true 30 listens proxy 80 || fail "nginx did not start listening:" proxy/error.log
/usr/bin/python3 -B "$here/experiment.py" "$@"
