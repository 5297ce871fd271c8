"""Is the fast network there, and will it be used? Checks of InfiniBand and of variables that choose interfaces."""

from __future__ import annotations

import re
from collections import Counter

from checks import odd
from report import Report

LOCKED = 64 << 20
"""Bytes of locked memory below which InfiniBand does not get the buffers it wants."""
FAST = re.compile(r"infiniband|\b(?:SDR|DDR|QDR|FDR|EDR|HDR|NDR|XDR)", re.IGNORECASE)
Facts = dict  # rank → what it told


def infiniband(report: Report, nodes: Facts, network: str, ranks: Facts) -> None:
    """Judge the ports of all nodes against each other and against what the cluster's profile says of its network."""
    ports = {rank: fact["infiniband"] for rank, fact in nodes.items()}
    active = {rank: [port for port in found if port["state"] == "ACTIVE"] for rank, found in ports.items()}
    if not FAST.search(network) and not any(ports.values()):
        report.add("infiniband", "ok", "infiniband_none")
        return
    without = [rank for rank, found in active.items() if not found]
    if without:
        report.add("infiniband", "warning", "infiniband_missing", without, network=network or "InfiniBand")
    down = [rank for rank, found in ports.items() if active[rank] and len(active[rank]) < len(found)]
    for rank in down:
        names = ", ".join(f"{port['port']} {port['state']}" for port in ports[rank] if port["state"] != "ACTIVE")
        report.add("infiniband", "warning", "infiniband_down", [rank], ports=names)
    used = {rank: tuple((port["rate"], port["layer"]) for port in found) for rank, found in active.items() if found}
    common, others = odd(used)
    for value, who in others.items():
        report.add("infiniband", "warning", "infiniband_differs", who, ports=_rates(value), common=_rates(common))
    off = [rank for rank, fact in ranks.items() if fact["variables"].get("NCCL_IB_DISABLE", "0") not in ("0", "")]
    if off and used:
        report.add("infiniband", "warning", "infiniband_off", off)
    low = [rank for rank, fact in ranks.items() if used and 0 <= fact["locked_memory"] < LOCKED]
    if low:
        kib = min(ranks[rank]["locked_memory"] for rank in low) // 1024
        report.add("infiniband", "warning", "infiniband_locked", low, kib=kib)
    if not (without or down or others or off or low):
        report.add("infiniband", "ok", "infiniband_ok", ports=_rates(common))


def _rates(ports: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{count} × {layer} {rate}" for (rate, layer), count in Counter(ports).items())


def interfaces(report: Report, ranks: Facts, nodes: Facts) -> None:
    """Judge whether NCCL's and Gloo's variables are the same everywhere, and name interfaces that nodes have."""
    wrong = False
    for name in sorted({name for fact in ranks.values() for name in fact["variables"]}):
        common, others = odd({rank: fact["variables"].get(name, "–") for rank, fact in ranks.items()})
        for value, who in others.items():
            wrong = True
            report.add("interfaces", "warning", "variable_differs", who, name=name, value=value, common=common)
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        for rank, fact in nodes.items():
            wanted = ranks[rank]["variables"].get(name, "")
            if wanted and not chosen(wanted, fact["interfaces"], exact=name.startswith("GLOO")):
                wrong = True
                told = {"name": name, "value": wanted, "there": ", ".join(fact["interfaces"][:6])}
                report.add("interfaces", "failed", "interface_missing", [rank], **told)
    if not wrong:
        first = ranks[min(ranks)]["variables"]
        shown = [f"{name}={value}" for name, value in sorted(first.items()) if name.startswith(("NCCL", "GLOO"))]
        key = "variables_ok" if shown else "variables_none"
        report.add("interfaces", "ok", key, variables=", ".join(shown))


def chosen(wanted: str, there: list[str], exact: bool = False) -> list[str]:
    """Return the interfaces that NCCL_SOCKET_IFNAME takes: prefixes, `=` exact names, `^` all but those (its manual).

    Gloo takes exact names only.
    """
    without, wanted = wanted.startswith("^"), wanted.lstrip("^")
    exact, wanted = exact or wanted.startswith("="), wanted.lstrip("=")
    names = [name.split(":")[0] for name in wanted.split(",") if name]
    named = [each for each in there if any(each == name if exact else each.startswith(name) for name in names)]
    return [each for each in there if each not in named] if without else named
