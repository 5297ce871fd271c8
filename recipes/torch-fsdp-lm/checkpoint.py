"""Checkpoints that every number of processes can take up: each rank writes its shards (torch.distributed.checkpoint).

A checkpoint is a folder, and complete when its `.metadata` is there, which rank 0 writes last; only then the former one
is deleted. The learning rate and the order of the data are functions of the step: nothing else is state.
"""

import os
import shutil
import sys
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from hackathon_runtime import Identity, checkpoint_written, log_event
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def checkpoint_folder() -> Path:
    """Return where checkpoints lie: in the run (all segments of a chain share it), or here outside one."""
    return Path(os.environ.get("HK_CHECKPOINTS") or Path(os.environ.get("HK_RUN", "."), "checkpoints"))


def complete(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a folder, the newest last."""
    return sorted(path.parent for path in folder.glob("step-*/.metadata"))


def save(net: torch.nn.Module, optimizer: torch.optim.Optimizer, me: Identity, step: int) -> None:
    """Write a checkpoint after `step` steps; all ranks call it."""
    path = checkpoint_folder() / f"step-{step:08d}"
    model, state = get_state_dict(net, optimizer)
    try:
        dcp.save({"model": model, "optimizer": state, "step": step}, checkpoint_id=path)
    except (OSError, RuntimeError, CheckpointException) as error:  # a full disk: training goes on, the former one stays
        if me.rank == 0:
            why = str(error).splitlines()[-1]
            log_event("warned", what="no checkpoint", why=why)
            print(f"no checkpoint written: {why}", file=sys.stderr)
        return
    if me.rank == 0:
        checkpoint_written(path)
        for former in complete(path.parent):
            if former != path:
                shutil.rmtree(former, ignore_errors=True)


def load(net: torch.nn.Module, optimizer: torch.optim.Optimizer, resume: str, steps: int, me: Identity) -> int:
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
    model, state = get_state_dict(net, optimizer)
    whole = {"model": model, "optimizer": state, "step": 0}
    dcp.load(whole, checkpoint_id=path)
    set_state_dict(net, optimizer, model_state_dict=whole["model"], optim_state_dict=whole["optimizer"])
    if me.rank == 0:
        print(f"resumed from {path}: step {whole['step']}", flush=True)
    return whole["step"]
