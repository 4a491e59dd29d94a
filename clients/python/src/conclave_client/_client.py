"""The client."""

import ssl
import threading
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, TypeVar

from ._async import run_async
from ._errors import LeadStopped, LeaseLost
from ._http import Endpoint, Requests, checked_agent
from ._lead import Lead
from ._term import Term
from ._types import Leadership, SteppedDown, read_leadership
from ._watch import Watch

# Longer than the 10 s that an agent waits for the claims of other processes.
STEP_DOWN_TIMEOUT = 12.0

Result = TypeVar("Result")


class Client:
    """Asks one agent. Thread-safe. Durations are seconds."""

    def __init__(
        self,
        agent: str = "http://127.0.0.1:7480",
        *,
        group: Optional[str] = None,
        admin_token: Optional[str] = None,
        read_token: Optional[str] = None,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
        timeout: float = 2.0,
    ) -> None:
        """
        group: required if the agent serves several groups.
        admin_token: needed by `lead` and `step_down`.
        read_token: for an agent that asks for a token also to read.
        ca_file: certificates (PEM) to trust instead of those of the system; only with https.
        cert_file, key_file: certificate and key of this client, for an agent that asks for one.
        timeout: for each step of a request: connect, send, receive.
        """
        agent = checked_agent(agent)
        if not agent.startswith("https:") and (ca_file, cert_file, key_file) != (None, None, None):
            raise ValueError("ca_file, cert_file and key_file need an agent with https")
        tls = None
        if agent.startswith("https:"):
            tls = ssl.create_default_context(cafile=ca_file)
            if cert_file is not None:
                tls.load_cert_chain(cert_file, key_file)
        self._endpoint = Endpoint(agent, group, admin_token, read_token, tls)
        self._timeout = timeout

    def leader(self) -> Leadership:
        """The leader that the agent knows."""
        body = self._get("/v1/leader")
        with self._endpoint.reading():
            return read_leadership(body)

    def status(self) -> Dict[str, Any]:
        """The condition of the group: the fields of /v1/status, as the agent sends them."""
        body = self._get("/v1/status")
        with self._endpoint.reading():
            return dict(body)

    def watch(self, *, last_event_id: Optional[str] = None) -> Watch:
        """Events from now on, or since the event with this id. Continues after an interruption."""
        return Watch(self._endpoint, last_event_id, self._timeout)

    def step_down(self, to: Optional[str] = None) -> SteppedDown:
        """Ends the term of the agent, if given in favour of the node `to`. Raises NotLeader if it does not lead."""
        body: Mapping[str, Any] = Requests(self._endpoint).send(
            "POST",
            "/v1/step-down",
            body=None if to is None else {"to": to},
            timeout=max(self._timeout, STEP_DOWN_TIMEOUT),
            is_admin=True,
        )
        with self._endpoint.reading():
            done = body["steppedDown"]
            return SteppedDown(body["group"], done["id"], done["token"], body.get("to"))

    def lead(
        self,
        *,
        stop: Optional[threading.Event] = None,
        timeout: Optional[float] = None,
        stop_before: Optional[float] = None,
        exit_at_deadline: bool = False,
    ) -> Lead:
        """A context for one term: `with client.lead() as term:`. It waits until the agent leads.

        stop: ends the wait (LeadStopped), or asks the work to end.
        timeout: how long to wait for a term; by default for ever.
        stop_before: how long before the deadline the work is stopped; by default a share of the shortest lease.
        exit_at_deadline: end this process with code 7 if the work still runs shortly before the deadline.
        """
        return Lead(
            self._endpoint,
            request_timeout=self._timeout,
            stop=stop,
            timeout=timeout,
            stop_before=stop_before,
            exit_at_deadline=exit_at_deadline,
        )

    def run(
        self,
        work: Callable[[Term], Result],
        *,
        stop: Optional[threading.Event] = None,
        stop_before: Optional[float] = None,
        exit_at_deadline: bool = False,
    ) -> Optional[Result]:
        """Calls `work(term)` in each term, until it returns in a term that was not to be ended. Returns its result.

        Returns None if `stop` is set. Exceptions of `work` other than LeaseLost are passed on.
        """
        while stop is None or not stop.is_set():
            try:
                with self.lead(
                    stop=stop, stop_before=stop_before, exit_at_deadline=exit_at_deadline
                ) as term:
                    result = work(term)
                    if not term.stopping.is_set():
                        return result
            except LeaseLost:
                continue
            except LeadStopped:
                return None
        return None

    async def run_async(
        self,
        work: Callable[[Term], Awaitable[Result]],
        *,
        stop_before: Optional[float] = None,
        exit_at_deadline: bool = False,
    ) -> Result:
        """`run` for asyncio: awaits `work(term)` in each term, and cancels it when the work should end.

        To stop, cancel the task that awaits `run_async`.
        """
        return await run_async(
            lambda stop: self.lead(stop=stop, stop_before=stop_before, exit_at_deadline=exit_at_deadline),
            work,
        )

    def _get(self, path: str) -> Any:
        return Requests(self._endpoint).send("GET", path, timeout=self._timeout)
