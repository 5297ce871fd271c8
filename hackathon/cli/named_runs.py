"""The run that a user names to a command that only reads."""

from pathlib import Path

import click

from hackathon.runs.directory import RunDirectory, find_run, list_ids, meant
from hackathon.text.errors import RequestError
from hackathon.text.messages import _


def run_to_read(text: str, folder: Path) -> RunDirectory:
    """Return the run that a text names; of several, the newest study's only one, and say so on stderr.

    A team that measures every day has a `2p` in each study. Commands that end, delete or submit something use
    `find_run`, which refuses such a text. Raises RequestError as `find_run`.
    """
    try:
        return find_run(text, folder)
    except RequestError as error:
        run = _of_newest_study(text, folder) if error.id == "runs.run_ambiguous" else None
        if run is None:
            raise
    click.echo(_("{text!r} names several runs; {run} of the newest study is shown", text=text, run=run.id), err=True)
    return run


def _of_newest_study(text: str, folder: Path) -> RunDirectory | None:
    from hackathon.runs.study import find_studies, runs_of

    matches = set(meant(text, list_ids(folder)))
    for study in find_studies(folder.parent)[:1]:
        runs = [run for run in runs_of(study) if run.id in matches]
        if len(runs) == 1:
            return runs[0]
    return None
