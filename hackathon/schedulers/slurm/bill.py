"""Slurm's accounting of jobs: `sacct -X -D`, as a real 22.05 printed it (`samples/bill_*`)."""

import re
from collections.abc import Iterable

from hackathon.schedulers.reports import MOST_NODES, Charge, JobAccounting
from hackathon.schedulers.slurm.ids import same
from hackathon.schedulers.words import moment
from hackathon.text.numbers import digits

GPUS = re.compile(r"(?:\A|,)gres/gpu=(\d{1,7})(?:,|\Z)", re.ASCII)


def accounts(records: Iterable[list[str]], ids: list[str]) -> dict[str, JobAccounting]:
    """Return id → accounting from records of slurm.BILL_FIELDS; ids without a record are omitted.

    ElapsedRaw excludes suspensions (sacct(1)). A job that was cancelled while it waited has equal start and end and no
    nodes: it is known, and cost nothing.
    """
    by_number: dict[str, list[tuple[str, Charge | None]]] = {}
    for job_id, *values in records:
        charge = _charge(*values)
        by_number.setdefault(re.split(r"[_+]", job_id)[0], []).append((job_id, charge))
    accounts_by_id: dict[str, JobAccounting] = {}
    for job_id in ids:
        mine = [charge for record_id, charge in by_number.get(job_id.partition("_")[0], ()) if same(job_id, record_id)]
        if mine:
            accounts_by_id[job_id] = JobAccounting(tuple(charge for charge in mine if charge is not None))
    return accounts_by_id


def _charge(start: str, end: str, elapsed: str, nodes: str, resources: str, user: str, name: str) -> Charge | None:
    began, count = moment(start), (digits(nodes.strip(), 11) or 0)
    if began is None or not 0 < count <= MOST_NODES:
        return None
    gpus = GPUS.search(resources)
    seconds = float(digits(elapsed.strip(), 11) or 0) if elapsed.strip() else None
    return Charge(began, moment(end), seconds, count, int(gpus[1]) if gpus else None, name, user)
