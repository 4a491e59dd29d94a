#!/bin/sh
# Runs worker.sh on the node that leads, and on no other node. Start it on every node:
#
#   (umask 077; head -c 32 /dev/urandom > key)      once, then copy it to all nodes
#   ./start.sh conclave.yaml work.log
#
# Further arguments go to `conclave run`.
set -eu
config=$1
log=$2
shift 2
exec conclave run --config "$config" "$@" -- "$(dirname "$0")/worker.sh" "$log"
