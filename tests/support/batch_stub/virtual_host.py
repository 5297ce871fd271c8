"""Make a command believe that it runs on another host: its own host name and /etc/hosts where the kernel permits."""

import functools
import os
import shutil
import subprocess

import store

_INSIDE = 'hostname "$1"; mount --bind "$2" /etc/hosts 2>/dev/null; shift 2; exec "$@"'


@functools.cache
def permitted() -> bool:
    """Return whether `unshare --uts --mount` works here (root, or rights to do so)."""
    if os.environ.get("BATCH_STUB_PLAIN") or not shutil.which("unshare") or not shutil.which("hostname"):
        return False
    probe = ["unshare", "--uts", "--mount", "hostname", "batch-stub-probe"]
    return subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def on_host(host: str, command: list) -> list:
    """Return the argv that runs a command under the host's name; unchanged where that is not permitted."""
    if not permitted():
        return command
    hosts = store.folder("etc") / "hosts"
    if not hosts.exists():
        names = " ".join(store.configuration()["hosts"])
        temporary = hosts.with_suffix(f".{os.getpid()}")
        temporary.write_text(f"127.0.0.1 localhost {names}\n")
        temporary.rename(hosts)
    return ["unshare", "--uts", "--mount", "sh", "-c", _INSIDE, "sh", host, str(hosts), *command]
