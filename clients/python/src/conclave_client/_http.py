"""Requests to an agent over HTTP or HTTPS. No redirects, no proxies."""

import http.client
import json
import ssl
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

from ._errors import AgentUnreachable, refusal

MAX_BODY = 16 * 1024 * 1024
FAILURES = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Endpoint:
    """Where the agent is, and how requests prove who sends them."""

    agent: str
    group: Optional[str]
    admin_token: Optional[str]
    read_token: Optional[str]
    tls: Optional[ssl.SSLContext]

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """A connection that is opened by its first request."""
        url = urllib.parse.urlsplit(self.agent)
        host = url.hostname or ""
        if url.scheme == "https":
            return http.client.HTTPSConnection(host, url.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(host, url.port, timeout=timeout)

    def path(self, path: str, query: Mapping[str, str]) -> str:
        pairs = dict(query)
        if self.group is not None:
            pairs["group"] = self.group
        # A proxy may serve the agent under a path of its own.
        prefix = urllib.parse.urlsplit(self.agent).path
        return prefix + path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")

    def headers(self, is_admin: bool) -> "dict[str, str]":
        token = self.admin_token if is_admin else self.read_token or self.admin_token
        return {} if token is None else {"Authorization": f"Bearer {token}"}

    def unreachable(self, error: BaseException) -> AgentUnreachable:
        why = str(error) or type(error).__name__
        return AgentUnreachable(
            f"no agent responds at {self.agent}: {why}; "
            "check that the agent is running and that the address is right"
        )

    def not_an_agent(self, why: str) -> AgentUnreachable:
        return AgentUnreachable(
            f"the server at {self.agent} is not a Conclave agent: {why}; check the address"
        )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around code that takes a response apart: a field may be missing or of another type."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise self.not_an_agent(f"its response has another form ({error})") from error


def checked_agent(agent: str) -> str:
    """The address without a slash at its end. Raises ValueError if it is not a URL of a server."""
    try:
        url = urllib.parse.urlsplit(agent)
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"agent: must be a URL such as http://127.0.0.1:7480, not {agent!r}")
    return agent.rstrip("/")


class Requests:
    """Sends one request after the other. With `keep_alive`, over one connection."""

    def __init__(self, endpoint: Endpoint, *, keep_alive: bool = False) -> None:
        self._endpoint = endpoint
        self._keep_alive = keep_alive
        self._open: Optional[http.client.HTTPConnection] = None

    def send(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        query: Optional[Mapping[str, str]] = None,
        body: Optional[Mapping[str, Any]] = None,
        is_admin: bool = False,
    ) -> Any:
        """The JSON body of the response. Raises AgentUnreachable or RequestRefused."""
        headers = self._endpoint.headers(is_admin)
        headers["Accept"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection = self._open or self._endpoint.connect(timeout)
        self._open = None
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, self._endpoint.path(path, query or {}), body=data, headers=headers)
            response = connection.getresponse()
            status = response.status
            text = response.read(MAX_BODY + 1)
        except FAILURES as error:
            connection.close()
            raise self._endpoint.unreachable(error) from error
        if self._keep_alive and not response.will_close and len(text) <= MAX_BODY:
            self._open = connection
        else:
            connection.close()
        return self._read(status, text)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _read(self, status: int, text: bytes) -> Any:
        try:
            body = json.loads(text)
        except ValueError as error:
            if status >= 300:
                raise refusal(self._endpoint.agent, status, None) from None
            raise self._endpoint.not_an_agent("its response is not JSON") from error
        if status >= 300:
            raise refusal(self._endpoint.agent, status, body)
        return body
