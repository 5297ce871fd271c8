"""Parse kubectl's output: the conditions of Jobs and pods.

Names of conditions and reasons are those of the Kubernetes API (batch/v1 Job, v1 Pod) and of the kubelet. Output of `-o
json` is one JSON document, so a truncated one is invalid.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from hackathon.schedulers.base import (
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
    CommandOutput,
    JobState,
    SchedulerError,
    StatusAnswer,
)
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.kubernetes.manifest import JOB, job_id
from hackathon.schedulers.reports import QueueInfo
from hackathon.schedulers.words import command, garbage, printable, words
from hackathon.text.json_fields import listed, mapping_of, text_of
from hackathon.text.messages import Message
from hackathon.text.numbers import digits, integer

_KUBERNETES_TEXTS = {
    "unauthorized": Message(
        "kubernetes.unauthorized",
        "The Kubernetes API server does not accept your credentials: {words}",
        hint="Log in to the cluster again as your site says, then check `kubectl get pods`.",
    ),
    "forbidden": Message(
        "kubernetes.forbidden",
        "The Kubernetes API server does not allow this: {words}",
        hint="Check `dialect.namespace` and its quota. You need the verbs create, get, list and delete on jobs and "
        "services, and get and list on pods: `kubectl auth can-i create jobs --namespace NAME`.",
    ),
    "invalid": Message(
        "kubernetes.invalid",
        "The Kubernetes API server does not accept the manifest: {words}",
        hint="`hackathon render --files` shows the manifest. Indexed Jobs need Kubernetes 1.24 or newer. If kubectl is "
        "older than the server and cannot read its schema, set `dialect.validation: false`.",
    ),
    "no_kind": Message(
        "kubernetes.no_kind",
        "The cluster does not have a kind of object that the job needs: {words}",
        hint="Check `dialect.gang`: Kueue, Volcano or scheduler-plugins may not be installed there.",
    ),
}

NEVER_STARTS = frozenset({
    "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
})  # fmt: skip
"""Reasons of a waiting container that somebody has to fix: it does not start by itself."""
NODE = frozenset({
    "Evicted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "Preempting", "NodeAffinity",
    "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods",
})  # fmt: skip
"""Reasons of a failed pod that are its node's fault."""
_REFUSED = re.compile(r"connection refused|was refused - did you specify")
"""The server was not reached."""
_AWAY = re.compile(
    r"connection reset|i/o timeout|TLS handshake timeout|Unable to connect to the server|no route to host"
    r"|network is unreachable|no such host|context deadline exceeded|request timed out|unexpected EOF|http2: "
    r"|net/http: |etcdserver|leader changed|currently unable to handle|ServiceUnavailable|TooManyRequests"
    r"|InternalError|\(Timeout\)|ServerTimeout",
    re.IGNORECASE,
)
_LOG = re.compile(r"[EWI]\d{4} \d\d:\d\d:")
_KINDS = (
    ("unauthorized", re.compile(r"\(Unauthorized\)|must be logged in|x509: |certificate (?:has expired|signed by)")),
    ("forbidden", re.compile(r"\(Forbidden\)| is forbidden: ")),
    ("invalid", re.compile(r"\(Invalid\)|\(BadRequest\)|error validating|strict decoding error|unknown field")),
    ("no_kind", re.compile(r"no matches for kind|doesn't have a resource type")),
)
"""Kind of a failure → message of the server, by its reason (`Error from server (Forbidden)`), or of kubectl."""


def failure(answer: CommandOutput, fallback: str = "failed") -> SchedulerError:
    """Return the error of a failed command; `transient` if the same command may succeed later."""
    answer = _without_log(answer)
    values: dict[str, Any] = {"command": command(answer), "code": answer.exit_code, "words": words(answer)}
    text = answer.stderr or answer.stdout
    for kind, pattern in _KINDS:
        if pattern.search(text):
            return SchedulerError(_KUBERNETES_TEXTS[kind], transient=False, words=values["words"])
    if _REFUSED.search(text) or _AWAY.search(text):
        return SchedulerError(
            "kubernetes.away",
            "The Kubernetes API server does not answer: {words}",
            hint="Try again in a few minutes. `kubectl config current-context` shows which cluster is asked.",
            transient=True,
            words=values["words"],
        )
    return SchedulerError(FAILURES[fallback], transient=False, **values)


def _without_log(answer: CommandOutput) -> CommandOutput:
    """Return the answer without kubectl's log lines (`E1123 15:56:07.801641 … memcache.go:265] …`), if more remains."""
    lines = [line for line in answer.stderr.splitlines() if not _LOG.match(line)]
    return replace(answer, stderr="\n".join(lines)) if lines else answer


# ---- a submission


def created(answer: CommandOutput) -> dict[str, tuple[str, str]]:
    """Return kind → (namespace, name) of the created objects in a submission's output."""
    names = (line.strip().split("/") for line in answer.stdout.splitlines())
    return {parts[0]: (parts[1], parts[2]) for parts in names if len(parts) == 3 and all(parts)}


def submitted_id(answer: CommandOutput) -> str:
    """Return the id of the Job. Raises SchedulerError when the Job or an object that it needs was not created.

    An existing Service is the job's own, from an interrupted submission.
    """
    objects_by_kind = created(answer)
    complaints = [line for line in answer.stderr.splitlines() if "rror" in line]
    existed = complaints and all("(AlreadyExists)" in line and "services " in line for line in complaints)
    if "Job" in objects_by_kind and (answer.exit_code == 0 or existed):
        return job_id(*objects_by_kind["Job"])
    if answer.exit_code == 0:
        raise garbage(answer)
    error = failure(answer, "refused")
    error.no_job = bool(
        "Job" not in objects_by_kind and _REFUSED.search(answer.stderr) and not _AWAY.search(answer.stderr)
    )
    raise error


def is_there_already(answer: CommandOutput) -> bool:
    """Return whether a submission failed because the Job exists: it belongs to another submission and must stay."""
    return "(AlreadyExists)" in answer.stderr and bool(re.search(r'jobs\.batch "', answer.stderr))


# ---- lists


def objects(answer: CommandOutput) -> list[dict[str, Any]]:
    """Return the objects of a list (`-o json`). Raises SchedulerError for a failure and for an incomplete list."""
    if answer.exit_code:
        raise failure(answer)
    try:
        content = json.loads(answer.stdout)
    except (ValueError, RecursionError):
        content = None
    items = mapping_of(content).get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise garbage(answer)
    return items


def found_ids(answer: CommandOutput) -> list[str]:
    """Return the ids of the Jobs of a list, oldest first."""
    jobs = [_meta(item) for item in objects(answer) if item.get("kind") == "Job"]
    jobs.sort(key=lambda meta: text_of(meta.get("creationTimestamp")))
    return [job_id(text_of(meta.get("namespace")), text_of(meta.get("name"))) for meta in jobs]


def _meta(item: dict[str, Any]) -> dict[str, Any]:
    return mapping_of(item.get("metadata"))


def _named(item: dict[str, Any], namespace: str) -> str:
    """Return the id of an object's job."""
    meta = _meta(item)
    name = meta.get("name") if item.get("kind") == "Job" else mapping_of(meta.get("labels")).get(JOB)
    return job_id(text_of(meta.get("namespace")) or namespace, text_of(name))


def status(answers: list[CommandOutput], namespaces: list[str], ids: dict[str, str]) -> StatusAnswer:
    """Return the jobs in the answers, one answer per namespace. `ids`: id as in the query → full id.

    If one namespace does not answer, its jobs are UNKNOWN with the reason; raises SchedulerError when none answers.
    """
    jobs: dict[str, dict[str, Any]] = {}
    pods: dict[str, list[dict[str, Any]]] = {}
    errors: dict[str, SchedulerError] = {}
    for namespace, answer in zip(namespaces, answers, strict=False):
        try:
            items = objects(answer)
        except SchedulerError as error:
            errors[namespace] = error
            continue
        for item in items:
            whole_id = _named(item, namespace)
            if item.get("kind") == "Job":
                jobs[whole_id] = item
            elif item.get("kind") == "Pod":
                pods.setdefault(whole_id, []).append(item)
    if errors and len(errors) == len(answers):
        raise next(iter(errors.values()))
    states = {}
    for written_id, whole_id in ids.items():
        failed = errors.get(whole_id.partition("/")[0])
        state = state_of(jobs.get(whole_id), pods.get(whole_id))
        if failed is not None:
            state = JobState(UNKNOWN, "", reason=str(failed))
        if state is not None:
            states[written_id] = state
    return StatusAnswer(states)


# ---- one job


def state_of(job: dict[str, Any] | None, pods: list[dict[str, Any]] | None) -> JobState | None:
    """Return the state of a job from its Job object and its pods; None when neither exists."""
    ranked = sorted(pods or [], key=_index)
    if job is None:
        # a deleted Job disappears at once, its pods when they have ended
        return JobState(ENDING, "Terminating", hosts=_hosts(ranked), started=_started(ranked)) if ranked else None
    name = text_of(_meta(job).get("name"))
    status_, spec = mapping_of(job.get("status")), mapping_of(job.get("spec"))
    facts: dict[str, Any] = {"name": name, "hosts": _hosts(ranked), "start": _began(ranked)}
    true = {
        text_of(condition.get("type")): condition
        for condition in _conditions(status_)
        if condition.get("status") == "True"
    }
    if "Complete" in true:
        end = _moment(status_.get("completionTime")) or _moment(true["Complete"].get("lastTransitionTime"))
        return JobState(SUCCEEDED, "Complete", exit_code=0, started=True, end=end, **facts)
    if "Failed" in true:
        return _failed(true["Failed"], ranked, facts)
    if _meta(job).get("deletionTimestamp") or true.keys() & {"FailureTarget", "SuccessCriteriaMet"}:
        return JobState(ENDING, "Terminating", started=_started(ranked), **facts)
    if spec.get("suspend") is True:
        why = text_of(true.get("Suspended", {}).get("message"))
        return JobState(HELD, "Suspended", reason=printable(why), **facts)
    return _open(ranked, integer(spec.get("completions")) or 1, facts)


def _open(pods: list[dict[str, Any]], completions: int, facts: dict[str, Any]) -> JobState:
    """Return the state of a job that has neither started nor ended, by its first pod."""
    phases = [_phase(pod) for pod in pods]
    reasons = list(dict.fromkeys(reason for pod in pods if (reason := _why_pending(pod))))
    never = any(_waits(pod)[0] in NEVER_STARTS for pod in pods)
    up = sum(phase in ("Running", "Succeeded") for phase in phases)
    first = next((phase for pod, phase in zip(pods, phases, strict=True) if _index(pod) == 0), None)
    if up and up < completions:
        reasons.insert(0, f"{up} of {completions} pods run")
    explanation = printable("; ".join(reasons))
    if first in ("Running", "Succeeded"):
        return JobState(RUNNING, "Running", reason=explanation, started=True, **facts)
    if first == "Failed":  # the Job's own condition follows shortly
        return JobState(ENDING, "Failed", reason=explanation, started=_started(pods), **facts)
    if first in ("Pending", None):
        return JobState(QUEUED, first or "no pod", reason=explanation, never_runs=never, **facts)
    return JobState(UNKNOWN, first, reason=explanation, **facts)


def _failed(condition: dict[str, Any], pods: list[dict[str, Any]], facts: dict[str, Any]) -> JobState:
    """Return why a Job failed: its own reason, else that of a pod."""
    reason = text_of(condition.get("reason"))
    ends = [end for pod in pods if (end := _terminated(pod))]
    bad = [end for end in ends if integer(end.get("exitCode")) not in (0, None)]
    finished = max((moment for end in ends if (moment := _moment(end.get("finishedAt")))), default=None)
    facts |= {"end": finished or _moment(condition.get("lastTransitionTime")), "started": _started(pods)}
    pods_by_reason = {text_of(mapping_of(pod.get("status")).get("reason")): pod for pod in pods}
    disrupted = [condition for pod in pods for condition in _conditions(mapping_of(pod.get("status")))
                 if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True"]  # fmt: skip

    def says(pod: dict[str, Any]) -> str:
        return printable(text_of(mapping_of(pod.get("status")).get("message")))

    message = printable(text_of(condition.get("message")))
    if reason == "DeadlineExceeded" or "DeadlineExceeded" in pods_by_reason:
        why = says(pods_by_reason["DeadlineExceeded"]) if "DeadlineExceeded" in pods_by_reason else message
        return JobState(TIMEOUT, "DeadlineExceeded", reason=why, **facts)
    if lost := sorted(NODE & pods_by_reason.keys()):
        return JobState(NODE_FAILED, lost[0], reason=says(pods_by_reason[lost[0]]), **facts)
    if disrupted:
        why = printable(text_of(disrupted[0].get("message")))
        return JobState(NODE_FAILED, text_of(disrupted[0].get("reason")) or "DisruptionTarget", reason=why, **facts)
    # 143 means that it was asked to stop; kubelets have reported that as OOMKilled, too (kubernetes/kubernetes#140716)
    if any(end.get("reason") == "OOMKilled" and end.get("exitCode") != 143 for end in bad):
        return JobState(OUT_OF_MEMORY, "OOMKilled", exit_code=137, signal=9, **facts)
    code = integer(bad[0].get("exitCode")) if bad else None
    signal = code - 128 if code is not None and 128 < code < 193 else None
    return JobState(FAILED, reason or "Failed", reason=message, exit_code=code, signal=signal, **facts)


def _conditions(status_: dict[str, Any]) -> list[dict[str, Any]]:
    return [condition for condition in listed(status_.get("conditions")) if isinstance(condition, dict)]


def _phase(pod: dict[str, Any]) -> str:
    return text_of(mapping_of(pod.get("status")).get("phase")) or "Unknown"


def _index(pod: dict[str, Any]) -> int:
    meta = _meta(pod)
    key = "batch.kubernetes.io/job-completion-index"
    text = mapping_of(meta.get("annotations")).get(key) or mapping_of(meta.get("labels")).get(key)
    number = digits(text, 8) if isinstance(text, str) else None
    return 10**9 if number is None else number


def _containers(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for container in listed(mapping_of(pod.get("status")).get("containerStatuses")):
        yield mapping_of(mapping_of(container).get("state"))


def _waits(pod: dict[str, Any]) -> tuple[str, str]:
    """Return why a container of a pod waits, as its reason and message."""
    for state in _containers(pod):
        waiting = mapping_of(state.get("waiting"))
        if waiting.get("reason"):
            return text_of(waiting["reason"]), text_of(waiting.get("message"))
    return "", ""


def _why_pending(pod: dict[str, Any]) -> str:
    """Return why a pod does not run: its container's reason for waiting, else why no node accepts it."""
    reason, message = _waits(pod)
    if reason and reason not in ("ContainerCreating", "PodInitializing"):
        return f"{reason}: {message}" if message else reason
    for condition in _conditions(mapping_of(pod.get("status"))):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return text_of(condition.get("message")) or text_of(condition.get("reason"))
    return reason


def _terminated(pod: dict[str, Any]) -> dict[str, Any]:
    return next((end for state in _containers(pod) if (end := mapping_of(state.get("terminated")))), {})


def _started(pods: list[dict[str, Any]]) -> bool | None:
    """Return whether a container of the job ever ran; None when no pod remains."""
    if not pods:
        return None
    return any(state.get("running") or state.get("terminated") for pod in pods for state in _containers(pod))


def _began(pods: list[dict[str, Any]]) -> float | None:
    """Return when the first pod's container started."""
    for pod in pods[:1]:
        for state in _containers(pod):
            for kind in ("running", "terminated"):
                if moment := _moment(mapping_of(state.get(kind)).get("startedAt")):
                    return moment
    return None


def _hosts(pods: list[dict[str, Any]]) -> tuple[str, ...]:
    named = (text_of(mapping_of(pod.get("spec")).get("nodeName")) for pod in pods)
    return tuple(dict.fromkeys(name for name in named if name))


def _moment(value: object) -> float | None:
    """Return seconds since 1970 of a time of the API (RFC 3339)."""
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


# ---- queues


def queues(answer: CommandOutput, namespace: str) -> list[QueueInfo]:
    """Return the LocalQueues of Kueue, the Queues of Volcano, or else the namespace with the rest of its quota."""
    items = objects(answer)
    quotas = [item for item in items if item.get("kind") == "ResourceQuota"]
    if quotas or not items:
        return [QueueInfo(namespace, note=printable("; ".join(limit for quota in quotas for limit in _used(quota))))]
    infos = []
    for item in items:
        now = mapping_of(item.get("status"))
        running = integer(now.get("admittedWorkloads", now.get("running")))
        queued = integer(now.get("pendingWorkloads", now.get("pending")))
        closed = now.get("state") not in (None, "Open")  # Volcano's word
        infos.append(QueueInfo(text_of(_meta(item).get("name")), enabled=not closed, running=running, queued=queued))
    return infos


def _used(quota: dict[str, Any]) -> Iterator[str]:
    now = mapping_of(quota.get("status"))
    used = mapping_of(now.get("used"))
    for name, most in mapping_of(now.get("hard")).items():
        yield f"{text_of(name)} {text_of(used.get(name)) or '?'}/{text_of(most)}"
