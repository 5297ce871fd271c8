"""Will a job on these nodes work? Looks in seconds, before the real job, and says what is wrong where and what to do.

    python preflight.py                                      alone: this node only
    mpirun -np 4 python preflight.py                         four ranks (also: srun, torchrun --no-python python ...)

Read main() first: it is the whole story. Needs nothing but Python (3.8 or newer).
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time

import checks
import facts
import network
import steps
from hackathon_runtime import Identity, Meter, identity, rendezvous
from member import PAIR, Ring, serve
from report import Report, show, write
from talk import Centre, Gone, first_port, job_of, join


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=60, help="seconds in which every rank must come")
    parser.add_argument("--gpus", default="auto", help="GPUs a node must have; auto: as many as the others have")
    parser.add_argument("--network", default="", help="the network between nodes as the cluster's profile names it")
    parser.add_argument("--max-skew", type=float, default=30, help="seconds that two clocks may be apart")
    parser.add_argument("--visible-within", type=float, default=30, help="seconds until a file is seen everywhere")
    parser.add_argument("--shared", help="the folder that all nodes must share (default: the run's)")
    args = parser.parse_args()
    if args.gpus != "auto" and not args.gpus.isdigit():
        parser.error("--gpus wants auto or a number")
    args.shared = args.shared or os.environ.get("HK_RUN") or os.getcwd()
    return args


def main() -> None:
    args, me, begin = options(), identity(), time.monotonic()
    address, port = rendezvous(me)
    if me.rank != 0:
        sys.exit(take_part(args, me, address, first_port(port, dict(os.environ))))
    centre = Centre(first_port(port, dict(os.environ)), me.world_size)
    # rank 0 is asked like every other rank
    threading.Thread(target=take_part, args=(args, me, "127.0.0.1", centre.port), daemon=True).start()
    centre.gather(args.timeout)
    report = Report({**expected_hosts(me), **{rank: hello["host"] for rank, hello in centre.hello.items()}})
    present = sorted(centre.lines)
    told = {rank: centre.hello[rank]["rank_facts"] for rank in present}
    nodes = {rank: centre.hello[rank]["node_facts"] for rank in present if centre.hello[rank]["node_facts"]}
    sizes = {rank: centre.hello[rank]["local_world_size"] for rank in present}

    steps.who_came(report, centre, me, args.timeout)
    steps.ring(report, centre, address)
    checks.versions(report, told, nodes)
    checks.gpus(report, nodes, None if args.gpus == "auto" else int(args.gpus), sizes)
    network.infiniband(report, nodes, args.network, told)
    network.interfaces(report, told, nodes)
    checks.room(report, "shm", {rank: fact["shm"] for rank, fact in nodes.items()}, checks.SHM_WANTED, checks.SHM_LEAST)
    steps.shared_folder(report, centre, args)
    offsets = {rank: found for rank in present if (found := centre.clock(rank)) is not None}
    checks.clocks(report, offsets, args.max_skew)
    steps.free_port(report, port, centre.port, me.host)
    checks.limits(report, told)
    checks.room(report, "tmp", {rank: fact["tmp"] for rank, fact in told.items()}, checks.TMP_WANTED, 0)
    for rank, problem in sorted(centre.lost.items()):
        report.add("nodes", "failed", "nodes_lost", [rank], problem=problem)

    seconds = time.monotonic() - begin
    show(report, seconds)
    everything = {"ranks": centre.hello, "clock": dict(sorted(offsets.items()))}
    write(report, seconds, everything)
    failed = report.count("failed")
    Meter().final(failed=failed, warnings=report.count("warning"), duration_s=round(seconds, 3))
    centre.ask(10, "end", failed=failed)  # the others leave first: rank 0's exit code is the answer
    sys.exit(1 if failed else 0)


def take_part(args: argparse.Namespace, me: Identity, address: str, port: int) -> int:
    """Join rank 0 and answer its questions; return the exit code: 1 when rank 0 was not there or fell silent."""
    ring = Ring(me.rank, me.world_size)
    hello = {
        "job": job_of(dict(os.environ)), "rank": me.rank, "host": me.host, "ring": ring.port,
        "local_world_size": me.local_world_size, "rank_facts": facts.of_rank(),
        "node_facts": facts.of_node() if me.local_rank == 0 else None,
    }  # fmt: skip
    try:
        # what rank 0 waits for at most between two questions: all ranks, the ring, and the shared folder
        patience = 2 * args.timeout + 4 * PAIR + args.visible_within + 60
        # a little longer than rank 0 waits: who ends first ends the job, and rank 0 has more to say
        line = join(address, port, hello, 1.25 * args.timeout + 2)
        serve(line, ring, me.rank, me.host, patience)
    except Gone as error:
        report = Report({me.rank: me.host})
        host = expected_hosts(me).get(0, address)
        report.add("nodes", "failed", "nodes_centre", [me.rank], host=host, port=port, problem=error)
        show(report, 0)
        write(report, 0, {"ranks": {me.rank: hello}}, keep=True)
        return 1
    return 0


def expected_hosts(me: Identity) -> dict[int, str]:
    """Return the host of each rank by the job's list of nodes, for ranks that never say it themselves."""
    names = os.environ.get("HK_NODELIST", "").split()
    per_node = int(os.environ.get("HK_PROCESSES_PER_NODE") or me.local_world_size)
    return {rank: names[rank // per_node] for rank in range(me.world_size) if rank // per_node < len(names)}


if __name__ == "__main__":
    main()
