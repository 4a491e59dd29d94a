"""A claim on the agent's term, renewed in the background.

The deadline is counted from before each request, on the clock of this process, so it never lies after the end of the
agent's lease. One thread renews the claim. Another one watches the deadline, so that a request that hangs delays nothing.
"""

import os
import threading
from typing import Callable, List, Optional

from ._clock import now
from ._errors import AgentUnreachable, LeaseLost, RequestRefused
from ._http import Endpoint, Requests
from ._margin import MIN_PAUSE, RENEWALS_PER_CLAIM, Margin, Margins
from ._types import Id

RELEASE_TIMEOUT = 0.5
EXIT_LOST = 7


class Term:
    """One term of the agent, as long as it is claimed. Made by `Client.lead`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        claim: str,
        group: str,
        node_id: Id,
        token: Optional[int],
        deadline: float,
        margin: Margin,
        margins: Margins,
        exit_at_deadline: bool,
    ) -> None:
        self.group = group
        self.node_id = node_id
        self.token = token
        """Send it with every request to a resource, and let the resource refuse a smaller one."""
        self.stopping = threading.Event()
        """Set when the work should end: the lease is about to expire, or the agent wants to hand over."""
        self._endpoint = endpoint
        self._claim = claim
        self._deadline = deadline
        self._margin = margin
        self._margins = margins
        self._stop_before = margin.stop_before
        self._exit_at_deadline = exit_at_deadline
        self._changed = threading.Condition()
        self._is_released = False
        self._is_short = False
        self._reason: Optional[str] = None
        self._is_lost = False
        self._callbacks: List[Callable[[], None]] = []
        self._threads = [
            threading.Thread(target=self._renew, name="conclave-renew", daemon=True),
            threading.Thread(target=self._guard, name="conclave-guard", daemon=True),
        ]

    def begin(self) -> bool:
        """Starts to renew the claim. False if it has expired: then the work must not begin. `Client.lead` calls it."""
        if not self.is_held():
            return False
        for thread in self._threads:
            thread.start()
        return True

    @property
    def reason(self) -> Optional[str]:
        """Why `stopping` is set: "handover", "lost" or "stopped"; None before."""
        return self._reason

    def remaining(self) -> float:
        """Seconds for which the program may act without asking again; 0 when the term is lost."""
        with self._changed:
            return self._remaining()

    def is_held(self) -> bool:
        return self.remaining() > 0

    def check(self) -> None:
        """Raises LeaseLost if the term is over. Call it right before each action."""
        with self._changed:
            if self._remaining() > 0:
                return
            self._lose()
        raise LeaseLost(f"the term with token {self.token} is over")

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits until the work should end, at most `seconds`. Returns whether it should."""
        return self.stopping.wait(seconds)

    def on_stopping(self, callback: Callable[[], None]) -> None:
        """Calls `callback`, in another thread, when the work should end; at once if it should already."""
        with self._changed:
            if not self.stopping.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def stop(self) -> None:
        """Asks the work to end. The claim is renewed until the work has ended."""
        with self._changed:
            self._set_stopping("stopped")

    def release(self) -> None:
        """Ends the claim. The work must have ended. `Client.lead` calls it."""
        with self._changed:
            is_first = not self._is_released
            self._is_released = True
            self._changed.notify_all()
        if not is_first:
            return
        try:
            Requests(self._endpoint).send(
                "DELETE", "/v1/claim", query={"claim": self._claim}, timeout=RELEASE_TIMEOUT, is_admin=True
            )
        except (AgentUnreachable, RequestRefused):
            pass  # The claim expires by itself.
        with self._changed:
            self._lose()

    def _remaining(self) -> float:
        if self._is_lost:
            return 0.0
        return max(0.0, self._deadline - self._stop_before - now())

    def _lose(self) -> None:
        """For ever: a renewal that arrives later does not revive the term."""
        self._is_lost = True
        self._set_stopping("lost")
        self._changed.notify_all()

    def _set_stopping(self, reason: str) -> None:
        if self.stopping.is_set():
            return
        self._reason = reason
        self.stopping.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            threading.Thread(target=callback, daemon=True).start()

    def _guard(self) -> None:
        with self._changed:
            while not self._is_released and self._remaining() > 0:
                self._changed.wait(self._remaining())
            if self._is_released:
                return
            self._lose()
            if not self._exit_at_deadline:
                return
            last = self._deadline - self._stop_before / 4
            while not self._is_released and now() < last:
                self._changed.wait(max(0.0, last - now()))
            if not self._is_released:
                os._exit(EXIT_LOST)

    def _renew(self) -> None:
        requests = Requests(self._endpoint, keep_alive=True)
        try:
            while self._pause_before_renewal():
                before = now()
                try:
                    answer = requests.send(
                        "POST",
                        "/v1/claim",
                        body={"claim": self._claim},
                        timeout=max(0.001, self._deadline - before),
                        is_admin=True,
                    )
                except AgentUnreachable:
                    continue  # Try again while the claim lasts.
                except RequestRefused as error:
                    if error.status == 503:
                        continue
                    break
                if not self._renewed(answer, before):
                    break
                self._read_margin()
        finally:
            requests.close()
        with self._changed:
            if not self._is_released:
                self._lose()

    def _pause_before_renewal(self) -> bool:
        """False when there is nothing to renew any more."""
        with self._changed:
            end = now() + max(MIN_PAUSE, self._remaining() / RENEWALS_PER_CLAIM)
            while not self._is_released and not self._is_lost and now() < end:
                self._changed.wait(max(0.0, end - now()))
            return not self._is_released and self._remaining() > 0

    def _renewed(self, answer: object, before: float) -> bool:
        if not isinstance(answer, dict) or answer.get("token") != self.token:
            return False
        expires = answer.get("expiresInMs")
        if not isinstance(expires, (int, float)):
            return False
        with self._changed:
            if self._remaining() <= 0:
                return False
            left = expires / 1000
            self._deadline = before + left
            # If less is left than at any renewal, the lease was not renewed in time, or leases have become shorter.
            # `_read_margin` finds out; until then the work is stopped by what is left.
            self._is_short = left < self._margin.left
            if self._is_short:
                self._stop_before = min(self._stop_before, self._margins.limit(left))
            if answer.get("ending"):
                self._set_stopping("handover")
            self._changed.notify_all()
        return True

    def _read_margin(self) -> None:
        """Adjusts the margin to leases that have become shorter. If they have not, the margin stays as it was."""
        if not self._is_short:
            return
        margin = self._margin
        try:
            margin = self._margins.read(max(0.001, self.remaining()))
        except (AgentUnreachable, RequestRefused):
            pass
        with self._changed:
            self._margin = margin
            self._stop_before = margin.stop_before
            self._changed.notify_all()
