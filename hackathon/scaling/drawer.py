"""A drawing process that stays, for a server: its engine takes half a second to start, a picture a thirtieth."""

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.scaling.plot import order_of, pictures
from hackathon.text.worker import Worker

PATIENCE = 20.0
"""Seconds that an order may take before a process of its own gets it."""
TURN = 2.0
"""Seconds that an order waits for the one before it: another process takes a third of that to be ready."""
MOST = 2000
"""Pictures after which the process is replaced: nobody knows what an engine keeps."""
_CHILD = "from hackathon.scaling import draw; draw.serve()"
_TINY = {"data": {"values": []}, "mark": "point"}


class Drawer:
    """The process, started when first needed and again after it was lost or had rested. Any thread may use it."""

    def __init__(self) -> None:
        self._worker = Worker(_CHILD)
        self._turn = threading.Lock()
        self._drawn = 0

    @property
    def ready(self) -> bool:
        """Whether the process is there."""
        return self._worker.ready

    def prepare(self) -> None:
        """Have the engine ready for the first picture, if there is one."""
        self._drawn_here(order_of([_TINY], "svg"), 1)

    def pictures(self, specs: Sequence[Mapping[str, Any]], form: str) -> list[bytes]:
        """Return pictures as `plot.pictures` does, and raise what it raises.

        What this process cannot do, or not now, a process of its own does: it tells what is wrong.
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
            self._worker.rest()  # one that answers nothing, or nonsense, is not asked again
            return []
        finally:
            self._turn.release()

    def stop(self) -> None:
        """End the process for good, also while another thread waits for its answer."""
        self._worker.stop()
