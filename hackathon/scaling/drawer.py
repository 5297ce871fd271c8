"""A persistent drawing process for a server: its engine starts in half a second, a picture takes a thirtieth."""

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.scaling.plot import order_of, pictures
from hackathon.text.worker import Worker

PATIENCE = 20.0
"""Seconds that an order may take before it gets a separate process."""
TURN = 2.0
"""Seconds that an order waits for the one before it: another process is ready in a third of that."""
MOST = 2000
"""Pictures after which the process is replaced, in case the engine leaks memory."""
_CHILD = "from hackathon.scaling import draw; draw.serve()"
_TINY = {"data": {"values": []}, "mark": "point"}


class Drawer:
    """The process, started on first use and again after a loss or an idle end. Any thread may use it."""

    def __init__(self) -> None:
        self._worker = Worker(_CHILD)
        self._turn = threading.Lock()
        self._drawn = 0

    @property
    def ready(self) -> bool:
        """Whether the process is running."""
        return self._worker.ready

    def prepare(self) -> None:
        """Start the engine before the first picture."""
        self._drawn_here(order_of([_TINY], "svg"), 1)

    def pictures(self, specs: Sequence[Mapping[str, Any]], form: str) -> list[bytes]:
        """Return pictures like `plot.pictures`, with the same errors.

        When this process cannot draw them, a separate process does, which reports any error.
        """
        return self._drawn_here(order_of(specs, form), len(specs)) or pictures(specs, form)

    def _drawn_here(self, order: bytes, count: int) -> list[bytes]:
        if not self._turn.acquire(timeout=TURN):
            return []
        try:
            if self._drawn > MOST:
                self._worker.rest()
            self._drawn = count + (self._drawn if self._worker.ready else 0)
            answer = json.loads(self._worker.ask(order, PATIENCE))
            charts = [base64.b64decode(text) for text in answer.get("charts", ())]
            return charts if len(charts) == count else []
        except (OSError, ValueError, TypeError, AttributeError):
            self._worker.rest()  # a process with an invalid or missing answer is not used again
            return []
        finally:
            self._turn.release()

    def stop(self) -> None:
        """End the process permanently, also while another thread waits for its answer."""
        self._worker.stop()
