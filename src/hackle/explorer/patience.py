"""Timeouts for incomplete requests and answers: connections that never send the rest, or never take it, are closed."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
"""The limit for the whole head of a request, between two parts of its body, and between two of an answer that are taken."""
MOST_SECONDS = 120.0
"""The limit for a whole request, however steadily it trickles in."""

_Protocol: Any = H11Protocol
"""Never httptools, which uvicorn prefers where it is installed: it takes a head of any size."""


class PatientProtocol(_Protocol):
    """uvicorn's protocol, which by itself waits forever for the rest of a request, and for an answer to be taken, with these
    limits."""

    _timer: Any = None
    _taking: Any = None
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
        self._stop_watching()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More of an answer is waiting than the visitor takes: it stays in memory until then."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stop_watching()
        super().resume_writing()

    def _watch(self, left: int) -> None:
        self._taking = self.loop.call_later(SECONDS, self._see_whether_taken, left)

    def _see_whether_taken(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._watch(left)
        else:
            self.transport.abort()

    def _stop_watching(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

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
