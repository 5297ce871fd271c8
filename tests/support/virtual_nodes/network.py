"""Networks of virtual nodes: one bridge and subnet a lab, one network namespace a node (needs root and iproute2)."""

import os
import random
import shutil
import subprocess
from pathlib import Path

SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
NEW_NODE = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child"]


class LabError(RuntimeError):
    """The lab did not start; says why."""


def best_network() -> str:
    """Return `netns` where network namespaces work, else `uts` (host names only), else `flat`."""
    for network, command in (("netns", ["unshare", "--net", *NEW_NODE[1:]]), ("uts", NEW_NODE)):
        tools = ["unshare", "nsenter", "ip"] if network == "netns" else ["unshare"]
        if all(shutil.which(tool, path=SEARCH) for tool in tools):
            probe = subprocess.run([*command, "true"], capture_output=True, check=False)
            if probe.returncode == 0:
                return network
    return "flat"


def make_bridge() -> tuple[str, str]:
    """Make a bridge that nobody has and return its name and its subnet; making it is what reserves the subnet."""
    used = _output("-4", "-o", "addr") + _output("-4", "route")
    for third in random.sample(range(1, 250), 249):
        bridge, subnet = f"hk{third}", f"10.77.{third}"
        if f" {subnet}." in used or _ip("link", "add", bridge, "type", "bridge", may_fail=True):
            continue
        _forget_nodes(bridge)  # of a lab that was killed: its bridge is gone, so nobody is there any more
        _ip("addr", "add", f"{subnet}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        return bridge, subnet
    raise LabError("no free 10.77.x.0/24")


def enter_namespace(bridge: str, number: int) -> list[str]:
    """Return the words before a command that is to run in the network of node `number`."""
    return ["nsenter", f"--net=/run/netns/{bridge}n{number}"]


def make_node(bridge: str, number: int, address: str) -> None:
    """Make the network of a node; it is kept when it is there already."""
    space, outside = f"{bridge}n{number}", f"{bridge}v{number}"
    if Path(f"/run/netns/{space}").exists():
        return
    _ip("netns", "add", space)
    _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", space)
    _ip("link", "set", outside, "master", bridge, "up")
    _ip("-n", space, "link", "set", "lo", "up")
    _ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
    _ip("-n", space, "link", "set", "eth0", "up")


def remove(bridge: str) -> None:
    """Remove a lab's bridge and the networks of its nodes."""
    _forget_nodes(bridge)
    _ip("link", "del", bridge, may_fail=True)


def _forget_nodes(bridge: str) -> None:
    for path in Path("/run/netns").glob(f"{bridge}n*"):
        _ip("netns", "del", path.name, may_fail=True)


def _ip(*words: str, may_fail: bool = False) -> int:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise LabError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.returncode


def _output(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).stdout
