"""The cluster behind the API: a Job controller, and a kubelet that runs each pod's command as a process here.

A pod has process numbers, a host name and an /etc/hosts of its own (namespaces); its command is process 1, as in a
container. Names of other pods are known only if a headless Service selects them. All share this machine's network.
"""

import contextlib
import copy
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from support.kubernetes_emulator.api import serve
from support.kubernetes_emulator.objects import Object, Store, now, selects

NAMESPACES = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
ENTER = 'hostname "$1" && mount --bind "$2" /etc/hosts && mount -t tmpfs shm /dev/shm && shift 2 && exec "$@"'
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
INDEX = "batch.kubernetes.io/job-completion-index"


def works_here() -> bool:
    """Return whether pods can have host names of their own here."""
    with contextlib.suppress(OSError):
        probe = [*NAMESPACES, "sh", "-c", ENTER, "sh", "probe", "/etc/hosts", "true"]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return False


class Cluster:
    """The emulated cluster; `environment` is what kubectl needs to reach it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store()
        self.full = False
        """Whether no node takes another pod."""
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        """Names of pods → their processes."""
        folder.mkdir(parents=True)
        self.server = serve(self.store, self)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        address = f"http://127.0.0.1:{self.server.server_address[1]}"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": address}}],
            "users": [{"name": "tester", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "tester"}}],
        }  # fmt: skip
        (folder / "config").write_text(json.dumps(config))
        self.environment = {"KUBECONFIG": str(folder / "config"), "HOME": str(folder)}

    @property
    def requests(self) -> list[str]:
        """What was asked of the API."""
        log: list[str] = self.server.RequestHandlerClass.log  # type: ignore[attr-defined]
        return log

    def stop(self) -> None:
        """End the server and all pods."""
        self.server.shutdown()
        self.server.server_close()
        for process in list(self.running.values()):
            process.kill()  # `--kill-child`: and with it everything in the pod
            process.wait()

    def created(self, item: Object) -> None:
        if item["kind"] == "Job":
            item["status"] = {"startTime": now()}
            threading.Thread(target=self._control, args=(item,), daemon=True).start()

    def deleted(self, item: Object) -> None:  # a Job's pods follow it when they have ended
        self.store.remove(item)
        item["metadata"]["deletionTimestamp"] = now()

    def _control(self, job: Object) -> None:
        """Look after a Job until it has ended or is gone."""
        while job["spec"].get("suspend") and "deletionTimestamp" not in job["metadata"]:
            time.sleep(0.02)
        with self.store.lock:
            pods = [self._pod(job, index) for index in range(job["spec"]["completions"])]
        ends = [threading.Thread(target=self._kubelet, args=(job, pod), daemon=True) for pod in pods]
        for each in ends:
            each.start()
        for each in ends:
            each.join()
        with self.store.lock:
            failed = any(pod["status"]["phase"] == "Failed" for pod in pods)
            text = "Job has reached the specified backoff limit"
            why = (
                {"type": "Failed", "reason": "BackoffLimitExceeded", "message": text}
                if failed
                else {"type": "Complete"}
            )
            job["status"]["conditions"] = [{"status": "True", "lastTransitionTime": now(), **why}]

    def _pod(self, job: Object, index: int) -> Object:
        """Return a pod of an Indexed Job, as the Job controller makes it."""
        assert job["spec"]["completionMode"] == "Indexed" and job["spec"]["backoffLimit"] == 0
        template, name = copy.deepcopy(job["spec"]["template"]), job["metadata"]["name"]
        meta = {
            "name": f"{name}-{index}-{''.join(random.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}",
            "labels": {**template["metadata"]["labels"], "job-name": name, INDEX: str(index)},
            "annotations": {**template["metadata"].get("annotations", {}), INDEX: str(index)},
            "ownerReferences": [{"kind": "Job", "name": name, "uid": job["metadata"]["uid"]}],
        }
        template["spec"]["hostname"] = f"{name}-{index}"
        status = {"phase": "Pending", "conditions": []}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"], "status": status}
        return self.store.create("pods", job["metadata"]["namespace"], pod)

    # ---- the kubelet

    def _kubelet(self, job: Object, pod: Object) -> None:
        """Run a pod to its end."""

        def gone() -> bool:
            return "deletionTimestamp" in job["metadata"]

        while self.full and not gone():
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}
            pod["status"]["conditions"] = [condition]
            time.sleep(0.02)
        if gone():
            self.store.remove(pod)
            return
        name, process = pod["metadata"]["name"], self._start(pod)
        begun = {"startedAt": now()}
        status = {"phase": "Running", "startTime": now(), "containerStatuses": [{"state": {"running": begun}}]}
        with self.store.lock:
            pod["spec"]["nodeName"] = f"node-{pod['metadata']['labels'][INDEX]}"
            pod["status"] = status
        deadline = time.monotonic() + pod["spec"].get("activeDeadlineSeconds", 10**6)
        kill_at, reason, removed = None, "", False
        while process.poll() is None:
            over = time.monotonic() >= deadline
            beside = any(other["status"]["phase"] == "Failed" for other in self.store.pods_of(job))
            if kill_at is None and (over or beside or gone()):
                reason, removed = ("DeadlineExceeded", False) if over else ("", True)
                self.signal(name, signal.SIGTERM)
                kill_at = time.monotonic() + pod["spec"]["terminationGracePeriodSeconds"]
            elif kill_at is not None and time.monotonic() >= kill_at:
                self.signal(name, signal.SIGKILL)
            time.sleep(0.02)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        ended = {**begun, "exitCode": code, "finishedAt": now(), "reason": "Error" if code else "Completed"}
        with self.store.lock:
            pod["status"] = {
                **status, "phase": "Failed" if code or reason else "Succeeded",
                "containerStatuses": [{"state": {"terminated": ended}}], **({"reason": reason} if reason else {}),
            }  # fmt: skip
            if removed or gone():  # it may have ended by itself at the moment its Job was deleted
                self.store.remove(pod)
        del self.running[name]

    def _start(self, pod: Object) -> "subprocess.Popen[bytes]":
        spec = pod["spec"]
        (container,) = spec["containers"]
        assert spec["securityContext"]["runAsUser"] == os.getuid(), "the emulator has one account"
        values = {each["name"]: each["value"] for each in container["env"]}
        values["JOB_COMPLETION_INDEX"] = pod["metadata"]["annotations"][INDEX]
        environment = {name: self._expanded(value, values) for name, value in values.items()}
        command = [self._expanded(word, values) for word in container["command"]]
        hosts = self.folder / f"hosts.{pod['metadata']['name']}"
        hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in ["localhost", spec["hostname"], *self._names(pod)]))
        with (self.folder / f"{pod['metadata']['name']}.log").open("wb") as log:
            process = subprocess.Popen(
                [*NAMESPACES, "sh", "-c", ENTER, "sh", spec["hostname"], str(hosts), *command],
                cwd=container["workingDir"], env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.running[pod["metadata"]["name"]] = process
        return process

    def _names(self, pod: Object) -> list[str]:
        """Return the names that DNS has of pods behind the pod's headless Service."""
        namespace, subdomain = pod["metadata"]["namespace"], pod["spec"].get("subdomain")
        names = []
        for service in self.store.found("services", namespace):
            if service["metadata"]["name"] == subdomain and service["spec"]["clusterIP"] == "None":
                selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
                names += [
                    f"{other['spec']['hostname']}.{subdomain}" for other in self.store.found("pods", namespace)
                    if selects(selector, other["metadata"]["labels"]) and other["spec"].get("subdomain") == subdomain
                ]  # fmt: skip
        return names

    @staticmethod
    def _expanded(text: str, values: dict[str, str]) -> str:
        """Return a text with `$(NAME)` replaced and `$$` undone, as the kubelet does."""

        def one(match: re.Match[str]) -> str:
            return "$" if match[0] == "$$" else values.get(match[1], match[0])

        return re.sub(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)", one, text)

    def signal(self, pod: str, number: int) -> None:
        """Send a signal to a pod's process 1."""
        process = self.running[pod].pid
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
            os.kill(int(children[0]) if children else process, number)
