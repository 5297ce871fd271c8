"""What PBS recorded of one job: the resources and the file of its output in `qstat -f`."""

import re
from collections.abc import Iterable, Mapping

from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pbs import parse, text
from hackathon.schedulers.pbs.machine import size_in_bytes
from hackathon.schedulers.reports import JobDetails
from hackathon.text.numbers import digits

DEFAULT_PROJECT = "_pbs_project_default"


def details(answers: Iterable[CommandOutput], job_id: str) -> JobDetails:
    """Return what the server recorded; a truncated answer says nothing."""
    for answer in answers:
        for block in text.blocks(answer.stdout, "Job Id:"):
            if parse.same(block.name, job_id):
                return _details(block.attributes, block.name, whole=block.whole or answer.exit_code == 0)
    return JobDetails()


def _details(attributes: Mapping[str, str], job_id: str, *, whole: bool) -> JobDetails:
    if not whole or "Resource_List.nodect" not in attributes:
        return JobDetails()

    def resource(name: str) -> str:
        return attributes.get(f"Resource_List.{name}", "")

    nodes = digits(resource("nodect"))
    gpus = digits(resource("ngpus") or "0")
    memory = size_in_bytes(resource("mem")) if resource("mem") else None
    project = attributes.get("project", "")
    return JobDetails(
        nodes=nodes,
        processes=digits(resource("mpiprocs")) or _chunks(resource("select")),
        gpus_per_node=gpus // nodes if gpus is not None and nodes and gpus % nodes == 0 else None,
        memory=memory // nodes if memory and nodes else None,
        walltime=text.seconds(resource("walltime")),
        queue=attributes.get("queue", ""),
        group=attributes.get("Account_Name") or attributes.get("group_list")
        or ("" if project == DEFAULT_PROJECT else project),
        output=_output(attributes, job_id),
    )  # fmt: skip


def _chunks(select: str) -> int | None:
    """Return the ranks of a select without `mpiprocs`: PBS starts one in each chunk."""
    counts = [re.match(r"(?:(\d{1,7})(?::|\Z))?", chunk) for chunk in select.split("+")] if select else []
    return sum(int(match[1] or 1) if match else 1 for match in counts) or None


def _output(attributes: Mapping[str, str], job_id: str) -> str | None:
    """Return the file of `host:/path`; in a folder PBS names it `ID.OU`. An array's jobs have a file each."""
    path = attributes.get("Output_Path", "").partition(":")[2]
    if not path.startswith("/") or "^array_index^" in path:
        return None
    return f"{path}{job_id}.OU" if path.endswith("/") else path
