"""Guess the run that a request for help is about."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.text.errors import HackathonError

if TYPE_CHECKING:
    from hackathon.board.entry import Attached
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus

LOOKED_AT = 20
"""Number of newest runs that are considered."""
DIAGNOSED = 4
"""The most failures of the asker, and of others, whose causes are compared with the message."""
STILL = "no progress"
"""The cause of a run without progress, in a word of its topic."""

TOPICS = {
    "hang": (
        r"\bhangs?\b|\bhung\b|stuck|freez|still|no progress|nothing happens"
        r"|固ま|止ま|停止|進ま|進行|動かな|ハング|応答"
    ),
    "memory": r"memory|\boom\b|メモリ",
    "data": r"data ?sets?\b|\bdata\b|\bfiles?\b|not found|no such file|データ|ファイル|見つか",
    "module": r"modules?\b|\bimport|packages?\b|install|モジュール|パッケージ|インストール",
    "number": r"\bnan\b|\binf\b|diverge|発散|非数",
    "network": r"\bnccl\b|network|connection|infiniband|\bports?\b|communicat|通信|接続|ネットワーク",
    "time": r"walltime|time limit|ウォールタイム|時間切れ|制限時間",
    "shape": r"shapes?\b|mismatch|dimension|形状|次元|サイズ",
    "key": r"key ?error|\bkeys?\b|\bentry\b|キー|項目",
    "permission": r"permission|denied|quota|権限|容量",
}
"""Topic → words of messages and of causes, in English and Japanese."""
_TOPICS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in TOPICS.items()}
_SIZE = re.compile(r"(\d{1,6}) ?(?:process(?:es)?|ranks?|gpus?|プロセス|ランク|並列|枚)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][\w./-]{4,}")
LONGEST = 4000
"""Characters of a message that are read."""


@dataclass(frozen=True)
class GuessedRun:
    """A run that a request may be about."""

    run: "RunDirectory"
    own: bool
    """Whether it belongs to the asker."""
    still: bool
    """Whether it runs and makes no progress."""

    @cached_property
    def finding(self) -> "Attached | None":
        """Its cause; None if there is none, or if it cannot be diagnosed."""
        from hackathon.board.post import finding_of

        try:
            return finding_of(self.run)
        except (HackathonError, OSError):
            return None

    def likeness(self, text: str) -> int:
        """Return how much a message has in common with this run and its cause; 0: nothing."""
        cause = self.finding
        texts = [STILL] if self.still else []
        if cause is not None:
            texts += [cause.message, cause.text, cause.part, cause.rule, *(words for words, __ in cause.said.values())]
        return likeness(text, "\n".join(texts), self.run.known().processes)


def run_in_trouble(runs_folder: Path, text: str) -> GuessedRun | None:
    """Return the run that a message is most likely about; None if there are no runs.

    In this order: the asker's running job without progress, the asker's newest failure, the same of the others in the
    folder, the newest run. Among these, a cause that the message speaks of comes first. The scheduler is not asked: a
    person who asks for help has seen the failure, or has a run that hangs.
    """
    from hackathon.runs.chain import newest
    from hackathon.runs.directory import find_runs

    runs = find_runs(runs_folder)[:LOOKED_AT]
    candidates = list(_candidates(runs))
    if len(candidates) > 1 and text.strip():
        for group in ([guess for guess in candidates if guess.own], [guess for guess in candidates if not guess.own]):
            if (match := _spoken_of(group, text)) is not None:
                return match
    last = newest(runs)
    return next(iter(candidates), GuessedRun(last, last.owned(), still=False) if last is not None else None)


def _candidates(runs: "Sequence[RunDirectory]") -> Iterator[GuessedRun]:
    """Yield the runs in trouble, the likeliest first."""
    from hackathon.runs.states import ENDED, RUNNING, SUCCEEDED
    from hackathon.runs.status import status

    states = status(list(runs), ask=False)
    failed = [run for run, state in zip(runs, states, strict=True) if state.state in ENDED - {SUCCEEDED}]
    still = [run for run, state in zip(runs, states, strict=True) if state.state == RUNNING and _stands(run, state)]
    for own in (True, False):
        yield from (GuessedRun(run, own, still=True) for run in still if run.owned() == own)
        yield from islice((GuessedRun(run, own, still=False) for run in failed if run.owned() == own), DIAGNOSED)


def _stands(run: "RunDirectory", state: "RunStatus") -> bool:
    from hackathon.index.progress import makes_no_progress
    from hackathon.index.projects import ProjectFolder
    from hackathon.index.reader import summarise

    return makes_no_progress(summarise(ProjectFolder(run.path.parent.parent), run, state), time.time())


def _spoken_of(candidates: Iterable[GuessedRun], text: str) -> GuessedRun | None:
    """Return the candidate whose cause a message speaks of most; the first one of equals, None without any."""
    scored = [(guess.likeness(text), guess) for guess in candidates]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] > 0 else None


def topics_of(text: str) -> frozenset[str]:
    """Return the names of the topics whose words a text contains."""
    return frozenset(name for name, pattern in _TOPICS.items() if pattern.search(text[:LONGEST]))


def likeness(text: str, cause: str, processes: int) -> int:
    """Return how much a message has in common with a run: topics of its cause, its size, names in its cause.

    `cause`: all texts of the cause; `processes`: the run's size. 0: nothing.
    """
    said = text[:LONGEST]
    shared = len(topics_of(said) & topics_of(cause))
    sizes = {int(match[1]) for match in _SIZE.finditer(said)}
    names = {name for name in _NAME.findall(said) if re.search(r"[_./A-Z0-9]", name[1:])}
    return 2 * shared + (processes in sizes) + sum(name in cause for name in names)
