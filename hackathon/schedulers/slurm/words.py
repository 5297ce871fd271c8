"""Tables of Slurm's states, reasons and refusals, and their meaning here."""

import re

from hackathon.schedulers.base import (
    CANCELLED,
    ENDING,
    FAILED,
    HELD,
    NODE_FAILED,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    UNKNOWN,
)

STATES = {
    "PENDING": QUEUED,
    "CONFIGURING": QUEUED,  # has nodes, waits until they are up
    "EXPEDITING": QUEUED,  # requeued with the highest priority
    "POWER_UP_NODE": QUEUED,
    "REQUEUED": QUEUED,
    "REQUEUE_FED": QUEUED,
    "REQUEUE_HOLD": HELD,
    "SPECIAL_EXIT": HELD,  # requeued and held, because its exit code is in the site's list
    "RESV_DEL_HOLD": HELD,  # its reservation was deleted
    "RUNNING": RUNNING,
    "RESIZING": RUNNING,
    "SIGNALING": RUNNING,
    "STOPPED": RUNNING,  # SIGSTOP, keeps its nodes
    "SUSPENDED": RUNNING,  # keeps its nodes or releases them to another job for a while
    "COMPLETING": ENDING,
    "STAGE_OUT": ENDING,
    "UPDATE_DB": ENDING,
    "COMPLETED": SUCCEEDED,
    "FAILED": FAILED,
    "TIMEOUT": TIMEOUT,
    "DEADLINE": TIMEOUT,
    "OUT_OF_MEMORY": OUT_OF_MEMORY,
    "CANCELLED": CANCELLED,
    "PREEMPTED": CANCELLED,  # final; a preempted job that was requeued has a newer life
    "NODE_FAIL": NODE_FAILED,
    "BOOT_FAIL": NODE_FAILED,
    "LAUNCH_FAILED": NODE_FAILED,
    "RECONFIG_FAIL": NODE_FAILED,
    "REVOKED": UNKNOWN,  # another cluster of a federation runs it
}
"""State (squeue(1), sacct(1), "JOB STATE CODES") → state."""

HELD_REASONS = frozenset(
    {"JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "Reservation", "JobHold"}
)
"""Reasons of PENDING other than missing nodes: PBS would report H or W."""

NEVER_REASONS = frozenset(
    {
        "AccountNotAllowed",
        "AccountingPolicy",
        "BadConstraints",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "MaxMemPerLimit",
        "PartitionConfig",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "QOSNotAllowed",
        "ReservationDeleted",
        "ReservationInvalid",
    }
)
"""Reasons of PENDING that do not go away by waiting."""

_NEVER_PATTERN = re.compile(
    r"(?:Assoc|QOS|Association)(?:Max\w*PerJob\w*|MaxWall\w*|Min\w+|MaxMemPer\w*|MaxNodePerLimit)\Z"
)

DOWN = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Connection (?:refused|reset|timed out)|connect failure"
    r"|Zero Bytes were transmitted|Transport endpoint|Resource temporarily unavailable|standby mode"
    r"|Communication connection failure|Problem talking to the database|Message (?:receive|send) failure"
    r"|timeout|Protocol authentication error|Unable to (?:process configuration|establish)|not responding",
    re.IGNORECASE,
)
"""Messages about an unresponsive controller, database or munge."""

NOT_SET_UP = re.compile(r"establish a configuration source|fetch_config: DNS SRV lookup failed")
"""Messages of any command on a machine that belongs to no cluster."""

REFUSALS = (
    (re.compile(r"invalid partition", re.IGNORECASE), "unknown_queue"),
    (re.compile(r"partition.*(?:inactive|not available|down|drain)", re.IGNORECASE), "queue_disabled"),
    (
        re.compile(r"Invalid (?:account|qos)|not permitted to use this (?:partition|account)", re.IGNORECASE),
        "bad_group",
    ),
    (re.compile(r"reservation", re.IGNORECASE), "bad_reservation"),
    (re.compile(r"QOSMaxSubmitJob|AssocMaxSubmitJob|submit limit|MaxSubmit|MaxJobCount", re.IGNORECASE), "user_limit"),
    (re.compile(r"time limit|node count|limit|violates accounting|Memory specification", re.IGNORECASE), "over_limit"),
    (re.compile(r"node configuration is not available|Invalid generic resource", re.IGNORECASE), "no_such_nodes"),
    (
        re.compile(r"unrecognized option|invalid option|Invalid .*specification|invalid number", re.IGNORECASE),
        "bad_value",
    ),
    (re.compile(r"batch script|DOS line breaks|Unable to open file|first line", re.IGNORECASE), "bad_script"),
    (re.compile(r"Access/permission denied|not allowed|User.*not found|Invalid user", re.IGNORECASE), "not_authorised"),
)
"""sbatch's message → ours; the first match counts."""


def never_runs(reason: str) -> bool:
    """Return whether a pending job with this reason will not start by waiting."""
    return reason in NEVER_REASONS or bool(_NEVER_PATTERN.match(reason))
