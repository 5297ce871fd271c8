"""Rank 0 speaks with every rank over a connection of its own, in lines of JSON. Nothing here waits without a bound.

Rank 0 is asked for at MASTER_PORT; where that port is taken it waits at one of the next ones and is looked for there.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import Any

PORTS = 20
"""How many ports, from MASTER_PORT on, are tried."""
ANSWER = 4.0
"""Seconds in which whoever listens must say who it is: a foreign program may hold the port and say nothing."""
HELLO = 1.0
"""The same for whoever comes."""
LONGEST = 1 << 24
"""Bytes of a line; more is not ours."""


class Gone(Exception):
    """The other side closed the connection, said nothing in time, or is not one of us."""


class Line:
    """A connection on which both sides send JSON values, one a line."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self._buffer = connection, b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, value: Any) -> None:
        """Send a value; Gone when that fails."""
        try:
            self.connection.settimeout(10)
            self.connection.sendall(json.dumps(value).encode() + b"\n")
        except OSError as error:
            raise Gone(str(error)) from None

    def receive(self, seconds: float) -> Any:
        """Return the next value; Gone when none came in that many seconds."""
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                raise Gone(f"no answer in {seconds:.0f} s")
            self.connection.settimeout(left)
            try:
                part = self.connection.recv(65536)
            except TimeoutError:
                continue
            except OSError as error:
                raise Gone(str(error)) from None
            self._buffer += part
            if not part or len(self._buffer) > LONGEST:
                raise Gone("the connection was closed" if not part else "what came is not ours")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return json.loads(line.decode())
        except ValueError:
            raise Gone("what came is not ours") from None

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of every interface; OSError when the port is taken. 0: any free port."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=512, dualstack_ipv6=True)
        except OSError as error:
            if port and error.errno in (98, 48):  # EADDRINUSE on Linux and BSD; anything else: no IPv6 on this machine
                raise
    return socket.create_server(("", port), backlog=512)


def job_of(environ: dict[str, str]) -> str:
    """Return what tells this job's processes from those of another job on the same node."""
    return environ.get("HK_JOB_ID") or environ.get("MASTER_PORT") or "alone"


def first_port(port: int, environ: dict[str, str]) -> int:
    """Return the port to begin with: torchrun's own store listens on MASTER_PORT and must not be disturbed."""
    return port + 1 if environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" else port


class Centre:
    """Rank 0's side: who came, and what each of them answers."""

    def __init__(self, port: int, size: int) -> None:
        self.size = size
        self.taken: list[int] = []
        for number in range(port, port + PORTS):
            try:
                self.server = listen(number)
                break
            except OSError:
                self.taken.append(number)
        else:
            raise OSError(f"none of the ports {port} to {port + PORTS - 1} is free")
        self.port = self.server.getsockname()[1]
        self.lines: dict[int, Line] = {}
        self.hello: dict[int, dict[str, Any]] = {}
        self.lost: dict[int, str] = {}

    def gather(self, seconds: float) -> None:
        """Wait until every rank has said hello, at most that long. Foreign visitors are sent away."""
        until = time.monotonic() + seconds
        while len(self.lines) < self.size and time.monotonic() < until:
            if not select.select([self.server], [], [], max(0.0, until - time.monotonic()))[0]:
                continue
            connection, address = self.server.accept()
            line = Line(connection)
            try:
                hello = line.receive(HELLO)
                rank = hello["rank"]
                if hello["job"] != job_of(os.environ) or not 0 <= rank < self.size:
                    raise Gone("not one of us")
                line.send({"job": hello["job"]})
            except (Gone, KeyError, TypeError):
                line.close()
                continue
            if rank in self.lines:  # it came again: its patience was shorter than the queue
                self.lines[rank].close()
            self.lines[rank] = line
            self.hello[rank] = dict(hello, address=address[0].replace("::ffff:", ""))

    def ask(self, seconds: float, question: str, **values: Any) -> dict[int, Any]:
        """Return every present rank's answer; who does not answer in time is in `lost` from then on."""
        begin = time.monotonic()
        for rank in list(self.lines):
            self._try(rank, Line.send, dict(values, ask=question))
        answers = {}
        for rank in list(self.lines):
            left = max(0.5, begin + seconds - time.monotonic())
            answer = self._try(rank, Line.receive, left)
            if rank in self.lines:
                answers[rank] = answer
        return answers

    def clock(self, rank: int, times: int = 8) -> tuple[float, float] | None:
        """Return (seconds that a rank's clock is ahead, how far that may be wrong): of the quickest of some answers.

        The answer was given between question and reply: the middle is taken, and half the round trip is the error.
        """
        best = None
        for _ in range(times):
            begin, asked = time.monotonic(), time.time()  # whatever lies between counts as error
            self._try(rank, Line.send, {"ask": "clock"})
            answer = self._try(rank, Line.receive, 10)
            trip = time.monotonic() - begin
            if answer is None:
                return None
            if best is None or trip / 2 < best[1]:
                best = answer - asked - trip / 2, trip / 2
        return best

    def _try(self, rank: int, action: Any, value: Any) -> Any:
        if rank not in self.lines:
            return None
        try:
            return action(self.lines[rank], value)
        except Gone as error:
            self.lost[rank] = str(error)
            self.lines.pop(rank).close()
            return None


def join(address: str, port: int, hello: dict[str, Any], seconds: float) -> Line:
    """Return the connection to rank 0; Gone, with the last reason, when it does not answer in that many seconds."""
    until, reason = time.monotonic() + seconds, "no answer"
    while True:
        for number in range(port, port + PORTS):
            left = until - time.monotonic()
            if left <= 0:
                raise Gone(reason)
            try:
                line = Line(socket.create_connection((address, number), timeout=min(ANSWER, left)))
            except OSError as error:
                reason = error.strerror or str(error)
                continue
            try:
                line.send(hello)
                if line.receive(ANSWER) == {"job": hello["job"]}:
                    return line
            except Gone as error:
                reason = str(error)
            line.close()
        time.sleep(min(0.2, max(0.0, until - time.monotonic())))
