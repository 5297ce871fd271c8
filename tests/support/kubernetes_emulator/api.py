"""The HTTP side: discovery of v1 and batch/v1, create, get, list with labelSelector, delete; 501 for all else."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from support.kubernetes_emulator.objects import KINDS, ApiError, Object, Store


def discovered(path: str) -> Object | None:
    """Return what the server says of itself; None for other addresses."""
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        version = {"groupVersion": "batch/v1", "version": "v1"}
        group = {"name": "batch", "versions": [version], "preferredVersion": version}
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}
    group_version = {"/api/v1": "v1", "/apis/batch/v1": "batch/v1"}.get(path)
    if group_version is None:
        return None
    resources = [
        {
            "name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind,
            "verbs": ["create", "delete", "get", "list"],
        }
        for name, (version, kind) in KINDS.items() if version == group_version
    ]  # fmt: skip
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


class Handler(BaseHTTPRequestHandler):
    """One request; the server it belongs to has the store and the cluster."""

    protocol_version = "HTTP/1.1"
    store: ClassVar[Store]
    cluster: ClassVar[Any]
    log: ClassVar[list[str]]

    def _answer(self) -> tuple[int, Object]:
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.log.append(f"{self.command} {self.path}")
        if self.command == "GET" and (found := discovered(address.path)) is not None:
            return 200, found
        words = address.path.strip("/").split("/")
        version, rest = ("v1", words[2:]) if words[0] == "api" else ("batch/v1", words[3:])
        at = f"/{'api/v1' if version == 'v1' else 'apis/batch/v1'}/namespaces/"
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        known = address.path.startswith(at) and len(rest) in (3, 4) and KINDS.get(rest[2], ("",))[0] == version
        with self.store.lock:
            match (self.command, len(rest)) if known else ("", 0):
                case ("POST", 3):
                    item = self.store.create(rest[2], rest[1], json.loads(body))
                    self.cluster.created(item)
                    return 201, item
                case ("GET", 3):
                    return 200, self.store.listed(rest[2], rest[1], query.get("labelSelector", ""))
                case ("GET", 4):
                    return 200, self.store.get(rest[2], rest[1], rest[3])
                case ("DELETE", 4):
                    self.store.allow("delete", rest[2], rest[1])
                    self.cluster.deleted(self.store.get(rest[2], rest[1], rest[3]))
                    return 200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        raise ApiError(501, "NotImplemented", f"the emulator does not know {self.command} {self.path}")

    def _serve(self) -> None:
        try:
            code, answer = self._answer()
        except ApiError as error:
            code, answer = error.code, error.status
        text = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _serve

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def serve(store: Store, cluster: Any) -> ThreadingHTTPServer:
    """Return a server that listens on a free port of this machine."""
    kind = type("Bound", (Handler,), {"store": store, "cluster": cluster, "log": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    return server
