#!/bin/sh
# Three nodes on this machine run a job. The node that runs it is killed with kill -9, and another one continues.
# Usage: examples/jobs/survive.sh    (from the root of the project, with `conclave` in PATH)
set -eu
command -v conclave > /dev/null || { echo 'survive.sh: conclave is not in PATH; run: export PATH="$PWD/bin:$PATH"' >&2; exit 1; }
module=$(cd "$(dirname "$0")" && pwd)/primes.mjs
folder=$(mktemp -d)
pids=
trap 'for pid in $pids; do kill -9 "$pid" 2>/dev/null || true; done; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP

umask 077 # only their owner can read the key and the token
head -c 32 /dev/urandom > "$folder/key"
head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$folder/token"
export CONCLAVE_ADMIN_TOKEN_FILE="$folder/token"

serve() { # ID NUMBER
  peers=
  for each in a:1 b:2 c:3; do
    [ "${each%:*}" = "$1" ] || peers="$peers --peer ${each%:*}=127.0.0.1:1740${each#*:}"
  done
  # shellcheck disable=SC2086 -- one word per flag
  conclave job serve --group jobs --id "$1" --listen "127.0.0.1:1740$2" $peers --key-file "$folder/key" \
    --data "$folder/$1" --http "127.0.0.1:1748$2" --admin-token-file "$folder/token" 2> "$folder/$1.log" &
  pids="$pids $!"
  echo $! > "$folder/$1.pid"
}
serve a 1
serve b 2
serve c 3

# Ends with the log of a node that has ended by itself, for example because its port is in use.
check() {
  for id in "$@"; do
    kill -0 "$(cat "$folder/$id.pid")" 2>/dev/null && continue
    echo "survive.sh: node $id has ended:" >&2
    tail -n 3 "$folder/$id.log" >&2
    exit 1
  done
}

agent_of() { case $1 in a) echo http://127.0.0.1:17481 ;; b) echo http://127.0.0.1:17482 ;; *) echo http://127.0.0.1:17483 ;; esac; }
job() { # ID: the line of the job, as this node knows it
  conclave job list --agent "$(agent_of "$1")" --json 2>/dev/null || true
}

until conclave job submit primes --module "$module" --input '{"below": 300000, "pauseMs": 200}' \
  --agent "$(agent_of a)" > /dev/null 2>&1; do check a b c; sleep 0.3; done
echo 'submitted'

# Wait for a checkpoint, and kill the node that runs the job.
owner=
until [ -n "$owner" ]; do
  check a b c
  sleep 0.2
  owner=$(job a | sed -n 's/.*"status":"running","node":"\([abc]\)".*"epoch":[2-9].*/\1/p')
done
kill -9 "$(cat "$folder/$owner.pid")"
echo 'killed the node that runs it, with kill -9'

other=a
[ "$owner" = a ] && other=b
until job "$other" | grep -q '"status":"done"'; do check "$other"; sleep 0.3; done
conclave job logs primes --agent "$(agent_of "$other")" | tail -n 1
echo "outputs: $(conclave job logs primes --agent "$(agent_of "$other")" | wc -l | tr -d ' ')"
