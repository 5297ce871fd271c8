"""What a command of a scheduler says when it fails: the messages that the schedulers share."""

from hackathon.text.messages import Message

DAEMON_LINES = r"^slurmstepd: |=>> PBS"
"""Regular expression of lines by which daemons of schedulers report the end of a job."""

FAILURES = {
    "failed": Message(
        "schedulers.failed",
        "{command} failed (exit {code}): {words}",
        hint="Run the command by hand. If it fails too, contact the support of the computing centre.",
    ),
    "refused": Message(
        "schedulers.refused",
        "The scheduler refused the job (exit {code}): {words}",
        hint="`hackathon render` shows what was submitted; `hackathon submit --again RUN` submits the same run again.",
    ),
    "server_down": Message(
        "schedulers.server_down",
        "The server of the scheduler does not answer: {words}",
        hint="Try again in a few minutes.",
    ),
    "no_ports": Message(
        "schedulers.no_ports",
        "This login node has no free port for the connection to the server: {words}",
        hint="Many commands of the scheduler ran here in the last minute. Try again in a minute.",
    ),
    "no_identity": Message(
        "schedulers.no_identity",
        "The server of the scheduler could not verify who you are: {words}",
        hint="Try again in a few minutes. If it fails again, contact the support of the computing centre: the "
        "installation on this login node may be incomplete.",
    ),
    "node_down": Message(
        "schedulers.node_down",
        "The job cannot be cancelled now because its node does not answer: {words}",
        hint="The job is cancelled when the node returns. If it is not, contact the support of the computing centre.",
    ),
    "unknown_queue": Message(
        "schedulers.unknown_queue",
        "The scheduler does not know this queue: {words}",
        hint="`hackathon clusters NAME` lists the queues; so does `qstat -Q` or `sinfo`.",
    ),
    "queue_disabled": Message(
        "schedulers.queue_disabled",
        "The queue does not accept jobs now: {words}",
        hint="Choose another queue or try later.",
    ),
    "over_limit": Message(
        "schedulers.over_limit",
        "The request exceeds a limit of the queue or the server: {words}",
        hint="Use fewer nodes or a shorter walltime, or another queue.",
    ),
    "unknown_type": Message(
        "schedulers.unknown_type",
        "The scheduler does not know a resource that the header asks for: {words}",
        hint="If the queues of the cluster profile are queues and not resource types, set `dialect.queue: name` there. "
        "Check `directives` in the profile, too.",
    ),
    "unknown_pe": Message(
        "schedulers.unknown_pe",
        "The scheduler does not know this parallel environment: {words}",
        hint="`qconf -spl` lists them. Set `dialect.pe` in the cluster profile to one with a number as "
        "`allocation_rule`.",
    ),
    "unknown_resource": Message(
        "schedulers.unknown_resource",
        "The scheduler does not know a resource in the header: {words}",
        hint="The dialect in the cluster profile may not match this site (`gpu_request`, `cpu_request`).",
    ),
    "bad_value": Message(
        "schedulers.bad_value",
        "A value of the header is not accepted: {words}",
        hint="`hackathon render` shows the header that was submitted.",
    ),
    "bad_group": Message(
        "schedulers.bad_group",
        "The group or account is not accepted: {words}",
        hint="`--group` must be a group that you belong to and that may use this queue; `id` lists yours.",
    ),
    "bad_user": Message(
        "schedulers.bad_user",
        "This user may not submit jobs here: {words}",
        hint="Submit as yourself, not as root, from a login node.",
    ),
    "not_authorised": Message(
        "schedulers.not_authorised",
        "The scheduler does not allow this: {words}",
        hint="The queue may be reserved for other groups, or the job belongs to somebody else.",
    ),
    "user_limit": Message(
        "schedulers.user_limit",
        "You have as many jobs in the queue as the site allows: {words}",
        hint="Wait until a job ends; `scale --max-queued N` keeps to such a limit.",
    ),
    "bad_script": Message(
        "schedulers.bad_script",
        "The scheduler does not accept the script: {words}",
        hint="A directive has a comment behind it, an unknown option, or the file has Windows line ends.",
    ),
    "bad_options": Message("schedulers.bad_options", "The scheduler does not accept the options: {words}"),
    "bad_reservation": Message(
        "schedulers.bad_reservation",
        "The reservation is not accepted: {words}",
        hint="It may have ended, or your group is not in it.",
    ),
    "no_such_nodes": Message(
        "schedulers.no_such_nodes",
        "No node of this cluster can give what was asked for: {words}",
        hint="Check nodes, GPUs a node and memory against `hackathon clusters NAME`.",
    ),
    "no_data_area": Message(
        "schedulers.no_data_area",
        "The scheduler takes no jobs from this directory: {words}",
        hint="Submit from your group's data area, or set `dialect.no_check_directory: true` in the cluster profile.",
    ),
    "group_needed": Message(
        "schedulers.group_needed",
        "The group to charge is missing or not accepted: {words}",
        hint="`--group` must be a group of yours that may use this queue; where the site has `pjsub -g`, the cluster "
        "profile needs `dialect.group: g`.",
    ),
    "nqsv_interactive": Message(
        "schedulers.nqsv_interactive",
        "The queue is of another type than the job: {words}",
        hint="Batch jobs and interactive jobs (`hackathon shell`) have queues of their own; choose another one with "
        "--queue.",
    ),
    "unknown_job": Message("schedulers.unknown_job", "The scheduler does not know this job: {words}"),
    "not_set_up": Message(
        "schedulers.not_set_up",
        "The scheduler's commands are installed here, but no cluster is configured on this machine: {words}",
        hint="To run on this machine, add `--cluster laptop`. On a login node, load the module that the centre names, "
        "or set SLURM_CONF.",
    ),
}
"""What failed, as the parsers call it → message."""
