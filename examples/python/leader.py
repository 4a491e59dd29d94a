#!/usr/bin/env python3
"""Works only while the agent on this machine leads. Needs only Python's standard library.

    conclave agent --config conclave.yaml &
    python3 leader.py --agent http://127.0.0.1:7480 --log work.log

What makes it safe:
- The program reads the clock before it asks the agent. The agent answers how long it surely leads from the moment of
  the answer, so counting from before is never too long. Deadlines are on the monotonic clock.
- Every piece of work is short, and starts only if the lease outlasts it.
- Every piece of work carries the token, so that the resource can refuse an older one.
"""
import argparse
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PIECE_S = 0.05  # how long a piece of work takes at most
ANSWER_S = 2.0  # how long the agent may take to answer


class Agent:
    """Asks one agent, and follows its events."""

    def __init__(self, url, group):
        query = "" if group is None else "?" + urllib.parse.urlencode({"group": group})
        self._leader = url + "/v1/leader" + query
        self._events = url + "/v1/events" + query
        self._last_id = None
        self.changed = threading.Event()

    def lease(self):
        """(token, monotonic deadline) while this agent leads, else None."""
        asked = time.monotonic()
        try:
            with urllib.request.urlopen(self._leader, timeout=ANSWER_S) as answer:
                said = json.load(answer)
        except (OSError, ValueError):
            return None  # no answer is no lease
        if said["leader"] is None or said["self"]["role"] != "leader":
            return None
        return said["leader"]["token"], asked + said["leader"]["expiresInMs"] / 1000

    def follow(self):
        """For ever: sets `changed` at every event. Continues after an interruption."""
        while True:
            try:
                self._read_events()
            except OSError:
                pass
            self.changed.set()
            time.sleep(0.5)

    def _read_events(self):
        request = urllib.request.Request(self._events)
        if self._last_id is not None:
            request.add_header("Last-Event-ID", self._last_id)
        # The agent sends something at least every 10 s: silence means that it is gone.
        with urllib.request.urlopen(request, timeout=30) as stream:
            for raw in stream:
                line = raw.decode("utf-8").rstrip("\n")
                if line.startswith("id: "):
                    self._last_id = line[4:]
                elif line.startswith("event: ") and line != "event: snapshot":
                    print("agent:", line[7:], file=sys.stderr, flush=True)
                    self.changed.set()


def work(log, token):
    """One short piece of work, marked with the token."""
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{token}\n")
    time.sleep(PIECE_S / 2)


def main():
    parser = argparse.ArgumentParser(description="works while the agent on this machine leads")
    parser.add_argument("--agent", default="http://127.0.0.1:7480")
    parser.add_argument("--group")
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    agent = Agent(options.agent, options.group)
    threading.Thread(target=agent.follow, daemon=True).start()
    while True:
        lease = agent.lease()
        if lease is None:
            agent.changed.wait(1.0)
            agent.changed.clear()
            continue
        token, deadline = lease
        while time.monotonic() + PIECE_S < deadline:
            work(options.log, token)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
