"""Background for a tutor about a team: its tutors, its seat, earlier notes, earlier failures."""

from collections import Counter
from collections.abc import Sequence

from hackathon.board.board import Board, Post, Reply, solved_like
from hackathon.board.people import People
from hackathon.index.catalog import Catalog
from hackathon.web.attention.records import Note, Similar
from hackathon.web.page import sanitize as clean
from hackathon.web.views.board import anchor_of, line
from hackathon.web.views.trouble import age

SAID = 600
"""Characters of a tutor's note that are displayed."""
PARTS, SIMILAR = 4, 3
"""Parts of a team's history, and solved posts, that are displayed."""


class Background:
    """Looks up facts about teams, once for all matters of a page."""

    def __init__(self, source: Catalog, board: Board | None, people: People) -> None:
        self._now, self._board, self._people = source.now, board, people
        self._teams = {line(team.name): team for team in source.event.teams} if source.event is not None else {}
        self._failures: dict[str, Counter[str]] = {}
        for run in source.summaries:
            if run.part:
                team = line(run.team) or people.team(run.user)
                self._failures.setdefault(team, Counter())[run.part] += 1
        self._notes: dict[str, Reply] = {}
        folders = [(project.path, line(project.team)) for project in source.projects if project.team]
        for post in board.posts if board is not None else ():
            team = people.team(post.user) or _team_at(post.folder, folders)
            for reply in (*post.answers, post.taken, post.solved) if team else ():
                if reply is not None and reply.text and people.is_tutor(reply.uid):
                    last = self._notes.get(team)
                    if last is None or reply.time > last.time:
                        self._notes[team] = reply

    def tutors(self, team: str) -> tuple[str, ...]:
        """Return the names of a team's tutors."""
        entry = self._teams.get(team)
        return tuple(line(self._people.name(user)) for user in entry.tutors) if entry is not None else ()

    def seat(self, team: str) -> str:
        """Return where a team sits; empty if the event has no seats."""
        entry = self._teams.get(team)
        return line(entry.seat) if entry is not None else ""

    def note(self, team: str) -> Note | None:
        """Return a tutor's last note to a team; None if there is none."""
        reply = self._notes.get(team)
        if reply is None:
            return None
        return Note(line(self._people.name(reply.user)), age(self._now, reply.time), clean.block(reply.text, SAID))

    def history(self, team: str) -> tuple[tuple[str, int], ...]:
        """Return the parts of a team's failures, with their counts."""
        return tuple((line(part), count) for part, count in self._failures.get(team, Counter()).most_common(PARTS))

    def similar(self, rule: str, evidence: str, but: str = "") -> tuple[Similar, ...]:
        """Return solved posts about the same failure, without the one with the id `but`."""
        if self._board is None:
            return ()
        posts = [post for post in solved_like(self._board, rule, evidence, SIMILAR + 1) if post.id != but]
        return tuple(Similar(line(post.title), anchor_of(post.short), _solution(post)) for post in posts[:SIMILAR])


def _solution(post: Post) -> str:
    """Return the text that solved a post: that of the person who closed it, else the last answer."""
    texts: Sequence[str] = [*(answer.text for answer in post.answers), post.solved.text if post.solved else ""]
    return clean.block(next((text for text in reversed(texts) if text), ""), SAID)


def _team_at(folder: str, folders: Sequence[tuple[object, str]]) -> str:
    return next((team for path, team in folders if f"{folder}/".startswith(f"{path}/")), "") if folder else ""
