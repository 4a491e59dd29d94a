"""The event stream of an agent (server-sent events). It continues after an interruption."""

import http.client
import json
import random
import socket
import threading
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

from ._errors import RequestRefused, refusal
from ._http import FAILURES, MAX_BODY, Endpoint

# The agent sends something at least every 10 s.
SILENCE = 30.0
FIRST_DELAY = 0.1
MAX_DELAY = 5.0


@dataclass(frozen=True)
class Event:
    type: str
    """`snapshot` after each connection, `missed` if events are lost, else the name of the event."""
    id: Optional[str]
    data: Dict[str, Any]


class _BadStream(Exception):
    pass


class Watch:
    """An endless iterator of events. `close()`, from any thread, ends it.

    After an interruption it connects again, and asks for the events since `last_event_id`.
    """

    def __init__(self, endpoint: Endpoint, last_event_id: Optional[str], connect_timeout: float) -> None:
        self.last_event_id = last_event_id
        self._endpoint = endpoint
        self._timeout = connect_timeout
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._events = self._run()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration, also if another thread waits for the next event."""
        self._closed.set()
        with self._lock:
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _run(self) -> Iterator[Event]:
        delay = FIRST_DELAY
        while not self._closed.is_set():
            try:
                for event in self._connect():
                    delay = FIRST_DELAY
                    yield event
                    if self._closed.is_set():
                        return
            except RequestRefused as error:
                if error.status != 503:
                    raise
            except (*FAILURES, _BadStream, ValueError):
                pass
            # Jitter: the watchers of an agent that restarts do not all return at one moment.
            self._closed.wait(delay * random.uniform(0.5, 1.0))
            delay = min(MAX_DELAY, delay * 2)

    def _connect(self) -> Iterator[Event]:
        headers = self._endpoint.headers(is_admin=False)
        headers["Accept"] = "text/event-stream"
        if self.last_event_id is not None:
            headers["Last-Event-ID"] = self.last_event_id
        connection = self._endpoint.connect(self._timeout)
        try:
            connection.connect()
            with self._lock:
                self._socket = connection.sock
            if self._closed.is_set():
                return
            connection.request("GET", self._endpoint.path("/v1/events", {"only": "events"}), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise self._refused(response)
            kind = response.headers.get_content_type()
            if kind != "text/event-stream":
                raise _BadStream(f"the response is {kind}")
            connection.sock.settimeout(SILENCE)
            yield from self._read(response)
        finally:
            with self._lock:
                self._socket = None
            connection.close()

    def _refused(self, response: http.client.HTTPResponse) -> RequestRefused:
        try:
            body = json.loads(response.read(MAX_BODY))
        except ValueError:
            body = None
        return refusal(self._endpoint.agent, response.status, body)

    def _read(self, response: http.client.HTTPResponse) -> Iterator[Event]:
        name, event_id, data = "", None, []  # type: str, Optional[str], List[str]
        while True:
            raw = response.readline(MAX_BODY + 1)
            # An event that the end of the stream cuts off is dropped.
            if not raw.endswith(b"\n"):
                return
            line = raw.decode("utf-8").rstrip("\r\n")
            if line == "":
                event = _event(name, event_id, data)
                if event is not None:
                    if event_id is not None:
                        self.last_event_id = event_id
                    yield event
                name, event_id, data = "", None, []
                continue
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "id" and "\0" not in value:
                event_id = value
            elif field == "data":
                data.append(value)


def _event(name: str, event_id: Optional[str], data: List[str]) -> Optional[Event]:
    """None for a block without data, such as a keep-alive comment."""
    if not data:
        return None
    body = json.loads("\n".join(data))
    if not isinstance(body, dict):
        raise _BadStream("the data of an event is not an object")
    return Event(name or "message", event_id, body)
