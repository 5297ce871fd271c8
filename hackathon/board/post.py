"""Write a post or a request for help, with the diagnosis of a run."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.board.board import Board
from hackathon.board.entry import GUESSED, Attached, Entry, attach, clean_line
from hackathon.board.store import Owned, write_entry
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.states import RunStatus


def finding_of(run: "RunDirectory", status: "RunStatus | None" = None) -> Attached | None:
    """Return the cause in a run's diagnosis; None if there is nothing to report.

    For a failure without a rule: how the run ended, and the last informative line of the process that failed first.
    With `status` None, the run's directory alone decides. Rules of the run's project and event count.
    """
    from hackathon.config.trust import folders_that_count
    from hackathon.diagnosis import diagnose_run
    from hackathon.diagnosis.findings import Finding
    from hackathon.text.messages import LANGUAGES, language, speaking

    diagnosis = diagnose_run(run, status, folders=folders_that_count(run.path, run.path))
    if diagnosis.findings and diagnosis.findings[0].level in ("root", "likely"):
        return attach(diagnosis.findings[0])
    state = diagnosis.status
    if state is None or not diagnosis.unknown:
        return None
    own = [line for line in diagnosis.unknown if line.rank is not None and line.rank == state.first_rank]
    texts = {}
    for code in LANGUAGES:
        with speaking(code):
            texts[code] = (state.explanation or state.state, "")
    return attach(Finding("", "", "", texts[language()][0], [*diagnosis.unknown, *own][-1], "", said=texts))


def step_time_of(run: "RunDirectory") -> Attached | None:
    """Return the parts of a run's step time and what to try, as a finding without a rule; None if unknown."""
    from hackathon.diagnosis.findings import Finding
    from hackathon.profiling.meters import shares_of_run
    from hackathon.profiling.points import run_json
    from hackathon.profiling.sentences import sentences
    from hackathon.text.messages import LANGUAGES, language, speaking

    processes = run.known().processes
    shares = shares_of_run(run.path, processes)
    if shares is None:
        return None
    texts = {}
    for code in LANGUAGES:
        with speaking(code):
            headline, *advice = sentences(processes, run_json(shares))
            texts[code] = (headline, "\n".join(advice))
    return attach(Finding("", "", "", texts[language()][0], None, texts[language()][1], said=texts))


def post(
    board: Board,
    text: str,
    *,
    kind: str = "post",
    part: str = "",
    rule: str = "",
    run: str = "",
    folder: Path | None = None,
    finding: Attached | None = None,
    guessed: bool = False,
) -> Owned:
    """Write a post (or, with kind `ask`, a request for help) as the current user.

    The text's first line is the title; a finding alone also makes a post. `guessed`: the author did not name the run.
    Raises RequestError if there is neither.
    """
    if not text.strip() and finding is None:
        raise RequestError(
            "board.no_text", "the text is empty", hint="pass it as an argument, or pass `-` to read standard input"
        )
    entry = Entry(id="", kind=kind, time=0.0, board=board.place.board, text=text.strip(), finding=finding)
    return write_entry(
        board.place,
        replace(
            entry,
            part=clean_line(part or (finding.part if finding else "")),
            rule=clean_line(rule or (finding.rule if finding else "")),
            run=clean_line(run),
            folder=clean_line(str(folder)) if folder else "",
            basis=GUESSED if run and guessed else "",
        ),
    )
