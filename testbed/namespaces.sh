# Helpers for scripts that run real servers in private namespaces (network, processes, mounts), with their files in
# memory. Sourced twice: by the outer script, for `require_packages` and `in_namespaces`, and by the script inside the
# namespaces, for the rest. The namespaces belong to the process that in_namespaces starts. When this process ends, even
# if it is killed, the kernel ends all processes in the namespaces. REQUIRES: set -euo pipefail; the sourcing script
# defines fail().

export PATH=$PATH:/usr/sbin:/sbin

# require_packages PROGRAM:PACKAGE…: fails if a program is missing, the user is not root, or namespaces can't be
# created.
require_packages() {
  local missing=() each
  for each in "$@"; do
    command -v "${each%:*}" >/dev/null || [ -e "${each%:*}" ] || missing+=("${each#*:}")
  done
  [ ${#missing[@]} = 0 ] || fail "Debian packages are missing; install them with:
  apt-get install -y --no-install-recommends $(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')"
  [ "$(id -u)" = 0 ] || fail "network namespaces need root; start it with sudo"
  unshare --mount --net --pid --fork true 2>/dev/null ||
    fail "not allowed to create namespaces; a container needs --privileged"
}

# in_namespaces COMMAND…: runs the command in new namespaces, in the background, and sets $sandbox to the process ID.
in_namespaces() {
  setpriv --pdeathsig KILL unshare --mount --net --pid --ipc --uts --mount-proc --fork --kill-child=KILL "$@" &
  sandbox=$!
}

# The remaining functions are for the script inside the namespaces.

# enter_folder: enters a folder in memory. Its tmpfs hides the host's /run, and with it the names of the host's network
# namespaces.
enter_folder() {
  [ $$ = 1 ] || fail "this script runs only in separate namespaces; start run or generate.sh instead"
  mount -t tmpfs tmpfs /run
  work=/run/work
  mkdir -m 755 "$work"
  export TMPDIR=$work/tmp  # because servers write there as different users
  mkdir -m 1777 "$TMPDIR"
  cd "$work"
}

declare -A address
read_inventory() {
  local name value
  while read -r name value; do
    address[$name]=$value
  done < <(sed -nE 's/^  ([a-z0-9]+): \[([0-9.]+)\]$/\1 \2/p' "$1")
}

# This network namespace is the switch. Each host is another namespace, connected by a veth pair. Offloads are off, so
# frames have the same sizes and checksums as on a wire.
add_switch() {
  sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip link set lo up
  ip link add br0 type bridge mcast_snooping 0
  ip link set br0 up promisc on  # promiscuous, so a capture on br0 sees each forwarded frame once
}

add_host() {
  local name=$1 number=$2
  ip netns add "$name"
  ip netns exec "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip link add "to-$name" type veth peer name eth0 address "$(printf '02:00:00:00:00:%02x' "$number")" netns "$name"
  ethtool -K "to-$name" tx off tso off gso off gro off >/dev/null
  ip netns exec "$name" ethtool -K eth0 tx off tso off gso off gro off >/dev/null
  ip link set "to-$name" master br0 up
  ip -n "$name" link set lo up
  ip -n "$name" address add "${address[$name]}/24" dev eth0
  ip -n "$name" link set eth0 up
}

as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
on() { local host=$1; shift; ip netns exec "$host" "$@"; }

# until_true SECONDS COMMAND...: waits until the command succeeds; fails after the deadline.
until_true() {
  local deadline=$((SECONDS + $1)); shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.1
  done
}

# can_reach HOST OTHER: succeeds once a packet gets there and back. The bridge drops packets until it detects that a new
# port's link is up, so the first packet may be lost: use this function with until_true.
can_reach() { on "$1" ping -q -c 1 -W 1 "${address[$2]}" >/dev/null; }

listens() { [ -n "$(on "$1" ss -Hltn "sport = :$2")" ]; }

# start_database HOST [OPTION…]: starts MariaDB with its data in db, its logs and socket in db_log.
start_database() {
  local host=$1
  shift
  install -d -o mysql -g mysql db db_log
  mariadb-install-db --no-defaults --user=mysql --datadir="$work/db" --skip-test-db \
    --auth-root-authentication-method=normal >install_db.log 2>&1 || fail "mariadb-install-db failed:" install_db.log
  on "$host" mariadbd --no-defaults --user=mysql --datadir="$work/db" --socket="$work/db_log/socket" \
    --pid-file="$work/db_log/pid" --bind-address="${address[$host]}" --skip-name-resolve --skip-log-bin \
    --innodb-flush-method=fsync --innodb-log-file-size=16M "$@" >mariadbd.log 2>&1 &
  until_true 60 answers_sql || fail "mariadbd did not come up:" mariadbd.log
}

sql() { mariadb --no-defaults --socket "$work/db_log/socket" -u root "$@"; }
answers_sql() { sql -e 'SELECT 1' >/dev/null 2>&1; }

say() { echo "$(date +%T) $1"; }
