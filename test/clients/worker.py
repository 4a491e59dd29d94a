"""Drives the Python client for the tests. Prints one JSON object per line; worker/main.go prints the same."""

import argparse
import asyncio
import json
import signal
import sys
import threading
import time

from conclave_client import Client, ConclaveError, LeaseLost, RequestRefused

STEP_S = 0.02


def say(**fields):
    print(json.dumps(fields), flush=True)


def lead(client, options, stop):
    def work(term):
        say(event="began", token=term.token, node=term.node_id)
        try:
            while options.stubborn or not term.wait(STEP_S):
                at = time.monotonic_ns()
                if options.stubborn:
                    time.sleep(STEP_S)
                    continue
                term.check()
                say(event="acted", token=term.token, at=at)
        except LeaseLost:
            pass
        say(event="ended", token=term.token, reason=term.reason, held=term.is_held())

    client.run(work, stop=stop, exit_at_deadline=options.stubborn)
    say(event="stopped")


def lead_async(client):
    async def work(term):
        say(event="began", token=term.token)
        try:
            while True:
                await asyncio.sleep(STEP_S)
                term.check()
        finally:
            say(event="ended", token=term.token, reason=term.reason, held=term.is_held())

    async def main():
        running = asyncio.ensure_future(client.run_async(work))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        await asyncio.wait({running})
        say(event="stopped" if running.cancelled() else repr(running.exception()))

    asyncio.run(main())


def watch(client, options):
    for event in client.watch():
        say(event=event.type, id=event.id)


def leader(client, options):
    known = client.leader()
    leader = known.leader
    say(leader=None if leader is None else leader.id, token=leader and leader.token, role=known.role)


def step_down(client, options):
    done = client.step_down(options.to)
    say(id=done.id, token=done.token, to=done.to)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["lead", "watch", "leader", "step-down"])
    parser.add_argument("--agent", required=True)
    parser.add_argument("--group")
    parser.add_argument("--admin-token")
    parser.add_argument("--read-token")
    parser.add_argument("--ca-file")
    parser.add_argument("--cert-file")
    parser.add_argument("--key-file")
    parser.add_argument("--to")
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--asynchronous", action="store_true")
    options = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        client = Client(
            options.agent,
            group=options.group,
            admin_token=options.admin_token,
            read_token=options.read_token,
            ca_file=options.ca_file,
            cert_file=options.cert_file,
            key_file=options.key_file,
        )
        if options.asynchronous:
            lead_async(client)
        elif options.what == "lead":
            lead(client, options, stop)
        else:
            {"watch": watch, "leader": leader, "step-down": step_down}[options.what](client, options)
    except RequestRefused as error:
        say(error=error.code, status=error.status)
        sys.exit(1)
    except ConclaveError as error:
        say(error="unreachable", message=str(error))
        sys.exit(1)


main()
