"""What kubectl prints and what it means: recorded answers of two kubectls, and objects as the API documents them.

No answer here is of a real cluster: kubectl is real, the server was the tests' emulator.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.schedulers.base import CommandOutput, JobState, SchedulerError, Submission
from hackathon.schedulers.kubernetes import parse
from hackathon.schedulers.kubernetes.commands import Kubernetes
from hackathon.schedulers.kubernetes.dialect import KubernetesDialect, Volume
from support.truncated.kubernetes import ID, VERSIONS, recorded

K8S = Kubernetes(KubernetesDialect(validation=False))


@pytest.fixture(params=VERSIONS)
def answers(request: pytest.FixtureRequest) -> dict[str, list[CommandOutput]]:
    """The answers by the verb of the command."""
    found: dict[str, list[CommandOutput]] = {}
    for answer in recorded(request.param):
        found.setdefault(answer.argv[1], []).append(answer)
    return found


def state(answer: CommandOutput) -> JobState | None:
    return K8S.parse_status([answer], [ID]).jobs.get(ID)


def refused(answer: CommandOutput) -> SchedulerError:
    with pytest.raises(SchedulerError) as caught:
        K8S.parse_submit(answer)
    return caught.value


# ---- recorded


def test_recorded_commands_are_those_that_are_run(answers: dict[str, list[CommandOutput]]) -> None:
    run = Path("/work/RUN")
    submission = Submission(run / "job.sh", run, "hk-abcdefgh", run / "o")
    assert {tuple(K8S.submit_argv(submission))} == {answer.argv for answer in answers["create"]}
    assert {tuple(K8S.cancel_argv(ID))} == {answer.argv for answer in answers["delete"]}
    asked = {answer.argv for answer in answers["get"]}
    wanted = {tuple(argv) for argv in (*K8S.status_argv([ID]), *K8S.find_argv("hk-abcdefgh"), K8S.queues_argv())}
    assert wanted <= asked


def test_recorded_submissions(answers: dict[str, list[CommandOutput]]) -> None:
    forbidden, service_there, both_there, away = answers["create"]
    error = refused(forbidden)
    assert (error.id, error.transient, error.exit_code, error.no_job) == ("kubernetes.forbidden", False, 2, False)
    assert K8S.undo_argv(forbidden) == [K8S.cancel_argv(ID)]  # the Service was made before the Job was refused
    assert K8S.parse_submit(service_there) == ID  # the Service of a submission that was cut off
    assert refused(both_there).id == "schedulers.refused" and K8S.undo_argv(both_there) == []  # another one's job
    error = refused(away)
    assert (error.id, error.transient, error.no_job) == ("kubernetes.away", True, True)
    assert K8S.undo_argv(away) == []


def test_recorded_lists(answers: dict[str, list[CommandOutput]]) -> None:
    nothing, unnamed, queued, quotas, forbidden, unknown, no_kind, away = answers["get"]
    assert state(nothing) is None and K8S.parse_find([unnamed]) == []
    found = state(queued)
    assert found is not None and (found.state, found.name, found.never_runs) == ("QUEUED", "hk-abcdefgh", False)
    assert found.reason == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    assert K8S.parse_find([replace(queued, argv=unnamed.argv)]) == [ID]
    assert [queue.name for queue in K8S.parse_queues(quotas)] == ["default"]
    for answer, word, transient in (
        (forbidden, "kubernetes.forbidden", False), (unknown, "schedulers.failed", False),
        (no_kind, "kubernetes.no_kind", False), (away, "kubernetes.away", True),
    ):  # fmt: skip
        with pytest.raises(SchedulerError) as caught:
            state(answer)
        assert (caught.value.id, caught.value.transient) == (word, transient)


def test_recorded_cancellations(answers: dict[str, list[CommandOutput]]) -> None:
    unknown, told, away = answers["delete"]
    assert (K8S.parse_cancel(unknown), K8S.parse_cancel(told)) == (False, True)
    with pytest.raises(SchedulerError) as caught:
        K8S.parse_cancel(away)
    assert caught.value.transient


# ---- states


def job(*conditions: dict[str, Any], pods: int = 2, **more: Any) -> dict[str, Any]:
    meta = {"name": "hk-abcdefgh", "namespace": "default", **more.pop("metadata", {})}
    spec = {"completions": pods, **more}
    status = {"startTime": "2026-11-23T10:00:00Z", "conditions": list(conditions)}
    return {"kind": "Job", "apiVersion": "batch/v1", "metadata": meta, "spec": spec, "status": status}


def pod(index: int, phase: str, container: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    key = "batch.kubernetes.io/job-completion-index"
    meta = {"name": f"hk-abcdefgh-{index}-x", "namespace": "default", "labels": {"hackathon/job": "hk-abcdefgh"}}
    found = {"phase": phase, **status, **({"containerStatuses": [{"state": container}]} if container else {})}
    spec = {"nodeName": f"gpu{index}"} if phase != "Pending" else {}
    return {"kind": "Pod", "metadata": {**meta, "annotations": {key: str(index)}}, "spec": spec, "status": found}


def true(kind: str, reason: str = "", message: str = "") -> dict[str, Any]:
    made = {"type": kind, "status": "True", "lastTransitionTime": "2026-11-23T10:05:00Z"}
    return {**made, "reason": reason, "message": message}


def asked(*items: dict[str, Any]) -> JobState | None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    return state(CommandOutput(("kubectl", "get"), 0, text, ""))


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    times = {"startedAt": "2026-11-23T10:00:10Z", "finishedAt": "2026-11-23T10:04:50Z"}
    return {"terminated": {"exitCode": code, "reason": reason, **times}}


RUNNING = {"running": {"startedAt": "2026-11-23T10:00:10Z"}}
PENDING = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                           "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."}]}  # fmt: skip
BACKOFF = true("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}}
DISRUPTED = true("DisruptionTarget", "TerminationByKubelet", "The node was low on resource: memory.")


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([job()], {"state": "QUEUED", "raw": "no pod", "never_runs": False}),
        ([job(), pod(0, "Pending", **PENDING)], {"state": "QUEUED", "reason": PENDING["conditions"][0]["message"]}),
        ([job(), pod(0, "Pending", {"waiting": {"reason": "ContainerCreating"}})],
         {"state": "QUEUED", "reason": "ContainerCreating", "never_runs": False}),
        ([job(), pod(0, "Pending", PULL)],
         {"state": "QUEUED", "never_runs": True, "reason": 'ImagePullBackOff: Back-off pulling image "x"'}),
        ([job(true("Suspended", "JobSuspended", "Job suspended"), suspend=True)],
         {"state": "HELD", "reason": "Job suspended"}),
        ([job(), pod(0, "Running", RUNNING), pod(1, "Running", RUNNING)],
         {"state": "RUNNING", "reason": "", "hosts": ("gpu0", "gpu1"), "started": True, "start": 1795428010.0}),
        ([job(), pod(0, "Running", RUNNING), pod(1, "Pending", **PENDING)],
         {"state": "RUNNING", "reason": f"1 of 2 pods run; {PENDING['conditions'][0]['message']}"}),
        ([job(), pod(1, "Running", RUNNING), pod(0, "Pending", **PENDING)],  # the first pod is the job
         {"state": "QUEUED", "reason": f"1 of 2 pods run; {PENDING['conditions'][0]['message']}"}),
        ([job(), pod(0, "Failed", ended(1))], {"state": "ENDING"}),
        ([job(), pod(0, "Unknown")], {"state": "UNKNOWN", "raw": "Unknown"}),
        ([job(metadata={"deletionTimestamp": "x"}), pod(0, "Running", RUNNING)], {"state": "ENDING"}),
        ([pod(0, "Running", RUNNING)], {"state": "ENDING", "started": True}),  # deleted, and its pod still ends
        ([job(true("FailureTarget", "BackoffLimitExceeded")), pod(0, "Running", RUNNING)], {"state": "ENDING"}),
        ([job(true("SuccessCriteriaMet"), true("Complete")), pod(0, "Succeeded", ended(0, "Completed"))],
         {"state": "SUCCEEDED", "exit_code": 0, "end": 1795428300.0}),
        ([job(BACKOFF), pod(0, "Failed", ended(3))],
         {"state": "FAILED", "exit_code": 3, "signal": None, "reason": BACKOFF["message"], "end": 1795428290.0}),
        ([job(BACKOFF), pod(0, "Failed", ended(143))], {"state": "FAILED", "exit_code": 143, "signal": 15}),
        ([job(BACKOFF), pod(0, "Failed", ended(137)), pod(1, "Failed", ended(137, "OOMKilled"))],
         {"state": "OUT_OF_MEMORY", "exit_code": 137, "signal": 9}),
        ([job(BACKOFF), pod(0, "Failed", ended(143, "OOMKilled"), conditions=[DISRUPTED])],
         {"state": "NODE_FAILED", "raw": "TerminationByKubelet", "reason": "The node was low on resource: memory."}),
        ([job(BACKOFF), pod(0, "Failed", reason="Evicted", message="The node was low on resource: memory.")],
         {"state": "NODE_FAILED", "raw": "Evicted", "started": False}),
        ([job(true("Failed", "DeadlineExceeded", "Job was active longer than specified deadline"))],
         {"state": "TIMEOUT", "reason": "Job was active longer than specified deadline", "started": None}),
        ([job(BACKOFF), pod(0, "Failed", ended(137), reason="DeadlineExceeded", message="Pod was active on the node")],
         {"state": "TIMEOUT", "reason": "Pod was active on the node"}),
        ([job(BACKOFF)], {"state": "FAILED", "exit_code": None, "started": None}),
    ],
)  # fmt: skip
def test_states(items: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    found = asked(*items)
    assert found is not None
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_absent_only_from_a_whole_list() -> None:
    assert asked() is None and asked(job(metadata={"name": "hk-another2"})) is None
    assert asked(job(metadata={"namespace": "other"})) is None  # a name is unique in its namespace only
    for text in ("", "{}", "null", "[]", '{"items": {}}', '{"items": [1]}', "[" * 100_000):
        with pytest.raises(SchedulerError):
            state(CommandOutput(("kubectl",), 0, text, ""))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["state", "terminated", "waiting", "running", "reason", "conditions", "phase", "exitCode",
                         "status", "type", "message", "containerStatuses", "startedAt", "labels"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON, JSON)
def test_odd_objects_do_no_harm(job_status: Any, pod_status: Any) -> None:
    found = asked({**job(), "status": job_status}, {**pod(0, "Running"), "status": pod_status})
    assert found is not None and found.state in parse_states()


def parse_states() -> set[str]:
    return {getattr(parse, name) for name in ("ENDING", "FAILED", "HELD", "NODE_FAILED", "OUT_OF_MEMORY", "QUEUED",
                                              "RUNNING", "SUCCEEDED", "TIMEOUT", "UNKNOWN")}  # fmt: skip


def test_a_namespace_that_does_not_answer_leaves_its_jobs_unknown() -> None:
    ids = [ID, "team-b/hk-bbbbbbbb"]
    argvs = K8S.status_argv(ids)
    assert [argv[argv.index("--namespace") + 1] for argv in argvs] == ["default", "team-b"]
    good = CommandOutput(tuple(argvs[0]), 0, json.dumps({"items": [job()]}), "")
    bad = CommandOutput(tuple(argvs[1]), 1, "", 'Error from server (Forbidden): pods is forbidden: User "x" …')
    found = K8S.parse_status([good, bad], ids).jobs
    assert found[ID].state == "QUEUED"
    assert found[ids[1]].state == "UNKNOWN" and "does not allow" in found[ids[1]].reason
    with pytest.raises(SchedulerError):
        K8S.parse_status([replace(good, exit_code=1, stdout=""), bad], ids)


# ---- failures by their words, ids, queues


@pytest.mark.parametrize(
    ("words", "kind", "transient"),
    [
        ("Unable to connect to the server: net/http: TLS handshake timeout", "away", True),
        ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "away", True),
        ("Error from server (ServiceUnavailable): the server is currently unable to handle the request", "away", True),
        ("Error from server (Timeout): Timeout: request did not complete within requested timeout", "away", True),
        ("Error from server: etcdserver: request timed out", "away", True),
        ("Unable to connect to the server: x509: certificate has expired", "unauthorized", False),
        ("error: You must be logged in to the server (Unauthorized)", "unauthorized", False),
        ('Error from server (Invalid): error when creating "job.yaml": Job.batch "x" is invalid', "invalid", False),
        ('error: error validating "job.yaml": error validating data: unknown field', "invalid", False),
        ('resource mapping not found: no matches for kind "PodGroup" in version "x/v1"', "no_kind", False),
    ],
)
def test_failures_are_told_apart_by_their_words(words: str, kind: str, transient: bool) -> None:
    error = refused(CommandOutput(("kubectl", "create"), 1, "", words))
    assert (error.id, error.transient) == (f"kubernetes.{kind}", transient)
    assert not error.no_job  # a connection that was lost may have carried the request


def test_log_of_kubectl_hides_no_words() -> None:
    log = 'E1123 15:56:07.801641   21309 memcache.go:265] "Unhandled Error" err="…"\n'
    words = "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
    error = refused(CommandOutput(("kubectl", "create"), 1, "", log + words))
    assert words in error.message and "memcache" not in error.message
    assert "memcache" in refused(CommandOutput(("kubectl", "create"), 1, "", log)).message


def test_nothing_but_an_id_reaches_a_command() -> None:
    for text in (ID, "team-a/hk-a2345678", "a/b"):
        assert K8S.is_id(text)
    for text in ("hk-a2345678", "-n/x", "a/-f", "a/b/c", "A/b", "a/b,c", "a/b c", "a/" + "b" * 64, "/x", "a/", "a/b\n"):
        assert not K8S.is_id(text)


def test_commands_name_context_and_gang() -> None:
    scheduler = Kubernetes(KubernetesDialect(context="lab", gang="volcano", namespace="team-a"))
    assert scheduler.cancel_argv("team-a/x")[:4] == ["kubectl", "--context", "lab", "delete"]
    assert "podgroups.scheduling.volcano.sh" in scheduler.cancel_argv("team-a/x")[4]
    assert "queues.scheduling.volcano.sh" in scheduler.queues_argv()
    run = Path("/work/r")
    argv = Kubernetes().submit_argv(Submission(run / "job.sh", run, "hk-x", run / "o"))
    assert not any("validate" in word for word in argv)
    assert not Kubernetes().supports_after("any") and KubernetesDialect().has_launcher("torchrun")
    assert not any(KubernetesDialect().has_launcher(each) for each in ("mpirun", "srun", "horovodrun"))


def test_queues_of_kueue_and_what_is_left_of_a_quota() -> None:
    def listed(*items: dict[str, Any]) -> CommandOutput:
        return CommandOutput(("kubectl",), 0, json.dumps({"items": items}), "")

    local = {
        "kind": "LocalQueue",
        "metadata": {"name": "team"},
        "status": {"pendingWorkloads": 3, "admittedWorkloads": 2},
    }
    (found,) = K8S.parse_queues(listed(local))
    assert (found.name, found.queued, found.running, found.enabled) == ("team", 3, 2, True)
    (found,) = K8S.parse_queues(listed({"kind": "Queue", "metadata": {"name": "q"}, "status": {"state": "Closed"}}))
    assert not found.enabled
    hard = {"hard": {"requests.nvidia.com/gpu": "8"}, "used": {"requests.nvidia.com/gpu": "3"}}
    (found,) = K8S.parse_queues(listed({"kind": "ResourceQuota", "metadata": {"name": "n"}, "status": hard}))
    assert (found.name, found.note) == ("default", "requests.nvidia.com/gpu 3/8")


def test_volume_is_a_record_of_the_profile() -> None:
    made = KubernetesDialect.of({"volume": {"claim": "c", "path": "/work"}, "gang": "kueue", "image": 7})
    assert (made.volume, made.gang, made.image) == (Volume("/work", "c"), "kueue", None)
