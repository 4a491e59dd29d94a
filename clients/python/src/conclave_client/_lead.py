"""Waits until the agent leads, and claims its term."""

import threading
from typing import Any, Mapping, Optional

from ._clock import now
from ._errors import AgentUnreachable, LeadStopped, RequestRefused
from ._http import FAILURES, Endpoint, Requests
from ._margin import Margins
from ._term import Term
from ._watch import Watch

RETRY = 0.2
POLL = 1.0


class Lead:
    """A context manager for one term. Made by `Client.lead`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        request_timeout: float,
        stop: Optional[threading.Event],
        timeout: Optional[float],
        stop_before: Optional[float],
        exit_at_deadline: bool,
    ) -> None:
        self._endpoint = endpoint
        self._requests = Requests(endpoint)
        self._request_timeout = request_timeout
        self._stop = stop
        self._timeout = timeout
        self._margins = Margins(endpoint, stop_before)
        self._exit_at_deadline = exit_at_deadline
        self._changed = threading.Event()
        self._term: Optional[Term] = None
        self._stop_watch = threading.Event()

    def __enter__(self) -> Term:
        if self._term is not None:
            raise RuntimeError("this context is in use: call lead() again for the next term")
        watch = Watch(self._endpoint, None, self._request_timeout)
        watcher = threading.Thread(target=self._follow, args=(watch,), name="conclave-watch", daemon=True)
        watcher.start()
        try:
            self._term = self._wait_for_term()
        finally:
            watch.close()
        if self._stop is not None:
            threading.Thread(target=self._pass_stop_on, name="conclave-stop", daemon=True).start()
        return self._term

    def __exit__(self, *_: object) -> None:
        self._stop_watch.set()
        if self._term is not None:
            self._term.release()
            self._term = None

    def _follow(self, watch: Watch) -> None:
        """Wakes the waiting thread when the agent may lead."""
        try:
            for event in watch:
                own = event.data.get("self") if event.type == "snapshot" else None
                role = own.get("role") if isinstance(own, dict) else None
                if role == "leader" or event.type == "elected":
                    self._changed.set()
        except (RequestRefused, *FAILURES):
            pass  # The waiting thread also asks once per second, and reports the refusal.

    def _wait_for_term(self) -> Term:
        end = None if self._timeout is None else now() + self._timeout
        while True:
            self._changed.clear()
            pause = POLL
            try:
                term = self._claim()
                if term is not None:
                    return term
                pause = RETRY
            except AgentUnreachable:
                pause = RETRY
            except RequestRefused as error:
                # Not the leader, or busy. Any other refusal is final.
                if error.status not in (409, 503):
                    raise
            self._sleep(pause, end)

    def _sleep(self, pause: float, end: Optional[float]) -> None:
        until = now() + pause
        while True:
            if self._stop is not None and self._stop.is_set():
                raise LeadStopped("stop was set before the agent led")
            if end is not None and now() >= end:
                raise LeadStopped(f"the agent did not lead within {self._timeout} s")
            left = until - now()
            if left <= 0 or self._changed.is_set():
                return
            # Two events to wait for: the one of the caller is looked at often enough.
            self._changed.wait(min(left, RETRY))

    def _claim(self) -> Optional[Term]:
        """None if too little of the lease is left."""
        # Each time: leases may have become shorter while the agent did not lead.
        margin = self._margins.read(self._request_timeout)
        before = now()
        answer: Mapping[str, Any] = self._requests.send(
            "POST", "/v1/claim", body={"claim": None}, timeout=self._request_timeout, is_admin=True
        )
        with self._endpoint.reading():
            term = Term(
                self._endpoint,
                claim=answer["claim"],
                group=answer["group"],
                node_id=answer["id"],
                token=answer["token"],
                deadline=before + float(answer["expiresInMs"]) / 1000,
                margin=margin,
                margins=self._margins,
                exit_at_deadline=self._exit_at_deadline,
            )
        if term.begin():
            return term
        term.release()
        return None

    def _pass_stop_on(self) -> None:
        while self._stop is not None and not self._stop_watch.is_set():
            if self._stop.wait(RETRY):
                term = self._term
                if term is not None:
                    term.stop()
                return
