"""What the live view has on the terminal: the list or one matter, scrolled, and what a key does to it."""

import time
from typing import TYPE_CHECKING

from hackathon.cli.screen.keys import BACK, DOWN, ENTER, FIRST, LAST, PAGE_DOWN, PAGE_UP, QUIT, TAKE, UP
from hackathon.cli.screen.rows import (
    ASKED,
    BOLD,
    DOUBTFUL,
    GOOD,
    QUIET,
    Part,
    ScreenRow,
    clipped,
    details,
    rows_of,
    table,
)
from hackathon.text.columns import cut
from hackathon.text.messages import _
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.web.attention.now import NowView
    from hackathon.web.attention.records import NowItem

HEAD, FOOT = 2, 2
"""Lines above and below the rows: the event and its numbers; what is hidden, and the keys."""
PROBLEMS = 2
"""The most warnings that are shown."""


class Screen:
    """The selected row and the first line of a view of some size."""

    def __init__(self, view: "NowView", *, keys: bool = True) -> None:
        self.view, self.rows = view, rows_of(view)
        self.keys = keys
        self.said = ""
        """A message about the last key."""
        self.opened = False
        self.ended = False
        self._at = self._top = self._line = 0
        self._room = self._lines = 1

    @property
    def row(self) -> ScreenRow | None:
        """The selected row."""
        return self.rows[self._at] if self.rows else None

    def update(self, view: "NowView") -> None:
        """Take a newer view; the selected matter stays selected wherever it stands now."""
        before = self.row
        self.view, self.rows = view, rows_of(view)
        same = [at for at, row in enumerate(self.rows) if before is not None and row.id == before.id]
        if same and before is not None:
            self._at = same[0]
        elif self.opened:  # what was open is settled
            self.opened, self.said = False, _("This matter is settled.")
        self._at = max(0, min(self._at, len(self.rows) - 1))

    def press(self, key: str) -> "NowItem | None":
        """Do what a key asks; return the request that it takes."""
        self.said = ""
        if key == QUIT:
            self.ended = True
        elif key == ENTER:
            self.opened, self._line = not self.opened and self.row is not None, 0
        elif key == BACK:
            self.opened = False
        elif key == TAKE:
            return self._request()
        else:
            self._move(key)
        return None

    def _request(self) -> "NowItem | None":
        """Return the selected request if it can be taken."""
        item = self.row.item if self.row is not None else None
        if item is None or not item.post:
            self.said = _("Only a request for help can be taken.")
            return None
        if item.helper:
            self.said = _("already taken by {name}", name=item.helper)
            return None
        return item

    def _move(self, key: str) -> None:
        now, most = (self._line, self._lines - self._room) if self.opened else (self._at, len(self.rows) - 1)
        page = max(1, self._room - 1)
        goal = {UP: now - 1, DOWN: now + 1, PAGE_UP: now - page, PAGE_DOWN: now + page, FIRST: 0, LAST: most}[key]
        goal = max(0, min(goal, most))
        if self.opened:
            self._line = goal
        else:
            self._at = goal

    def lines(self, title: str, columns: int, height: int) -> list[list[Part]]:
        """Return at most `height` lines of at most `columns`."""
        head = self._head(title, columns)
        self._room = max(1, height - len(head) - FOOT)
        opened = self.row if self.opened else None
        body = details(opened, columns) if opened is not None else self._table(columns)
        self._lines = len(body)
        if opened is None:
            self._top = max(min(self._top, self._at), self._at - self._room + 1)
            top = self._top = max(0, min(self._top, len(body) - self._room))
        else:
            top = self._line = max(0, min(self._line, len(body) - self._room))
        shown = body[top : top + self._room]
        blank: list[list[Part]] = [[] for _line in range(self._room - len(shown))]
        below = len(body) - top - len(shown)
        left = self.view.left + self.view.well_left if opened is None else 0
        return [*head, *shown, *blank, [(cut(self._hidden(top, below + left), columns), QUIET)], self._foot(columns)]

    def _head(self, title: str, columns: int) -> list[list[Part]]:
        view = self.view
        clock = time.strftime("%H:%M:%S", time.localtime(view.now))
        tone = BOLD if view.count else GOOD
        counts = _(
            "running {running} · waiting {queued} · finished today {ended}, {succeeded} succeeded",
            running=view.running, queued=view.queued, ended=view.ended, succeeded=view.succeeded,
        )  # fmt: skip
        name = cut(printable(title), max(8, columns - len(clock) - 2))
        head = [
            clipped([(name, BOLD), (f"  {clock}", QUIET)], columns),
            clipped([(view.headline, tone), (f" · {counts}", "")], columns),
        ]
        texts = [f"{_('warning')}: {printable(problem)}" for problem in view.problems[:PROBLEMS]]
        texts += [_("No runs were found.")] if view.empty else []
        return [*head, *([(cut(text, columns), DOUBTFUL)] for text in texts)]

    def _table(self, columns: int) -> list[list[Part]]:
        lines = table(self.rows, columns - 2) if self.keys else table(self.rows, columns)
        if not self.keys:
            return lines
        return [clipped([("> " if at == self._at else "  ", ASKED), *line], columns) for at, line in enumerate(lines)]

    def _hidden(self, above: int, below: int) -> str:
        texts = [_("↑ {count} more", count=above)] if above else []
        return "   ".join([*texts, *([_("↓ {count} more", count=below)] if below else [])])

    def _foot(self, columns: int) -> list[Part]:
        if self.said:
            return [(cut(printable(self.said), columns), DOUBTFUL)]
        if not self.keys:
            text = _("Ctrl-C to quit")
        elif self.opened:
            text = _("j/k: scroll · Enter: back · t: take the request · q: quit")
        else:
            text = _("j/k: select · Enter: details · t: take the request · q: quit")
        return [(cut(text, columns), QUIET)]
