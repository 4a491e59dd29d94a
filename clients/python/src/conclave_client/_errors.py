"""Errors. A refusal of the agent has one class per code, so that callers can tell them apart."""

from typing import Any, Mapping, Optional


class ConclaveError(Exception):
    """Base of all errors of this package."""


class AgentUnreachable(ConclaveError):
    """No agent responds at the address."""


class LeaseLost(ConclaveError):
    """The term is over: the program must no longer act on it."""


class LeadStopped(ConclaveError):
    """The caller set `stop`, or `timeout` has passed, before the agent led."""


class RequestRefused(ConclaveError):
    """The agent responded with an error."""

    def __init__(self, status: int, code: str, message: str, field: Optional[str] = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the response."""
        self.code = code
        """Stable code, such as "NotLeader"."""
        self.field = field
        """The field or header that is wrong, if there is one."""


class NotLeader(RequestRefused):
    """This agent does not lead."""


class ClaimRefused(RequestRefused):
    """The claim has expired, the agent is ending its term, or there are too many claims."""


class CannotHandOver(RequestRefused):
    """The node named in the request cannot lead now, such as one that is unreachable."""


class CommandRefused(RequestRefused):
    """The protocol does not allow the request."""


class StillLeading(RequestRefused):
    """The agent has not given up its term within 10 s, because a claim holds it."""


class InvalidToken(RequestRefused):
    """The admin token or the read token is missing or wrong."""


class AdminDisabled(RequestRefused):
    """The agent was started without an admin token."""


class GroupRequired(RequestRefused):
    """The agent serves several groups, and the request names none."""


class UnknownGroup(RequestRefused):
    """The agent does not serve this group."""


class UnknownNode(RequestRefused):
    """The group has no such node."""


_BY_CODE: Mapping[str, type] = {
    "AdminDisabled": AdminDisabled,
    "CannotHandOver": CannotHandOver,
    "ClaimRefused": ClaimRefused,
    "CommandRefused": CommandRefused,
    "GroupRequired": GroupRequired,
    "InvalidAdminToken": InvalidToken,
    "InvalidReadToken": InvalidToken,
    "NotLeader": NotLeader,
    "StillLeading": StillLeading,
    "UnknownGroup": UnknownGroup,
    "UnknownNode": UnknownNode,
}


def refusal(agent: str, status: int, body: Any) -> RequestRefused:
    """The error for a response with this status and this JSON body. The body may be anything."""
    error = body.get("error") if isinstance(body, dict) else None
    said = error if isinstance(error, dict) else {}
    code = str(said.get("code", "Unknown"))
    message = said.get("message", f"HTTP status {status}")
    field = said.get("field")
    kind = _BY_CODE.get(code, RequestRefused)
    made = kind(
        status,
        code,
        f"the agent at {agent} refused the request: {message}",
        field if isinstance(field, str) else None,
    )
    assert isinstance(made, RequestRefused)
    return made
