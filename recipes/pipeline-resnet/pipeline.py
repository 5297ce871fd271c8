# Copy of recipes/shared/pipeline.py, written by `make recipes`; edit it there.
"""What a training in stages needs around its loop: processes, the plan, checkpoints, and words for what goes wrong.

AutoParallel comes from the toolkit, which must be installed in the Python that trains: `pip install .`
in a clone of it.
"""

import argparse
import atexit
import json
import os
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from hackathon_runtime import Identity, checkpoint_written, log_event, rendezvous

try:
    from hackathon.parallel import AutoParallel
    from hackathon.parallel.description.planning import link_of_ranks, memory_of, plan_here
    from hackathon.parallel.plan.devices import Devices, read_devices
    from hackathon.text.errors import HackathonError
except ImportError as error:
    sys.exit(
        f"this recipe needs the toolkit in the Python that trains ({error}): "
        "pip install numpy, and pip install . in a clone of it"
    )

SECONDS_TO_TELL = 5.0
"""Seconds from the launcher's SIGTERM to the end: longer than AutoParallel takes to find the rank that is gone."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the plan; recipe.yaml has the same names and defaults."""
    add = parser.add_argument
    add("--micro-batches", type=int, default=4, help="pieces of a step's batch")
    add("--stages", type=int, default=0, help="parts of the model; 0: as many as the processes allow")
    add("--replicas", default="", help="of each stage (1,3,…), or one number for all; left out: as the processes allow")
    add("--plan", default="", help="plan.json, as `hackathon plan` writes it; left out: made here")
    add("--devices", default="", help="devices.json; left out: memory and bandwidth are measured")
    add("--recompute", choices=["never", "auto", "all"], default="never", help="stages that compute activations again")
    add("--offload", choices=["never", "auto", "all"], default="never", help="stages with parameters in main memory")
    add("--schedule", choices=["1f1b", "gpipe"], default="1f1b", help="order of forward and backward passes")
    add("--precision", choices=["fp32", "bf16"], default="fp32", help="of computing")


def connect(me: Identity, gpus: int) -> torch.device:
    """Return this process's device, after joining the others."""
    device = torch.device("cuda", me.local_rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // me.local_world_size))
    if me.world_size > 1:
        address, port = rendezvous(me)
        os.environ.setdefault("MASTER_ADDR", address)
        os.environ.setdefault("MASTER_PORT", str(port))
        dist.init_process_group("nccl" if gpus else "gloo", rank=me.rank, world_size=me.world_size)
    return device


def replicas_of(args: argparse.Namespace, processes: int) -> list[int]:
    """Return the replicas of each stage; leave with exit code 2 where the processes do not suffice or are left over."""
    words = args.replicas.split(",") if args.replicas else []
    given = [int(each) if each.strip().isdecimal() else 0 for each in words]
    if len(given) > 1:
        counts = given
    elif given:
        counts = given * (args.stages or processes // max(1, given[0]))
    else:
        stages = args.stages or processes
        counts = [processes // stages] * stages
    wrong = (args.stages and len(counts) != args.stages) or not counts or min(counts) < 1 or sum(counts) != processes
    if wrong:
        print(
            f"train.py: {processes} processes cannot be {args.stages or len(counts)} stages with replicas "
            f"{args.replicas or 'alike'}: the replicas of all stages add up to the processes", file=sys.stderr,
        )  # fmt: skip
        sys.exit(2)
    return counts


def plan_of(args: argparse.Namespace, me: Identity, net: torch.nn.Module, loss, batch, device: torch.device) -> dict:
    """Return the plan: read from --plan, or made here by rank 0, which measures the model's operators."""
    if args.plan:
        return json.loads(Path(args.plan).read_text())
    counts = replicas_of(args, me.world_size)
    link = link_of_ranks(device)  # all ranks
    box = [None]
    if me.rank == 0:
        try:
            devices = read_devices(Path(args.devices)) if args.devices else Devices(
                me.world_size, memory_of(device, me.local_world_size), link.bandwidth, link.latency, link.bandwidth,
                host_bandwidth=link.host_bandwidth,
            )  # fmt: skip
            box = [plan_here(
                net, batch, devices.overridden(me.world_size, None), loss=loss, micro_batches=args.micro_batches,
                replicas=counts, recompute=args.recompute, offload=args.offload, device=device,
            )]  # fmt: skip
        except HackathonError as error:
            box = [str(error)]
    if me.world_size > 1:
        dist.broadcast_object_list(box, 0, device=device)
    if not isinstance(box[0], dict):
        sys.exit(f"no plan: {box[0]}")
    if me.rank == 0 and os.environ.get("HK_RUN"):
        Path(os.environ["HK_RUN"], "plan.json").write_text(json.dumps(box[0], indent=1) + "\n")
    return box[0]


def predicted_seconds(plan: dict) -> float | None:
    """Return the seconds that a plan promises for a step; None if it was made for another objective."""
    return plan.get("value") if plan.get("objective") == "step" else None


def told(plan: dict, me: Identity) -> None:
    """Say how the model is cut."""
    if me.rank == 0:
        rows = [
            f"stage {number}: {len(each['operators'])} operators, {each['replicas']} × {ways(each)}"
            for number, each in enumerate(plan["stages"])
        ]
        seconds = predicted_seconds(plan)
        rows += [f"predicted step: {seconds:.4g} s"] if seconds else []
        print("\n".join(rows), flush=True)


def facts(model: AutoParallel, plan: dict, me: Identity, device: torch.device) -> dict:
    """Return what a run tells of its plan beside its own numbers; all ranks call it."""
    stages = plan["stages"]
    found = {
        "rank_sum": int(over_ranks(me.rank + 1, device)), "steps": model.steps, "stages": len(stages),
        "replicas": ",".join(str(each["replicas"]) for each in stages), "micro_batches": plan["micro_batches"],
    }  # fmt: skip
    # bytes of parameters and gradients that this rank's device held at most
    return found if model.streamed is None else {**found, "offload_bytes": model.streamed.peak}


def compared(plan: dict, seconds: float | None) -> dict:
    """Return the seconds of a step as measured and as the plan promised; nothing where one of them is not known."""
    predicted = predicted_seconds(plan)
    if not seconds or not predicted:
        return {}
    return {"step_s": seconds, "predicted_step_s": predicted, "measured_by_predicted": seconds / predicted}


def ways(stage: dict) -> str:
    """Return how a stage saves memory."""
    names = [name for name in ("recompute", "offload") if stage.get(name)]
    return ", ".join(names) or "as it is"


@contextmanager
def ending_all(me: Identity):
    """End this process when another one has ended, and say which stage that was. Threads may still wait for it.

    A launcher that sees a process die terminates the others at once: they get some seconds to find out whom they miss.
    """
    signal.signal(signal.SIGTERM, lambda *_: signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_TELL))
    signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + signal.SIGTERM))
    try:
        yield
    except HackathonError as error:
        print(f"rank {me.rank}: {error}", file=sys.stderr, flush=True)
        if error.hint:
            print(error.hint, file=sys.stderr, flush=True)
        os._exit(error.exit_code)


def over_ranks(number: float, device: torch.device) -> float:
    """Return the sum of all processes' numbers."""
    box = torch.tensor(float(number), device=device)
    if dist.is_initialized():
        dist.all_reduce(box)
    return box.item()


def from_rank_zero(number: int, device: torch.device) -> int:
    """Return rank 0's number on every rank."""
    box = torch.tensor(number, device=device)
    if dist.is_initialized():
        dist.broadcast(box, 0)
    return int(box.item())


def leave() -> None:
    """Leave the other processes and end this one with exit code 0.

    Capturing a model while processes are connected keeps threads of Gloo alive, and one that drops its last tensors
    while Python is ending aborts a good run (PyTorch issue 190489). So what Python does at its end is done here.
    """
    if dist.is_initialized():
        dist.destroy_process_group()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


# ---- checkpoints: folders that any plan can take up, and the program for one GPU (load_plain in AutoParallel's module)


def checkpoint_folder() -> Path:
    """Return where checkpoints lie: in the run (all segments of a chain share it), or here outside one."""
    return Path(os.environ.get("HK_CHECKPOINTS") or Path(os.environ.get("HK_RUN", "."), "checkpoints"))


def complete(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a folder, the newest last."""
    return sorted(path.parent for path in folder.glob("step-*/index.json"))


def save(model: AutoParallel, me: Identity) -> None:
    """Write a checkpoint; all ranks call it. The former one is deleted when the new one is complete."""
    path = checkpoint_folder() / f"step-{model.steps:08d}"
    try:
        model.save(path)
    except OSError as error:  # a full disk: the former checkpoint stays
        log_event("warned", what="no checkpoint", why=str(error))
        print(f"no checkpoint written: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    if me.rank == 0:
        checkpoint_written(path)
        for former in complete(path.parent):
            if former != path:
                shutil.rmtree(former, ignore_errors=True)


def load(model: AutoParallel, resume: str, steps: int, me: Identity) -> int:
    """Return how many steps are done, after taking up a checkpoint.

    `resume`: `auto` takes the newest one if its training was not finished, `no` none, a path that one.
    """
    if resume == "no":
        return 0
    found = complete(checkpoint_folder())
    if resume == "auto" and not found:
        return 0
    # finished: a run that is started again begins anew; a later segment only has the last numbers to tell
    finished = resume == "auto" and int(found[-1].name.removeprefix("step-")) >= steps
    if finished and os.environ.get("HK_SEGMENT", "1") == "1":
        return 0
    path = found[-1] if resume == "auto" else Path(resume)
    model.load(path)
    if me.rank == 0:
        print(f"resumed from {path}: step {model.steps}", flush=True)
    return model.steps
