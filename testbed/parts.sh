# The command line of an experiment that has parts and runs in namespaces: reads the arguments, checks the requirements,
# and starts the parts. Sourced by queues/run and triggers/run, which then call read_arguments, require_built and
# run_parts. REQUIRES: set -euo pipefail; $here: the experiment's folder, $experiment: its name, $all_parts: the names of
# its parts, separated by commas; usage(): prints its help.

fail() {
  echo "$experiment: $1" >&2
  exit "${2:-1}"
}

# read_arguments ARGUMENT…: sets $parts, and $options for the experiment's program.
read_arguments() {
  local out='' docs='' alternatives=${all_parts//,/|} names=${all_parts//,/, }
  parts=$all_parts
  options=()
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage; exit 0 ;;
      --out) [ $# -ge 2 ] || fail "$1 needs a value" 2; out=$2; shift 2 ;;
      --write-docs) docs=1; options+=("$1"); shift ;;
      --only)
        [[ ${2:-} =~ ^($alternatives)(,($alternatives))*$ ]] ||
          fail "$1 takes ${names%, *} or ${names##*, }, separated by commas" 2
        parts=$2; options+=("$1" "$2"); shift 2 ;;
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]{0,2}$ ]] || fail "$1 takes a whole number from 1 to 999" 2
        options+=("$1" "$2"); shift 2 ;;
      *) fail "unknown argument '$1'; see testbed/$experiment/run --help" 2 ;;
    esac
  done
  [ -z "$docs" ] || [ -z "$out" ] || fail "--write-docs and --out can't be used together" 2
  [ -z "$docs" ] || [ "$parts" = "$all_parts" ] || fail "--write-docs takes all parts: leave out --only" 2
  if [ -n "$out" ]; then
    mkdir -p "$out"
    options+=(--out "$(cd "$out" && pwd)")
  fi
}

# require_built PROGRAM…: fails unless the packages that all experiments need are installed, and these native programs
# are built.
require_built() {
  require_packages ip:iproute2 tc:iproute2 ethtool:ethtool tcpdump:tcpdump unshare:util-linux setpriv:util-linux taskset:util-linux \
    /usr/bin/python3:python3
  local program
  for program in "$@"; do
    [ -x "$here/../../build/bin/$program" ] || fail "build/bin/$program is not built yet: run make build"
  done
}

# run_parts: runs sandbox.sh in namespaces that are removed when the calling script exits.
run_parts() {
  sandbox=
  trap '[ -z "$sandbox" ] || { kill -KILL "$sandbox" 2>/dev/null; wait "$sandbox" 2>/dev/null; } || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  in_namespaces "$here/sandbox.sh" "${options[@]}"
  wait "$sandbox"
}
