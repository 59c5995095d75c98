#!/bin/bash
# The part of run inside the namespaces: sets up the network, then runs experiment.py. Not for direct use.
#
#   source ──▶ to-source  bridge  to-target ──▶ target
#                 │ copy           token bucket  │ copy
#              tap-arrivals                   tap-departures
set -euo pipefail

fail() {
  echo "queues: $1" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../namespaces.sh"
enter_folder
address[source]=10.41.0.2
address[target]=10.41.0.3
add_switch
add_host source 1
add_host target 2
# Address resolution would add frames to the queue that the captures leave out.
ip -n source neighbour replace "${address[target]}" lladdr 02:00:00:00:00:02 dev eth0 nud permanent
ip -n target neighbour replace "${address[source]}" lladdr 02:00:00:00:00:01 dev eth0 nud permanent
tc qdisc add dev to-target root tbf rate 100mbit burst 5kb limit 500000

# copy_ingress NAMESPACE DEVICE TAP: copies what comes in at the device to the interface TAP here, as a tapped link does.
copy_ingress() {
  local from=(ip netns exec "$1") device=$2 tap=$3
  [ "$1" != switch ] || from=()
  "${from[@]}" ip link add "$tap-in" type veth peer name "$tap" netns $$
  "${from[@]}" ip link set "$tap-in" arp off up
  ip link set "$tap" arp off promisc on up
  "${from[@]}" tc qdisc add dev "$device" clsact
  "${from[@]}" tc filter add dev "$device" ingress protocol all u32 match u32 0 0 action mirred egress mirror dev "$tap-in"
}
copy_ingress switch to-source arrivals
copy_ingress target eth0 departures
on source ping -q -c 1 "${address[target]}" >/dev/null || fail "the hosts can't reach each other"
exec /usr/bin/python3 -B "$here/experiment.py" "$@"
