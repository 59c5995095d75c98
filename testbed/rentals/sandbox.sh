#!/bin/bash
# The part of run that is inside the namespaces: sets up the network and servers, then runs pages.py or cost.py. Not for
# direct use.
set -euo pipefail

fail() {
  echo "rentals: $1" >&2
  [ $# -lt 2 ] || tail -n 20 "$2" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../namespaces.sh"
enter_folder
cp "$here"/{app.py,inventory.yaml} "$here/../load.py" .  # user nobody may not be able to read the repository

read_inventory "$here/inventory.yaml"
add_switch
number=1
for host in client web db; do
  add_host "$host" $((number++))
done

start_database db
sql <"$here/rentals.sql"
on web sysctl -qw net.ipv4.ip_unprivileged_port_start=80
on web "${as_nobody[@]}" /usr/bin/python3 -B app.py --listen "${address[web]}" --db "${address[db]}" >app.jsonl 2>app.err &
until_true 60 listens web 80 || fail "the application did not start:" app.err
/usr/bin/python3 -B "$here/$1.py" "${@:2}"
