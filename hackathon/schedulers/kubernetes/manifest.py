"""The manifest of a job: `job.yaml.j2`, filled with values that Python encodes as JSON."""

import contextlib
import getpass
import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hackathon.schedulers.base import Submission
from hackathon.schedulers.dialect import Header
from hackathon.schedulers.kubernetes.dialect import KubernetesDialect
from hackathon.text.errors import RequestError
from hackathon.text.printable import printable

(NAME,) = KubernetesDialect.file_names
JOB = "hackathon/job"
"""Label of all objects of a job; its value is the job's name."""
LABELS = {"app.kubernetes.io/managed-by": "hackathon"}
QUEUE = "kueue.x-k8s.io/queue-name"
SCHEDULERS = {"volcano": "volcano", "scheduler-plugins": "scheduler-plugins-scheduler"}
"""Gang → name of the scheduler for its PodGroup in its own installation."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON allows in a string but YAML 1.2 does not (5.1 Character Set), or reads as a line end."""


def manifest(dialect: KubernetesDialect, submission: Submission, header: Header) -> str:
    """Return the text of `job.yaml`: a headless Service (for several pods) and an Indexed Job.

    Raises RequestError when the profile has no image or volume, or when the run is not on the volume.
    """
    if dialect.image is None or dialect.volume is None:
        raise RequestError(
            "kubernetes.incomplete",
            "The cluster profile has no `dialect.{key}`, so no pod can run the job.",
            hint="Set `dialect.image` and `dialect.volume: {{claim: NAME, path: /FOLDER}}` in a copy of the profile.",
            key="volume" if dialect.image else "image",
        )
    inside = os.path.relpath(os.path.realpath(submission.directory), os.path.realpath(dialect.volume.path))
    if inside.split("/")[0] == "..":
        raise RequestError(
            "kubernetes.not_on_volume",
            "{folder} is not on the volume that the pods mount ({path}).",
            hint="Move the project below {path}. The volume must be mounted there on this machine and in the pods "
            "alike.",
            folder=printable(str(submission.directory)),
            path=dialect.volume.path,
        )
    directory = os.path.join(dialect.volume.path, inside)  # noqa: PTH118
    return _filled(_values(dialect, dialect.image, submission.name, directory, header))


def _values(dialect: KubernetesDialect, image: str, name: str, directory: str, header: Header) -> dict[str, Any]:
    several = header.nodes > 1
    selector = {JOB: name}
    labels = {**LABELS, **selector}
    grouped = several and dialect.gang == "scheduler-plugins"
    queued = {QUEUE: header.queue} if dialect.gang == "kueue" else {}
    group = {"scheduling.x-k8s.io/pod-group": name} if grouped else {}
    annotations: dict[str, str | None] = {}
    if dialect.gang == "volcano":  # Volcano creates the PodGroup of a Job with one pod
        key = "scheduling.k8s.io/group-name" if several else "scheduling.volcano.sh/queue-name"
        annotations = {key: name if several else header.queue}
    return {
        "name": name,
        "namespace": dialect.namespace,
        "nodes": header.nodes,
        "queue": header.queue,
        "gang": dialect.gang,
        "selector": selector,
        "labels": labels,
        "job_labels": {**labels, **queued},
        "pod_labels": {**labels, **group},
        "annotations": {key: value for key, value in annotations.items() if value},
        "deadline": header.walltime + dialect.startup,
        "grace": dialect.grace,
        "scheduler_name": dialect.scheduler_name or SCHEDULERS.get(dialect.gang),
        "priority_class": dialect.priority_class,
        "node_selector": dialect.node_selector,
        "tolerations": [_given(asdict(toleration)) for toleration in dialect.tolerations],
        "image_pull_secrets": [{"name": secret} for secret in dialect.image_pull_secrets],
        "image_pull_policy": dialect.image_pull_policy,
        "security": _security(dialect),
        "image": image,
        "command": ["bash", _unexpanded(f"{directory}/job.sh")],
        "directory": directory,
        "variables": [
            {"name": key, "value": _unexpanded(value)} for key, value in _variables(dialect, name, directory).items()
        ],
        "resources": _resources(dialect, header),
        **_volumes(dialect),
    }


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _security(dialect: KubernetesDialect) -> dict[str, Any]:
    """Return the account of the pods: otherwise they run as root, and the run's files belong to root."""
    user = os.getuid() if dialect.run_as_user == "auto" else dialect.run_as_user
    group = os.getgid() if dialect.run_as_group == "auto" else dialect.run_as_group
    context: dict[str, Any] = {"runAsUser": user, "runAsGroup": group, "fsGroup": group}
    # otherwise the kubelet checks every file of a large volume before the pod starts
    context["fsGroupChangePolicy"] = "OnRootMismatch"
    if dialect.supplemental_groups:
        context["supplementalGroups"] = list(dialect.supplemental_groups)
    return context


def _variables(dialect: KubernetesDialect, name: str, directory: str) -> dict[str, str]:
    """Return the variables of the script, and those that programs need for an account unknown to the image."""
    return {
        "HACKATHON_JOB_ID": job_id(dialect.namespace, name),
        "HACKATHON_JOB_NAME": name,
        "HACKATHON_SUBMIT_DIR": directory,
        "HOME": "/tmp",
        "USER": _user(),
    }


def _user() -> str:
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return str(os.getuid())


def job_id(namespace: str, name: str) -> str:
    """Return the id of a job: a name is unique only in its namespace."""
    return f"{namespace}/{name}"


def _resources(dialect: KubernetesDialect, header: Header) -> dict[str, Any]:
    """Return limits, which are requests as well; processors have a request without a limit."""
    limits: dict[str, Any] = dict(dialect.resources)
    if header.gpus_per_node:
        limits[dialect.gpu_resource] = header.gpus_per_node
    if header.memory:
        limits["memory"] = f"{header.mebibytes}Mi"
    resources: dict[str, Any] = {"limits": limits} if limits else {}
    if dialect.cpu_request == "cpu":
        resources["requests"] = {"cpu": header.processes_per_node * header.threads}
    return resources


def _volumes(dialect: KubernetesDialect) -> dict[str, Any]:
    volume = dialect.volume
    assert volume is not None
    shm = {"medium": "Memory", **({"sizeLimit": dialect.shm_size} if dialect.shm_size else {})}
    claimed = volume.claim is not None
    source = {"claimName": volume.claim} if claimed else {"path": volume.host_path, "type": "Directory"}
    return {
        "mount": volume.path,
        "volume_kind": "persistentVolumeClaim" if claimed else "hostPath",
        "volume": source,
        "shm": shm,
    }


def _unexpanded(text: str) -> str:
    """Return a word of a command or a variable's value that Kubernetes does not expand: it replaces `$(NAME)`."""
    return text.replace("$", "$$")


def _encoded(value: object) -> str:
    """Return a value as JSON that is also YAML 1.2. Raises RequestError for invalid text."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(
            "kubernetes.not_utf8",
            "A name that goes into the manifest is not valid UTF-8: {value}",
            hint="Rename the folder of the project.",
            value=printable(text),
        ) from None
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _filled(values: dict[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(finalize=_encoded, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(Path(__file__).with_name("job.yaml.j2").read_text(encoding="utf-8"))
    return template.render(values).lstrip("\n").rstrip("\n") + "\n"
