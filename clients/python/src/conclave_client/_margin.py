"""How long before the end of a lease the work is stopped."""

from typing import Any, Mapping, NamedTuple, Optional

from ._http import Endpoint, Requests

RENEWALS_PER_CLAIM = 8
MIN_PAUSE = 0.005
# What is left of the longest possible `stop_before` by default.
DEFAULT_SHARE = 0.5


class Margin(NamedTuple):
    left: float
    """What remains, at its renewal, of the shortest lease that the agent may have."""
    stop_before: float


class Margins:
    """Reads the length of leases from the agent. Leases that tune themselves become longer and shorter."""

    def __init__(self, endpoint: Endpoint, asked: Optional[float]) -> None:
        self._endpoint = endpoint
        self._asked = asked
        self._is_checked = False

    def read(self, timeout: float) -> Margin:
        status: Mapping[str, Any] = Requests(self._endpoint).send("GET", "/v1/status", timeout=timeout)
        with self._endpoint.reading():
            left = float(status["lease"]["marginMs"]) / 1000 * _shortest_part(status)
        if self._asked is not None and not self._is_checked and self._asked > _longest(left):
            raise ValueError(
                f"stop_before: must be at most {_longest(left):.3f} s, because as little as {left:.3f} s of a lease "
                "can remain at its renewal"
            )
        self._is_checked = True
        return Margin(left, self.limit(left))

    def limit(self, left: float) -> float:
        """`stop_before` for leases of which `left` remains at renewal. More would stop the work at every renewal."""
        if self._asked is None:
            return _longest(left) * DEFAULT_SHARE
        return min(self._asked, _longest(left))


def _longest(left: float) -> float:
    """This process learns of a renewed lease only when it renews its claim."""
    return max(0.0, left - max(MIN_PAUSE, left / RENEWALS_PER_CLAIM))


def _shortest_part(status: Mapping[str, Any]) -> float:
    """The shortest lease that the agent may have, as a part of the present one. The margin is the same part of each."""
    timing = status.get("timing")
    length = status["lease"].get("lengthMs")
    if not timing or not length:
        return 1.0
    return min(1.0, float(timing["leaseMinMs"]) / float(length))
