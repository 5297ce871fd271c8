"""Checkpoints: all that is needed to go on as if nothing had happened; replaced by rename, so never half written."""

import os
import sys
from pathlib import Path

import horovod.torch as hvd
import torch
from hackathon_runtime import Identity, checkpoint_written, log_event


def checkpoint_path() -> Path:
    """Return where the newest checkpoint lies: in the run, or here outside a run."""
    return Path(os.environ.get("HK_RUN", "."), "checkpoints", "last.pt")


def save(
    net: torch.nn.Module, optimizer: torch.optim.Optimizer, batch_size: int, me: Identity, epoch: int, batch: int
) -> None:
    """Write a checkpoint on rank 0: `epoch` and `batch` come next. All ranks call it, for each has its random numbers.

    The learning rate is a function of the step and the order of the data one of the epoch: nothing else is state.
    """
    random = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state()
    randoms = hvd.allgather_object(random, name="randoms")
    if me.rank != 0:
        return
    path = checkpoint_path()
    partial = path.with_suffix(".partial")
    state = {
        "net": net.state_dict(), "optimizer": optimizer.state_dict(), "randoms": randoms,
        "epoch": epoch, "batch": batch, "batch_size": batch_size,
    }  # fmt: skip
    try:
        path.parent.mkdir(exist_ok=True)
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        checkpoint_written(path)
    except (OSError, RuntimeError) as error:  # a full disk: training goes on, the former checkpoint stays
        log_event("warned", what="no checkpoint", why=str(error))
        print(f"no checkpoint written: {error}", file=sys.stderr)
        partial.unlink(missing_ok=True)


def load(
    net: torch.nn.Module, optimizer: torch.optim.Optimizer, resume: str, epochs: int, batch_size: int, me: Identity
) -> tuple[int, int]:
    """Return the epoch and batch to begin with; rank 0 takes up a checkpoint, if there is one, and all get its state.

    `resume`: `auto` takes the newest one if its training was not finished, `no` none, a path that one.
    """
    path = checkpoint_path() if resume == "auto" else Path(resume)
    state = None
    if me.rank == 0 and resume != "no" and (resume != "auto" or path.exists()):
        state = torch.load(path, map_location="cpu", weights_only=True)
        # finished: a run that is started again begins anew; a later segment only has the last numbers to tell
        if resume == "auto" and state["epoch"] >= epochs and os.environ.get("HK_SEGMENT", "1") == "1":
            state = None
    if state:
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
    kept = {name: state[name] for name in ("randoms", "epoch", "batch", "batch_size")} if state else None
    kept = hvd.broadcast_object(kept, 0, name="checkpoint")
    if kept:
        # First the optimizer: where it has no state yet, Horovod makes some with a step, which moves the weights. A
        # fresh optimizer is the same everywhere and needs no broadcast.
        hvd.broadcast_optimizer_state(optimizer, 0)
    hvd.broadcast_parameters(net.state_dict(), 0)
    if not kept:
        return 0, 0
    # other shares of the data than before: the epoch begins again
    same = len(kept["randoms"]) == me.world_size and kept["batch_size"] == batch_size
    first_batch = kept["batch"] if same else 0
    if same:
        random = kept["randoms"][me.rank]
        torch.set_rng_state(random["cpu"])
        if torch.cuda.is_available() and "cuda" in random:
            torch.cuda.set_rng_state(random["cuda"])
    if me.rank == 0:
        print(f"resumed from {path}: epoch {kept['epoch']}, batch {first_batch}", flush=True)
    return kept["epoch"], first_batch
