"""Client for a Conclave agent: ask for the leader, watch events, and act only while the agent leads."""

from ._client import Client
from ._errors import (
    AdminDisabled,
    AgentUnreachable,
    CannotHandOver,
    ClaimRefused,
    CommandRefused,
    ConclaveError,
    GroupRequired,
    InvalidToken,
    LeadStopped,
    LeaseLost,
    NotLeader,
    RequestRefused,
    StillLeading,
    UnknownGroup,
    UnknownNode,
)
from ._lead import Lead
from ._term import Term
from ._types import Id, Leader, Leadership, SteppedDown
from ._watch import Event, Watch

__all__ = [
    "AdminDisabled",
    "AgentUnreachable",
    "CannotHandOver",
    "ClaimRefused",
    "Client",
    "CommandRefused",
    "ConclaveError",
    "Event",
    "GroupRequired",
    "Id",
    "InvalidToken",
    "Lead",
    "LeadStopped",
    "Leader",
    "Leadership",
    "LeaseLost",
    "NotLeader",
    "RequestRefused",
    "StillLeading",
    "SteppedDown",
    "Term",
    "UnknownGroup",
    "UnknownNode",
    "Watch",
]
