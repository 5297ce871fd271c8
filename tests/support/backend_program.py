"""The program of the tests over all back-ends, of the standard library alone: its first word says what it does."""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

RUN = Path(os.environ["HK_RUN"])
VERSION = "as submitted"


def wait_for(ready):
    end = time.monotonic() + 1200
    while not ready():
        if time.monotonic() > end:
            sys.exit("waited in vain")
        time.sleep(0.02)


def write(name, value):
    temporary = RUN / f".{name}.new"
    temporary.write_text(json.dumps(value))
    temporary.rename(RUN / name)


def measure(*words):
    """Print numbers as a training program does."""
    for throughput in (1, 200, 100, 300):
        print(f"throughput: {throughput * int(os.environ['WORLD_SIZE'])}")
    print("test accuracy 0.975")


def leave(code):
    print("about to leave", flush=True)
    sys.exit(int(code))


def arguments(*words):
    """Write what arrived."""
    write("arguments.json", {"words": words, "folder": str(Path.cwd()), "variables": dict(os.environ)})


def hold(*words):
    """Hold a lock that the kernel takes away when this process is gone; end when `release` is there."""
    held = (RUN / "lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    write("holding", os.getpid())
    wait_for((RUN / "release").exists)


def hold_and_leave(code):
    hold()
    leave(code)


def hold_rank(*words):
    """As `hold`, with a lock a rank."""
    rank = os.environ["RANK"]
    held = (RUN / f"lock-{rank}").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    write(f"holding-{rank}", os.getpid())
    wait_for(lambda: False)


def last_fails(code):
    """The last rank ends with `code` when all others hold their locks."""
    last = int(os.environ["WORLD_SIZE"]) - 1
    if int(os.environ["RANK"]) < last:
        hold_rank()
    wait_for(lambda: all((RUN / f"holding-{rank}").exists() for rank in range(last)))
    sys.exit(int(code))


def version(*words):
    write("version", VERSION)


def term(code):
    """Hold a lock as `hold` does; end with `code` a while after TERM arrives, and write how often it did."""
    told = []
    held = (RUN / "lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    write("holding", os.getpid())
    wait_for(lambda: told)
    end = time.monotonic() + 0.8
    wait_for(lambda: time.monotonic() > end)
    write("told", told)
    sys.exit(int(code))


def stop(*words):
    """End well when the stop file is there."""
    write("holding", os.getpid())
    wait_for(Path(os.environ["HK_STOP"]).exists)
    write("stopped", {"stop": (RUN / "stop").read_text(), "deadline": os.environ["HK_DEADLINE"], "t": time.time()})


def raw(*words):
    """Print what is not UTF-8."""
    sys.stdout.buffer.write(b"before\n\xff\xfe\x80 Schl\xfcssel \x1b[31m\nthroughput: 7.5\nafter\n")


def ranks(*words):
    """Say who this is, and wait until the job has seen all ranks."""
    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} on {os.environ['HK_HOST']}", flush=True)
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "HK_NODES", "OMP_NUM_THREADS")
    found = {name: os.environ.get(name) for name in names}
    found["mpi"] = sorted(name for name in os.environ if name.startswith(("OMPI_", "PMIX_", "PMI_")))
    write(f"rank-{os.environ['RANK']}.json", found)
    wait_for(lambda: '"ranks_started"' in (RUN / "events" / "job.jsonl").read_text())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
