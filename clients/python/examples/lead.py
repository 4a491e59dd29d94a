import os
import signal
import threading
from pathlib import Path

from conclave_client import Client, Term

client = Client(
    os.environ.get("CONCLAVE_AGENT", "http://127.0.0.1:7480"),
    admin_token=Path(os.environ["CONCLAVE_ADMIN_TOKEN_FILE"]).read_text().strip(),
)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())


def write(step: int, token: "int | None") -> None:
    print(f"step {step} with token {token}", flush=True)  # your resource refuses a smaller token


def work(term: Term) -> None:
    step = 0
    while not term.wait(0.05):  # True when the work should end
        step += 1
        term.check()  # raises LeaseLost when the term is over
        write(step, term.token)


client.run(work, stop=stop)
