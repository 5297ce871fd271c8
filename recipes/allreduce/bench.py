"""How fast do these processes talk to each other? Collective operations timed over message sizes, every result checked.

    python bench.py                                       alone: nothing to talk to, the bandwidth of a copy
    torchrun --nproc-per-node 2 bench.py                  two processes (also: mpirun -np 2 python bench.py)

Read main() first: it is the whole story. GPUs are used where there are some.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

from backends import connect
from hackathon_runtime import Meter, identity
from model import COLLECTIVES, bandwidths, fits

ITEM = 4  # bytes of a float32


def size(text: str) -> int:
    """Return the bytes in a text such as 4096, 4KiB or 1GiB."""
    match = re.fullmatch(r"(\d+) ?(?:([KMG])iB)?", text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4096, 4KiB, 16MiB or 1GiB")
    return int(match[1]) * {None: 1, "K": 2**10, "M": 2**20, "G": 2**30}[match[2]]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--operation", choices=["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all"],
        default="all-reduce", help="what to time",
    )  # fmt: skip
    parser.add_argument("--backend", choices=["auto", "nccl", "gloo", "mpi"], default="auto", help="what carries it")
    parser.add_argument("--min-size", type=size, default="4KiB", help="smallest message")
    parser.add_argument("--max-size", type=size, default="16MiB", help="largest message")
    parser.add_argument("--factor", type=int, default=4, help="from one size to the next")
    parser.add_argument("--split", type=size, default="256KiB", help="where small messages end and large ones begin")
    parser.add_argument("--warmup", type=int, default=5, help="repetitions that do not count")
    parser.add_argument("--iterations", type=int, default=20, help="repetitions that count; their median is the time")
    args = parser.parse_args()
    if args.max_size < args.min_size or args.factor < 2 or args.iterations < 1 or args.warmup < 0:
        parser.error("wanted: --min-size ≤ --max-size, --factor ≥ 2, --iterations ≥ 1, --warmup ≥ 0")
    return args


def main() -> None:
    args, me = options(), identity()
    group = connect(args.backend, me)
    wanted = list(COLLECTIVES) if args.operation == "all" else [args.operation]
    operations = wanted if group.size > 1 else ["copy"]
    hosts = sorted(set(group.everyone(me.host)))
    show = print if group.rank == 0 else lambda *words, **more: None
    processes = "1 process" if group.size == 1 else f"{group.size} processes"
    nodes = "1 node" if len(hosts) == 1 else f"{len(hosts)} nodes"
    show(f"{processes} on {nodes}, {group.name} on {group.device}, float32")
    if group.size == 1:
        show("one process: communication cannot be measured; this is the bandwidth of a copy in memory")

    results, errors = {}, 0
    for operation in operations:
        show(f"\n{operation:>14}{'time':>14}{'algorithm':>12}{'bus':>12}{'wrong':>10}")
        show(f"{'bytes':>14}{'µs':>14}{'GB/s':>12}{'GB/s':>12}", flush=True)
        rows = []
        for message in message_sizes(args.min_size, args.max_size, args.factor):
            elements = max(message // ITEM // group.size, 1) * group.size  # an equal share for every process
            seconds, wrong = measure(group, operation, elements, args.warmup, args.iterations)
            algorithm, bus = bandwidths(operation, elements * ITEM, seconds, group.size)
            show(f"{elements * ITEM:14}{seconds * 1e6:14.1f}{algorithm:12.3f}{bus:12.3f}{wrong:10}", flush=True)
            rows.append({
                "bytes": elements * ITEM, "time_us": seconds * 1e6, "algbw_gb_s": algorithm, "busbw_gb_s": bus,
                "errors": wrong,
            })  # fmt: skip
            errors += wrong
        lines = fits([row["bytes"] for row in rows], [row["time_us"] / 1e6 for row in rows], args.split)
        for name, line in lines.items():
            show(
                f"{name:>14}: time = {line['alpha_us']:.1f} µs + bytes / {line['beta_gb_s']:.3f} GB/s, "
                f"off by up to {line['relative_error']:.0%}"
            )
        results[operation] = {"rows": rows, "fits": lines}

    finish(args, group, hosts, results, errors)
    group.close()
    if errors:
        sys.exit(f"{errors} numbers came out wrong: do not trust this network, this library or this build of it")


def message_sizes(least: int, greatest: int, factor: int) -> list[int]:
    """Return least, least·factor, … and the greatest."""
    sizes = []
    while least < greatest:
        sizes.append(least)
        least *= factor
    return [*sizes, greatest]


def measure(group, operation: str, elements: int, warmup: int, iterations: int) -> tuple[float, int]:
    """Return (seconds, wrong numbers in all processes) of one operation on a buffer of that many numbers.

    Processes meet before each repetition; it takes as long as the slowest needs. The time is the median. The result is
    examined, every number of it, before and after the repetitions that are timed.
    """
    n, rank, share = group.size, group.rank, elements // group.size
    sum_of_ranks = n * (n + 1) / 2  # every process adds rank + 1 to the same ramp
    if operation == "all-gather":
        send, receive, expected = group.ramp(0, share) + rank + 1, group.ramp(0, elements), group.ramp(0, elements)
        for other in range(n):
            expected[other * share : (other + 1) * share] = group.ramp(0, share) + other + 1
    elif operation == "reduce-scatter":
        send, receive = group.ramp(0, elements) + rank + 1, group.ramp(0, share)
        expected = group.ramp(rank * share, share) * n + sum_of_ranks
    elif operation == "copy":
        send, receive = group.ramp(0, elements) + 1, group.ramp(0, elements)
        expected = send * 1
    else:  # in place: all-reduce and broadcast
        send, receive = group.ramp(0, elements) + rank + 1, group.ramp(0, elements)
        expected = group.ramp(0, elements)
        expected = expected * n + sum_of_ranks if operation == "all-reduce" else expected + 1
    in_place = operation in ("all-reduce", "broadcast")

    def examine() -> int:
        receive[:] = send if in_place else -1
        group.finish()
        group.start(operation, send, receive)
        group.finish()
        return int((receive != expected).sum())

    wrong = examine()
    receive[:] = 0  # sums in place must not grow from one repetition to the next
    seconds = []
    for _ in range(warmup + iterations):
        group.barrier()
        begin = time.perf_counter()
        group.start(operation, send, receive)
        group.finish()
        seconds.append(time.perf_counter() - begin)
    wrong += examine()
    return statistics.median(group.slowest(seconds[warmup:])), sum(group.everyone(wrong))


def finish(args: argparse.Namespace, group, hosts: list[str], results: dict, errors: int) -> None:
    """Write `allreduce.json` and the metrics: those of the first operation, at the largest and the smallest size."""
    first = next(iter(results.values()))
    numbers = {
        "busbw_gb_s": first["rows"][-1]["busbw_gb_s"], "algbw_gb_s": first["rows"][-1]["algbw_gb_s"],
        "latency_us": first["rows"][0]["time_us"], "errors": errors, "rank_sum": sum(group.everyone(group.rank + 1)),
    }  # fmt: skip
    if "small" in first["fits"]:
        numbers["alpha_us"] = first["fits"]["small"]["alpha_us"]
    if "large" in first["fits"]:
        numbers["beta_gb_s"] = first["fits"]["large"]["beta_gb_s"]
    Meter().final(**numbers)
    if group.rank != 0:
        return
    record = {
        "schema_version": 1, "t": time.time(), "backend": group.name, "device": group.device,
        "processes": group.size, "nodes": len(hosts), "hosts": hosts, "data_type": "float32",
        "warmup": args.warmup, "iterations": args.iterations, "split_bytes": args.split, "errors": errors,
        "operations": results,
    }  # fmt: skip
    path = os.path.join(os.environ.get("HK_RUN", "."), "allreduce.json")
    with open(path + ".partial", "w") as file:
        json.dump(record, file, indent=1)
    os.replace(path + ".partial", path)
    print(f"\nwritten: {path}", flush=True)


if __name__ == "__main__":
    main()
