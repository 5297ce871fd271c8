"""Name a stage that hangs, long before the time limit, without stopping anything."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hackathon.parallel.live.layout import Layout
from hackathon.text.messages import _

LEAST, TIMES = 60.0, 10.0
"""Minimum seconds, and multiple of the slowest step so far, after which an idle rank is named: the longer of both."""
SETTLING = 3.0
"""Seconds in which all ranks publish that they wait, before one of them is named."""
KEY = "hackathon/slow/"


class StepProgress:
    """This rank's activity in a step: the ranks that it waits for, and since when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.since: float | None = None
        """When the current activity began; None outside a step, or when unknown."""
        self.waits: tuple[int, ...] = ()
        """Ranks that it waits for; empty while it computes."""
        self.slowest = 0.0

    @property
    def limit(self) -> float:
        """Seconds after which an idle rank is named."""
        return max(LEAST, TIMES * self.slowest)

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Watch a step, and measure its duration."""
        began = self.since = self.clock()
        try:
            yield
            self.slowest = max(self.slowest, self.clock() - began)
        finally:
            self.since, self.waits = None, ()

    @contextlib.contextmanager
    def waiting(self, ranks: Sequence[int], *, surely: bool = True) -> Iterator[None]:
        """Wait for ranks. Without `surely` this rank may compute or wait meanwhile, and names no rank."""
        before = self.since
        if before is None:
            yield
            return
        self.waits, self.since = tuple(ranks), self.clock() if surely else None
        try:
            yield
        finally:
            self.waits, self.since = (), self.clock()


class SlowStages:
    """Checks, several times a second, whether this rank or one that it waits for hangs in a step."""

    def __init__(self, layout: Layout, rank: int, progress: StepProgress, store: Any, timeout: float) -> None:
        self._layout, self._rank, self._progress = layout, rank, progress
        self._store, self._timeout = store, timeout
        self._published = self._named = -1.0
        """The published `since`, and the one for which a rank was named."""

    def look(self) -> str | None:
        """Return a message, once for each hang."""
        progress = self._progress
        since, waits = progress.since, progress.waits
        late = 0.0 if since is None else progress.clock() - since - progress.limit
        if since is None or late <= 0:
            if self._published >= 0:
                self._store.set(f"{KEY}{self._rank}", "")
                self._published = -1.0
            return None
        if waits and self._published != since:
            self._store.set(f"{KEY}{self._rank}", ",".join(map(str, waits)))
            self._published = since
        if late < SETTLING or self._named == since:
            return None
        self._named = since
        if not waits:
            return self._sentence(self._rank)
        if self._rank:
            return None  # rank 0 reports it for all waiting ranks
        ends = self._ends(waits)
        if ends:
            return self._sentence(ends[0])
        return _(
            "The stages have been waiting for one another for more than {seconds} s. Nothing is ended; they "
            "wait for up to {timeout} s.",
            seconds=f"{progress.limit:.0f}",
            timeout=f"{self._timeout:.0f}",
        )

    def _sentence(self, rank: int) -> str:
        stage, replica = self._layout.place(rank)
        return _(
            "stage {stage}, replica {replica} (rank {rank}) has not gone on for more than {seconds} s; the "
            "slowest step so far took {slowest} s. Nothing is ended; others wait for up to {timeout} s.",
            stage=stage,
            replica=replica,
            rank=rank,
            timeout=f"{self._timeout:.0f}",
            seconds=f"{self._progress.limit:.0f}",
            slowest=f"{self._progress.slowest:.3g}",
        )

    def _ends(self, waits: Sequence[int]) -> list[int]:
        """Return the ranks at the ends of all chains of waiting: those that do not wait themselves."""
        suspects, visited, ends = list(waits), {self._rank}, []
        while suspects:
            rank = suspects.pop(0)
            if rank in visited:
                continue
            visited.add(rank)
            key = f"{KEY}{rank}"
            more = self._store.get(key).decode() if self._store.check([key]) else ""
            if more:
                suspects += [int(number) for number in more.split(",")]
            else:
                ends.append(rank)
        return sorted(ends)
