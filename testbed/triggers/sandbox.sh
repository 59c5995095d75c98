#!/bin/bash
# The part of run that is inside the namespaces: sets up the network, then runs experiment.py. Not for direct use.
#
#   left, right, third eth0 (400 Mb/s) ──▶ bridge ──▶ to-receiver (100 Mb/s) ──▶ eth0 receiver
set -euo pipefail

fail() {
  echo "triggers: $1" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../namespaces.sh"
enter_folder
hosts=(receiver left right third)
add_switch
for i in "${!hosts[@]}"; do
  address[${hosts[i]}]=10.42.0.$((i + 2))
  add_host "${hosts[i]}" $((i + 1))
done
# Address resolution would take bytes on the link that no trigger counts.
for i in 1 2 3; do
  ip -n "${hosts[i]}" neighbour replace "${address[receiver]}" lladdr 02:00:00:00:00:01 dev eth0 nud permanent
  ip -n receiver neighbour replace "${address[${hosts[i]}]}" lladdr "$(printf '02:00:00:00:00:%02x' $((i + 1)))" dev eth0 nud permanent
  on "${hosts[i]}" tc qdisc add dev eth0 root tbf rate 400mbit burst 5kb limit 2mb
  until_true 20 can_reach "${hosts[i]}" receiver || fail "the hosts can't reach each other"
done
# The experiment runs on the receiver, so that it reaches its `tapline server` at the loopback address.
ip netns attach switch $$
exec ip netns exec receiver /usr/bin/python3 -B "$here/experiment.py" "$@"
