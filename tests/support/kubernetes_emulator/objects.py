"""The objects of the emulated cluster, and what the API says about them."""

import re
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]
KINDS = {
    "services": ("v1", "Service"), "pods": ("v1", "Pod"), "resourcequotas": ("v1", "ResourceQuota"),
    "jobs": ("batch/v1", "Job"),
}  # fmt: skip
"""Resource → apiVersion and kind of what the emulator serves."""
GROUPS = {"jobs": "jobs.batch"}


class ApiError(Exception):
    """A `Status` of the API that says no."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status: Object = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": code,
        }  # fmt: skip


def now() -> str:
    """Return the time as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def selects(selector: str, labels: dict[str, str]) -> bool:
    """Return whether a label selector (`a=b`, `a in (b,c)`) fits."""
    wanted = re.findall(r"([^,= ()]+)(?:=([^,]*)| in \(([^)]*)\))", selector)
    return all(labels.get(key) in (one or several).split(",") for key, one, several in wanted)


@dataclass
class Store:
    """All objects, by resource, namespace and name."""

    items: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    forbidden: set[tuple[str, str]] = field(default_factory=set)
    """(verb, resource) that are refused with 403."""

    def allow(self, verb: str, resource: str, namespace: str) -> None:
        if (verb, resource) in self.forbidden:
            group = KINDS[resource][0].rpartition("/")[0]
            text = f'{GROUPS.get(resource, resource)} is forbidden: User "tester" cannot {verb} resource "{resource}"'
            raise ApiError(403, "Forbidden", f'{text} in API group "{group}" in the namespace "{namespace}"')

    def create(self, resource: str, namespace: str, item: Object) -> Object:
        self.allow("create", resource, namespace)
        version, kind = KINDS[resource]
        if (item.get("apiVersion"), item.get("kind")) != (version, kind):
            raise ApiError(400, "BadRequest", f"{kind} expected")
        key = resource, namespace, item["metadata"]["name"]
        if key in self.items:
            raise ApiError(409, "AlreadyExists", f'{GROUPS.get(resource, resource)} "{key[2]}" already exists')
        item["metadata"] |= {"namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
        self.items[key] = item
        return item

    def get(self, resource: str, namespace: str, name: str) -> Object:
        self.allow("get", resource, namespace)
        try:
            return self.items[resource, namespace, name]
        except KeyError:
            text = f'{GROUPS.get(resource, resource)} "{name}" not found'
            raise ApiError(404, "NotFound", text) from None

    def found(self, resource: str, namespace: str, selector: str = "") -> list[Object]:
        return [
            item for (kind, place, _), item in list(self.items.items())
            if (kind, place) == (resource, namespace) and selects(selector, item["metadata"].get("labels", {}))
        ]  # fmt: skip

    def listed(self, resource: str, namespace: str, selector: str) -> Object:
        self.allow("list", resource, namespace)
        version, kind = KINDS[resource]
        items = self.found(resource, namespace, selector)
        return {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items}

    def remove(self, item: Object) -> None:
        kinds = {kind: resource for resource, (_, kind) in KINDS.items()}
        self.items.pop((kinds[item["kind"]], item["metadata"]["namespace"], item["metadata"]["name"]), None)

    def pods_of(self, job: Object) -> Iterator[Object]:
        for pod in self.found("pods", job["metadata"]["namespace"]):
            if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]:
                yield pod
