"""What rank 0 asks all ranks to do together: come, reach each other, share a folder."""

from __future__ import annotations

import argparse
import os
import time

from hackathon_runtime import Identity
from member import PAIR, remove
from report import Report
from talk import Centre, first_port


def who_came(report: Report, centre: Centre, me: Identity, seconds: float) -> None:
    absent = [rank for rank in range(me.world_size) if rank not in centre.lines]
    for rank in absent:
        report.add("nodes", "failed", "nodes_missing", [rank], seconds=f"{seconds:g}")
    hosts = {hello["host"] for hello in centre.hello.values()}
    if not absent and len(hosts) < me.nodes:
        report.add("nodes", "warning", "nodes_fewer", count=len(hosts), wanted=me.nodes)
    elif not absent:
        report.add("nodes", "ok", "nodes_ok", processes=me.world_size, hosts=len(hosts))


def ring(report: Report, centre: Centre, address: str) -> None:
    """Let every rank that came reach the next one, then send a token through all of them in order."""
    ranks = sorted(centre.lines)
    if centre.size == 1:
        report.add("ring", "ok", "alone")
        return
    peers = {}
    for rank in ranks:
        hello = centre.hello[rank]
        seen = address if hello["address"] in ("127.0.0.1", "::1") else hello["address"]
        peers[(rank - 1) % centre.size] = {"rank": rank, "host": hello["host"], "address": seen, "port": hello["ring"]}
    asked = [rank for rank in ranks if rank in peers]
    nobody = {"rank": -1, "host": "", "address": "", "port": 0}
    answers = centre.ask(3 * PAIR, "ring", peers={rank: peers.get(rank, nobody) for rank in ranks})
    good = len(asked) == centre.size
    for rank in asked:
        answer = answers.get(rank, {"reached": False, "problems": [centre.lost.get(rank, "?")]})
        if not answer["reached"] or answer["problems"]:
            good = good and answer["reached"]
            key, state = ("ring_name", "warning") if answer["reached"] else ("ring_broken", "failed")
            told = {"other": report.who([peers[rank]["rank"]]), "problem": "; ".join(answer["problems"])}
            report.add("ring", state, key, [rank], **told)
    if not good:
        return  # a token would only say again where it is broken; who is missing was said already
    tokens = centre.ask(3 * PAIR, "token")
    if tokens.get(0, {}).get("token") == list(range(centre.size)):
        report.add("ring", "ok", "ring_ok", processes=centre.size)
        return
    stuck = next((rank for rank in [*ranks[1:], 0] if "token" not in tokens.get(rank, {})), 0)
    problem = tokens.get(stuck, {}).get("problem") or centre.lost.get(stuck) or str(tokens.get(0))
    report.add("ring", "failed", "ring_stuck", [stuck], problem=problem)


def shared_folder(report: Report, centre: Centre, args: argparse.Namespace) -> None:
    """Let every rank write a file, and then every rank look for all of them."""
    token = f".preflight-{os.getpid()}-{int(time.time() * 1000)}"
    place = {"folder": args.shared, "token": token}
    wrote = centre.ask(args.visible_within + PAIR, "write", **place)
    for rank, problem in sorted(wrote.items()):
        if problem:
            report.add("shared", "failed", "shared_unwritable", [rank], folder=args.shared, problem=problem)
    ranks = [rank for rank, problem in wrote.items() if not problem]
    seen = centre.ask(args.visible_within + PAIR, "see", ranks=ranks, within=args.visible_within, **place)
    for rank in sorted(seen):
        missing = seen[rank]["missing"]
        if missing and not wrote.get(rank):
            told = {"folder": args.shared, "others": report.who(sorted(missing)), "seconds": f"{args.visible_within:g}"}
            report.add("shared", "failed", "shared_unseen", [rank], **told)
    centre.ask(PAIR, "remove", **place)
    remove(args.shared, token, 0)
    if not any(found["check"] == "shared" for found in report.findings) and seen:
        slowest = max(answer["seconds"] for answer in seen.values())
        report.add("shared", "ok", "shared_ok", folder=args.shared, seconds=f"{slowest:.1f}")


def free_port(report: Report, port: int, used: int, host: str) -> None:
    if first_port(port, dict(os.environ)) != port:
        report.add("port", "ok", "port_torchrun", port=port, host=host)
    else:
        state, key = ("ok", "port_ok") if used == port else ("failed", "port_taken")
        report.add("port", state, key, port=port, host=host)
