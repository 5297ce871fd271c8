"""What every rank does when rank 0 asks: tell its time, reach the next rank, pass the token on, write and see files."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Any

from talk import Gone, Line, job_of, listen

PAIR = 10.0
"""Seconds in which a rank must reach its neighbour, and in which the token must come."""


class Ring:
    """A rank's two neighbours: it connects to the next one, and the one before connects to it."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self._former = rank, (rank - 1) % size
        self._server = listen(0)
        self.port = self._server.getsockname()[1]
        self._came = threading.Event()
        self._before: Line | None = None
        self._next: Line | None = None
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while not self._came.is_set():
            try:
                line = Line(self._server.accept()[0])
            except OSError:
                return
            try:
                if line.receive(PAIR) == {"job": job_of(os.environ), "rank": self._former}:
                    line.send({"rank": self.rank})
                    self._before = line
                    self._came.set()
                    continue
            except Gone:
                pass
            line.close()

    def connect(self, peer: dict[str, Any], host: str) -> dict[str, Any]:
        """Reach the next rank by its host's name, else by the address that rank 0 saw; say what did not work."""
        places = ["127.0.0.1"] if peer["host"] == host else [peer["host"], peer["address"]]
        problems: list[str] = []
        until = time.monotonic() + PAIR
        for place in places:
            try:
                left = max(1.0, (until - time.monotonic()) / (len(places) - len(problems)))
                line = Line(socket.create_connection((place, peer["port"]), timeout=left))
                line.send({"job": job_of(os.environ), "rank": self.rank})
                if line.receive(PAIR / 2) != {"rank": peer["rank"]}:
                    raise Gone("somebody else answers")
            except (OSError, Gone) as error:
                problems.append("{}: {}".format(place, getattr(error, "strerror", None) or error))
                continue
            self._next = line
            return {"reached": True, "by": place, "problems": problems}
        return {"reached": False, "problems": problems}

    def token(self) -> dict[str, Any]:
        """Pass the token on, each rank writing its number behind those before it; rank 0 begins and gets it back."""
        try:
            if not self._came.wait(PAIR) or self._before is None or self._next is None:
                raise Gone("a neighbour is missing")
            if self.rank == 0:
                self._next.send([0])
                return {"token": self._before.receive(PAIR)}
            ranks = [*self._before.receive(PAIR), self.rank]
            self._next.send(ranks)
            return {"token": ranks}
        except Gone as error:
            return {"problem": str(error)}


def write(folder: str, token: str, rank: int) -> str | None:
    """Write this rank's file into a folder of the shared directory; return why that failed, None when it did not."""
    try:
        os.makedirs(os.path.join(folder, token), exist_ok=True)
        with open(os.path.join(folder, token, f"rank-{rank}"), "w") as stream:
            stream.write(f"{token} {rank}\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return None


def see(folder: str, token: str, ranks: list[int], seconds: float) -> dict[str, Any]:
    """Return the ranks whose files do not appear here in that many seconds, and how long the others took."""
    begin = time.monotonic()
    missing = list(ranks)
    while True:
        missing = [rank for rank in missing if not _written(folder, token, rank)]
        spent = time.monotonic() - begin
        if not missing or spent > seconds:
            return {"missing": missing, "seconds": spent}
        time.sleep(0.1)


def _written(folder: str, token: str, rank: int) -> bool:
    try:
        with open(os.path.join(folder, token, f"rank-{rank}")) as stream:
            return stream.read() == f"{token} {rank}\n"
    except OSError:
        return False


def remove(folder: str, token: str, rank: int) -> None:
    """Take this rank's file away, and the folder when it was the last one."""
    try:
        os.unlink(os.path.join(folder, token, f"rank-{rank}"))
        os.rmdir(os.path.join(folder, token))
    except OSError:
        pass


def serve(line: Line, ring: Ring, rank: int, host: str, patience: float) -> Any:
    """Answer rank 0 until it says that it is over, and return how many checks failed; Gone when it falls silent."""
    while True:
        asked = line.receive(patience)
        question = asked["ask"]
        if question == "end":
            line.send(None)
            return asked["failed"]
        if question == "clock":
            line.send(time.time())
        elif question == "ring":
            line.send(ring.connect(asked["peers"][str(rank)], host))
        elif question == "token":
            line.send(ring.token())
        elif question == "write":
            line.send(write(asked["folder"], asked["token"], rank))
        elif question == "see":
            line.send(see(asked["folder"], asked["token"], asked["ranks"], asked["within"]))
        else:
            line.send(remove(asked["folder"], asked["token"], rank))
