#!/bin/sh
# Three agents on this machine, in a folder of their own: who leads, a kill -9, who leads next. Then everything ends.
set -eu
command -v conclave > /dev/null || { echo "conclave is not in PATH: put the bin folder of the checkout there" >&2; exit 1; }
folder=$(mktemp -d)
pids=""
trap 'kill -9 $pids 2> /dev/null || true; rm -rf "$folder"' EXIT
(umask 077; head -c 32 /dev/urandom > "$folder/key")
# Ports that are free as a rule; give another first one if they are not.
port=${1:-$((20000 + $$ % 12000))}
peers="a=127.0.0.1:$port,b=127.0.0.1:$((port + 1)),c=127.0.0.1:$((port + 2))"

url() { echo "http://127.0.0.1:$((port + 80 + $1))"; }

number=0
for id in a b c; do
  # A machine that does other things besides is late more often: sigmaMs is how late a node may be.
  CONCLAVE_PEER=$peers conclave agent --group quick --id "$id" --listen "127.0.0.1:$((port + number))" \
    --key-file "$folder/key" --data "$folder/$id" --http "127.0.0.1:$((port + 80 + number))" \
    --option sigmaMs=200 2> "$folder/$id.log" &
  pids="$pids $!"
  eval "pid_$id=$! number_$id=$number"
  number=$((number + 1))
done

# Waits until the agent knows of a leader, and of another than the one that was.
next_leader() {
  tries=0
  while true; do
    leader=$(conclave leader --agent "$1" 2> /dev/null) || leader=""
    [ -n "$leader" ] && [ "$leader" != "${2:-}" ] && break
    tries=$((tries + 1))
    if [ $tries -gt 300 ]; then
      echo "nobody leads; this is what the agents said:" >&2
      cat "$folder"/*.log >&2
      exit 1
    fi
    sleep 0.1
  done
}

next_leader "$(url 0)"
first=$leader
echo "1. three processes have elected $first"
eval "kill -9 \$pid_$first"
echo "2. kill -9 $first"
witness=0
[ "$first" = a ] && witness=1
next_leader "$(url $witness)" "$first"
echo "3. $leader leads"
until text=$(conclave status --agent "$(url $witness)"); do sleep 0.1; done
echo "$text"
