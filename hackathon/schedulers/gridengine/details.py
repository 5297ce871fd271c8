"""What Grid Engine recorded of one job: `qstat -j`, the lists of jobs, and `qacct -j` for an ended one."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.gridengine import listing, records
from hackathon.schedulers.gridengine.dialect import GridEngineDialect
from hackathon.schedulers.reports import JobDetails

HOSTS = ["qstat", "-u", "*", "-g", "t", "-xml"]
"""The list with one entry for each slot of a running job."""

_LINE = re.compile(r"([a-z_-]+(?: [a-z_]+)*):  *(\S.*?) *\Z")
_LIMIT = re.compile(r"\bh_rt=([\d:]{1,12})(?=[, ]|\Z)")


def details(answers: Iterable[CommandOutput], job_id: str, dialect: GridEngineDialect) -> JobDetails:
    """Return what the answers say. A slot is a process, except where queues are resource types: these count cores."""
    number, _, task = job_id.partition(".")
    values: dict[str, str] = {}
    slots = nodes = limit = None
    for answer in answers:
        if answer.argv[:2] == ("qstat", "-j") and answer.exit_code == 0:
            values = _values(answer.stdout, number)
            limit = _LIMIT.search(values.get("hard resource_list", ""))
        elif answer.argv[0] == "qstat" and listing.is_whole(answer):
            jobs = [job for job in listing.by_number(answer).get(number, ()) if task in ("", job.tasks) and job.queue]
            if "-g" in answer.argv:
                nodes = len({job.queue.partition("@")[2] for job in jobs if job.tasks == jobs[0].tasks}) or None
            elif jobs and jobs[0].slots.isdigit():
                slots = int(jobs[0].slots)
        elif answer.argv[0] == "qacct" and slots is None:
            lives = [life for life in records.own_lives(answer, number) if task in ("", life.task)]
            if lives:
                slots, nodes = lives[-1].slots, records.nodes(lives[-1], dialect)
                limit = limit or _LIMIT.search(lives[-1].category)
    return JobDetails(
        nodes=nodes,
        processes=slots if dialect.queue == "name" else None,
        walltime=_seconds(limit[1]) if limit else None,
        queue=values.get("hard_queue_list", "") if dialect.queue == "name" else "",
        group=values.get("project", ""),
        output=_output(values, number, task),
    )


def _values(text: str, number: str) -> dict[str, str]:
    """Return the first value of each line; {} for the answer on another job."""
    values = records.first_values(text, _LINE)
    return values if values.get("job_number") == number else {}


def _output(values: Mapping[str, str], number: str, task: str) -> str | None:
    """Return the file of `NONE:NONE:PATH`, by default NAME.oNUMBER in the job's folder.

    A path is a folder where it is one here, too (qsub(1), -o). An array's tasks have a file each.
    """
    folder = values.get("cwd") or values.get("sge_o_home", "")
    if not folder.startswith("/") or ("job-array tasks" in values and not task):
        return None
    name = f"{values.get('job_name', '')}.o{number}{f'.{task}' if task else ''}"
    written = values.get("stdout_path_list", "").rpartition(":")[2]
    variables = {"JOB_ID": number, "JOB_NAME": values.get("job_name", ""), "USER": values.get("owner", ""),
                 "HOME": values.get("sge_o_home", ""), "TASK_ID": task or "undefined"}  # fmt: skip
    for variable, value in variables.items():
        written = written.replace(f"${variable}", value)
    path = Path(folder, written or name)
    return str(path / name if written and path.is_dir() else path)


def _seconds(text: str) -> int:
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part or 0)
    return seconds
