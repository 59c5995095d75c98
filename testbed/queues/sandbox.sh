#!/bin/bash
# The part of run that is inside the namespaces: sets up the network, then runs experiment.py. Not for direct use.
#
#   source eth0 ──▶ to-source  bridge  to-target ──▶ eth0 target
#          back  ◀─────────── responses ──────────── back
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
# Address resolution would add frames to the queue that the captures omit.
ip -n source neighbour replace "${address[target]}" lladdr 02:00:00:00:00:02 dev eth0 nud permanent
tc qdisc add dev to-target root tbf rate 100mbit burst 5kb limit 500000

# Responses return over another link, so each side of the queue shows one direction, as a tap on a fibre does.
ip link add back address 02:00:00:00:00:03 netns source type veth peer name back netns target
for host in source target; do
  on "$host" ethtool -K back tx off tso off gso off gro off >/dev/null
  ip -n "$host" link set back up
done
ip -n target route add "${address[source]}" dev back src "${address[target]}"
ip -n target neighbour replace "${address[source]}" lladdr 02:00:00:00:00:03 dev back nud permanent
on source sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.back.rp_filter=0
until_true 20 can_reach source target || fail "the hosts can't reach each other"
exec /usr/bin/python3 -B "$here/experiment.py" "$@"
