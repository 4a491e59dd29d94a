"""The answers of an agent. Durations are seconds."""

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

Id = Union[str, int]


@dataclass(frozen=True)
class Leader:
    id: Id
    token: Optional[int]
    """Fencing token of the term. None in local mode."""
    expires_in: Optional[float]
    """Seconds until the lease expires unless the leader renews it. None under a protocol without leases."""


@dataclass(frozen=True)
class Leadership:
    group: str
    leader: Optional[Leader]
    """None while the agent knows of no leader."""
    self_id: Id
    role: str
    """Role of the agent's node: leader, follower, candidate or observer."""

    @property
    def is_self(self) -> bool:
        """Whether the agent itself leads. To act on that, use `Client.lead`."""
        return self.role == "leader"


@dataclass(frozen=True)
class SteppedDown:
    group: str
    id: Id
    token: Optional[int]
    to: Optional[Id] = None
    """The node in whose favour it stepped down, if the request named one."""


def read_leadership(body: Mapping[str, Any]) -> Leadership:
    leader = body["leader"]
    return Leadership(
        group=body["group"],
        leader=None if leader is None else _read_leader(leader),
        self_id=body["self"]["id"],
        role=body["self"]["role"],
    )


def _read_leader(body: Mapping[str, Any]) -> Leader:
    expires = body["expiresInMs"]
    return Leader(body["id"], body["token"], None if expires is None else expires / 1000)
