"""Timeouts for incomplete requests: connections that never send the rest are closed."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS = 10.0
"""The limit for the whole head of a request, and between two parts of its body."""
MOST_SECONDS = 120.0
"""The limit for a whole request, however steadily it trickles in."""

_Protocol: Any = AutoHTTPProtocol


class PatientProtocol(_Protocol):
    """uvicorn's protocol, which by itself waits forever for the rest of a request, with these limits."""

    _timer: Any = None
    _deadline: float | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._timer is None:
            # The first bytes of another request.
            self._deadline = None
        super().data_received(data)
        if not self._in_head:
            self._stop_waiting()
        if self._is_half_sent and self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _in_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _is_half_sent(self) -> bool:
        return self._in_head or self.cycle.more_body

    def _wait(self) -> None:
        now = self.loop.time()
        if self._deadline is None:
            self._deadline = now + MOST_SECONDS
        self._timer = self.loop.call_later(min(SECONDS, self._deadline - now), self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_half_sent:
            self.transport.close()
