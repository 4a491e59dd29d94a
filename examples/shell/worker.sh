#!/bin/sh
# The work: one line every 100 ms, with the token, so that a reader can refuse an older one.
set -eu
log=$1
trap 'echo "end $CONCLAVE_TOKEN" >> "$log"; exit 0' TERM
echo "begin $CONCLAVE_TOKEN on $CONCLAVE_ID in $CONCLAVE_GROUP, $CONCLAVE_EXPIRES_MS ms to go" >> "$log"
while true; do
  echo "work $CONCLAVE_TOKEN" >> "$log"
  sleep 0.1
done
