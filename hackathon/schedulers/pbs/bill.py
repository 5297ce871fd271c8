"""PBS's accounting of jobs: attributes of `qstat -x -f`, as a real OpenPBS 23.06 printed them."""

from hackathon.schedulers.accounting import MOST_NODES, Charge, JobAccounting
from hackathon.schedulers.pbs import text
from hackathon.schedulers.words import clock_moment

ENDED, WAITING = frozenset({"F", "X"}), frozenset({"Q", "H", "W", "T"})


def account(blocks: list[text.PrintedBlock]) -> JobAccounting:
    """Return the accounting of one id from its block, or from those of an array's subjobs (the parent uses nothing)."""
    elements = [block for block in blocks if "[]" not in block.name] or blocks
    charges = [_charge(block.attributes) for block in elements]
    complete = all(
        _lives(block.attributes) == (charge is not None) for block, charge in zip(elements, charges, strict=True)
    )
    return JobAccounting(tuple(charge for charge in charges if charge is not None), whole=complete)


def _lives(attributes: dict[str, str]) -> int:
    """Return how often the job was started (`run_count`, which a waiting job has, too)."""
    began = "stime" in attributes and attributes.get("job_state", "") not in WAITING
    return text.number(attributes.get("run_count", "")) or int(began)


def _charge(attributes: dict[str, str]) -> Charge | None:
    """Return the last life; `resources_used.walltime` excludes suspensions.

    `obittime` is the time at which the job's end reached the server; older servers only have `mtime`.
    """
    start = clock_moment(attributes.get("stime", ""))
    letter = attributes.get("job_state", "")
    if start is None or letter in WAITING:
        return None
    nodes = text.number(attributes.get("Resource_List.nodect", "")) or 1
    if nodes > MOST_NODES:
        return None
    ended = letter in ENDED
    end = clock_moment(attributes.get("obittime") or attributes.get("mtime", "")) if ended else None
    # for a running job it is updated only now and then
    seconds = text.seconds(attributes.get("resources_used.walltime", "")) if ended else None
    gpus = text.number(attributes.get("Resource_List.ngpus", ""))
    name, owner = attributes.get("Job_Name", ""), attributes.get("Job_Owner", "").partition("@")[0]
    return Charge(start, end, None if seconds is None else float(seconds), nodes, gpus, name, owner)
