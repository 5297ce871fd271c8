"""The commands of Kubernetes, all by kubectl. `manifest.py` writes the submission, `parse.py` reads the output."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hackathon.schedulers.base import CommandOutput, Scheduler, StatusAnswer, Submission
from hackathon.schedulers.dialect import Header
from hackathon.schedulers.kubernetes import parse
from hackathon.schedulers.kubernetes.dialect import KubernetesDialect
from hackathon.schedulers.kubernetes.manifest import JOB, NAME, job_id, manifest
from hackathon.schedulers.reports import QueueInfo

JOBS, SERVICES = "jobs.batch", "services"
GROUPS = {"volcano": "podgroups.scheduling.volcano.sh", "scheduler-plugins": "podgroups.scheduling.x-k8s.io"}
QUEUES = {"kueue": "localqueues.kueue.x-k8s.io", "volcano": "queues.scheduling.volcano.sh"}
CREATED = 'jsonpath={.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}'
"""Output of `create` for each created object."""


@dataclass(frozen=True)
class Kubernetes(Scheduler):
    """Kubernetes as pure functions: an Indexed Job whose pods all run the job script; its label identifies it."""

    name: ClassVar[str] = "kubernetes"
    dialect: KubernetesDialect = field(default_factory=KubernetesDialect)
    job_ids: ClassVar[re.Pattern[str]] = re.compile(
        r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII
    )
    """`NAMESPACE/NAME`."""

    def _kubectl(self, *words: str) -> list[str]:
        context = ["--context", self.dialect.context] if self.dialect.context else []
        return ["kubectl", *context, *words]

    def _split(self, job: str) -> tuple[str, str]:
        namespace, _, name = job.rpartition("/")
        return namespace or self.dialect.namespace, name

    def submit_argv(self, submission: Submission) -> list[str]:
        """Return `kubectl create`: the Service comes first in the file, the Job last."""
        check = [] if self.dialect.validation else ["--validate=false"]
        return self._kubectl("create", *check, "--filename", NAME, "--output", CREATED)

    def files(self, submission: Submission, header: Header) -> Mapping[str, str]:
        """Return the manifest; its pods run the script in the run directory."""
        return {NAME: manifest(self.dialect, submission, header)}

    def parse_submit(self, answer: CommandOutput) -> str:
        return parse.submitted_id(answer)

    def undo_argv(self, answer: CommandOutput) -> list[list[str]]:
        """Return the commands that delete the objects of a partly failed submission; those of an earlier one stay."""
        objects = parse.created(answer)
        if not objects or parse.is_there_already(answer):
            return []
        namespace, name = next(iter(objects.values()))
        return [self.cancel_argv(job_id(namespace, name))]

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        """Return one query per namespace, normally a single one; pods show why a job waits or failed."""
        jobs: dict[str, list[str]] = {}
        for written_id in ids:
            namespace, name = self._split(written_id)
            jobs.setdefault(namespace, []).append(name)
        return [
            self._kubectl("get", f"{JOBS},pods", "--namespace", namespace,
                          "--selector", f"{JOB} in ({','.join(names)})", "--output", "json")
            for namespace, names in jobs.items()
        ]  # fmt: skip

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        job_ids = {written_id: job_id(*self._split(written_id)) for written_id in ids}
        namespaces = list(dict.fromkeys(whole_id.partition("/")[0] for whole_id in job_ids.values()))
        return parse.status(answers, namespaces, job_ids)

    def cancel_argv(self, job_id: str) -> list[str]:
        """Return the command that deletes the Job, its Service and its PodGroup. Only the run's records remain."""
        namespace, name = self._split(job_id)
        kinds = [JOBS, SERVICES, *([GROUPS[self.dialect.gang]] if self.dialect.gang in GROUPS else [])]
        return self._kubectl("delete", ",".join(kinds), name, "--namespace", namespace,
                             "--ignore-not-found", "--wait=false", "--output", "name")  # fmt: skip

    def parse_cancel(self, answer: CommandOutput) -> bool:
        if re.search(r"^job\.batch/", answer.stdout, re.MULTILINE):
            return True
        if answer.exit_code:
            raise parse.failure(answer)
        return False

    def find_argv(self, name: str) -> list[list[str]]:
        """Return the query for Jobs with the name as their label."""
        return [
            self._kubectl("get", JOBS, "--namespace", self.dialect.namespace, "--selector", f"{JOB}={name}",
                          "--output", "json")
        ]  # fmt: skip

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        return parse.found_ids(answers[0])

    def queues_argv(self) -> list[str]:
        """Return the query for the gang's queues; without a gang for the namespace's quota."""
        kind = QUEUES.get(self.dialect.gang, "resourcequotas")
        return self._kubectl("get", kind, "--namespace", self.dialect.namespace, "--output", "json")

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return parse.queues(answer, self.dialect.namespace)
