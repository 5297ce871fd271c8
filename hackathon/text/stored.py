"""The texts of what records keep by an id and its values, and what other processes answer by one.

`tell("runs.cause_exit", exit_code=1)` keeps the id. It is read by other processes, in other languages and by later
versions, so that an id that was ever written stays here. Its English may be reworded.
"""

from hackathon.text.messages import NP_, Message

STORED: dict[str, Message] = {
    str(message): message
    for message in (
        Message(
            "capture.no_torch",
            "{python} cannot import torch: {words}",
            hint="Activate the environment in which your model runs, and try again.",
        ),
        Message("capture.old_python", "{python} is Python {version}; capturing a model needs Python 3.11 or newer"),
        Message("data.file_changed", "{name}: a file differs from what was fetched"),
        Message("data.file_missing", "{name}: a file is missing"),
        Message("data.is_missing", "{name}: not fetched, or project.yaml has changed since"),
        Message(
            "logs.bad_pattern",
            "the pattern of metric {name} is not a regular expression: {error}: {pattern}",
            hint="put one group around the number, for example 'throughput: ([0-9.]+)', in single quotes in YAML",
        ),
        Message(
            "logs.endless_pattern",
            "the pattern of metric {name} may take forever on a line that almost matches: {pattern}",
            hint="do not repeat a repetition or a choice: 'a+' instead of '(a+)+'",
        ),
        Message(
            "logs.slow_pattern",
            "the search for the metric patterns of project {project} took too long and was stopped ({names}, "
            "run {run})",
            hint="in the metrics of project.yaml, write the words around the number, and only one repetition: "
            "'throughput: ([0-9.]+)'",
        ),
        Message("ready.account_is", "{user} on {host}, groups {groups}"),
        Message("ready.baseline_is", "run {run}: {value} on one GPU ({gpu})"),
        Message("ready.baseline_no_gpu", "run {run}: {value} with one process, but its node listed no GPU"),
        Message("ready.baseline_none", "no one-process run with a throughput has succeeded on {cluster}"),
        Message(
            "ready.baseline_silent", "the one-process run {run} succeeded, but no throughput was found in its output"
        ),
        Message("ready.baseline_without_gpu", "run {run}: {value} with one process (nodes without GPUs)"),
        Message("ready.built", "{path} ({variant}, built {date})"),
        Message("ready.check_bad", NP_("ready", "run {run}: {metric} = {value}, required: {rule}")),
        Message("ready.check_is", "run {run}: {metric} = {value}, required: {rule}"),
        Message("ready.check_read", "run {run}: {metric} = {value} was recorded; project.yaml has no `check:`"),
        Message(
            "ready.check_silent", "run {run} succeeded, but the value that the check needs was not found in its output"
        ),
        Message("ready.data_none", "project.yaml declares no data, and no run has succeeded yet"),
        Message("ready.data_none_recipe", "recipe {recipe} needs no data"),
        Message(
            "ready.data_none_run", "project.yaml declares no data; run {run} succeeded with what the program reads"
        ),
        Message("ready.data_not_from_node", "not checked from a compute node"),
        Message("ready.data_other", "{count} {count:file differs|files differ} on {host}, or changed since: {path}"),
        Message(
            "ready.data_seen", "{count} {count:file was|files were} read with the same content on {host} (run {run})"
        ),
        Message("ready.data_sizes", "{names}: complete; the sizes of all files match"),
        Message("ready.data_unseen", "cannot read {count} {count:file|files} on {host}: {path}: {why}"),
        Message("ready.data_whole", "{names}: complete; the checksums of all files match"),
        Message("ready.environment_changed", "the environment or the imports have changed since job {run}"),
        Message("ready.group_is", "in the team's group {group}"),
        Message("ready.group_not", "not in the team's group {group}"),
        Message("ready.group_paid", "the job was charged to the team's group {group}"),
        Message(
            "ready.group_unknown",
            "the team's group {group} is not a Unix group on this machine, and no job was charged to it yet",
        ),
        Message(
            "ready.import_failed",
            "cannot import {count} {count:package|packages} on {host} (Python {python}): {name}: {why}",
        ),
        Message("ready.imported", "Python {python} on {host} imports {packages}"),
        Message("ready.imported_nothing", "Python {python} on {host}; the program imports only the standard library"),
        Message("ready.job_failed", "run {run} (job {job}): {state}"),
        Message("ready.job_open", "run {run} (job {job}) is {state}: wait for it"),
        Message("ready.job_ran", "run {run} (job {job}) took {seconds} s on {host}, after {waited} s in the queue"),
        Message("ready.job_silent", "run {run} (job {job}) finished without writing its results"),
        Message(
            "ready.job_slow", "run {run} (job {job}) took {seconds} s on {host}; it should take less than {limit} s"
        ),
        Message("ready.member_of", "member of {team}"),
        Message("ready.no_event", "hackathon.yaml was not found"),
        Message("ready.no_good_run", "no run has succeeded on {cluster} yet"),
        Message("ready.no_gpu_seen", "the framework sees no GPU on {host}, although it has {gpus}"),
        Message("ready.no_job", "no job was submitted, and there is no earlier one"),
        Message("ready.no_member", "you are not in any team of hackathon.yaml"),
        Message("ready.not_imported", "imports were not tested on a compute node"),
        Message("ready.tutors_closed", "{users} cannot read: {path}"),
        Message("ready.tutors_no_team", "your team is not known, so neither are its tutors"),
        Message("ready.tutors_none", "the team has no tutor in hackathon.yaml yet"),
        Message("ready.tutors_read", "{users} can read {path} and its runs ({count} checked)"),
        Message("ready.tutors_unknown", "no such account on this machine: {users}"),
        Message("ready.tutors_unseen", "permissions could not be checked: {what}"),
        Message("runs.cause_cancelled", NP_("runs", "cancelled")),
        Message("runs.cause_exit", "exit code {exit_code}"),
        Message("runs.cause_lost", "the scheduler no longer knows the job"),
        Message("runs.cause_memory", "out of memory"),
        Message("runs.cause_never_runs", "can never start"),
        Message("runs.cause_never_started", "never started"),
        Message("runs.cause_no_cause", "finished; the scheduler gives no cause"),
        Message("runs.cause_no_trace", "the job ran but wrote nothing into the run directory"),
        Message("runs.cause_node", "a node failed"),
        Message("runs.cause_preflight_failed", "not started"),
        Message("runs.cause_refused", "refused by the scheduler"),
        Message("runs.cause_signal", "killed by signal {signal}"),
        Message("runs.cause_uncertain", "the submission was interrupted; no job of this name is found"),
        Message("runs.cause_unsearched", "the submission was interrupted; its job could not be searched for"),
        Message("runs.cause_walltime", NP_("runs", "walltime reached")),
        Message("runs.first_rank_exit", "rank {rank} on {host} failed first, exit code {code}"),
        Message("runs.first_rank_signal", "rank {rank} on {host} was killed first, by signal {signal}"),
        Message(
            "runs.first_rank_vanished",
            "a process on {host} (rank {rank}) was the first to stop, without output (killed together with "
            "its shell or node)",
        ),
        Message(
            "runs.newer_record",
            "run {run} was made by a newer hackathon ({toolkit}, records of version {version}), which this "
            "one cannot read",
            hint="Update hackathon: `hackathon docs install` shows how.",
        ),
        Message("watch.broken", "cannot read the files of this run"),
    )
}
"""Id → message."""
