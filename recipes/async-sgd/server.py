"""The parameter server: a thread for each worker takes gradients and hands out weights, the main thread updates them.

A worker is answered at once, with the weights that are there; its gradient waits for the update thread, which takes all
gradients that wait and applies them together. The staleness of a gradient is the number of updates between the weights
that it was computed with and those that it is applied to. Its learning rate is divided by it (Zhang et al.,
Staleness-aware Async-SGD for distributed deep learning, IJCAI 2016). With a bound no worker is more gradients ahead of
the slowest one than that (stale synchronous parallel: Ho et al., NIPS 2013): its answer waits meanwhile.
"""

import argparse
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist
from data import Digits
from exchange import EXCHANGE, HEADER, LOSS, STOP, VERSION, Meeting, answer_probes, join
from hackathon_runtime import Identity, Meter, Stopper, checkpoint_written
from network import FlatNetwork
from statistics_of_updates import Statistics
from waits import planted

MOST_WAITING = 8
"""Gradients of one worker that are kept; with more of them it is not answered, else they might fill the memory."""


class Gradient(NamedTuple):
    """What a worker sent, and which worker."""

    worker: int
    message: torch.Tensor


class ParameterServer:
    """The weights, the gradients that wait, and the threads that talk to the workers."""

    def __init__(self, args: argparse.Namespace, me: Identity, meeting: Meeting) -> None:
        _die_with_parent()
        torch.set_num_threads(1)
        self.args, self.workers, self.meeting = args, me.world_size, meeting
        self.net = FlatNetwork(args.seed, torch.device("cpu"))
        self.velocity = torch.zeros_like(self.net.weights)
        self.test = Digits(args.batch_size, args.seed, 0, 1, torch.device("cpu"))
        self.epoch_samples = self.test.train_size
        self.total = round(args.epochs * self.epoch_samples / args.batch_size)
        """Gradients of the whole training."""
        self.changed = threading.Condition()
        # all below is read and written while `changed` is held; of the weights only what was published
        self.waiting: list[Gradient] = []
        self.published = self.net.weights.clone()
        self.version, self.over, self.failure = 0, False, ""
        self.sent, self.applied = [0] * self.workers, [0] * self.workers
        self.latencies: list[float] = []

    def run(self) -> int:
        """Serve until the training is over, and return the exit code."""
        applied = self._resume()
        self.published.copy_(self.net.weights)
        join(self.meeting, self.workers, self.workers)
        threads = [threading.Thread(target=self._serve, args=(each,), daemon=True) for each in range(self.workers)]
        for each in threads:
            each.start()
        statistics = Statistics(self.workers, self.args.batch_size, self.epoch_samples)
        meter, should_stop, stopped = Meter(every_steps=10, show=True), Stopper(lambda number: number), False
        wait = planted(self.args.update_seconds, self.args.jitter, self.args.seed - 1)
        counted = 0
        while applied < self.total and not stopped:
            with meter.phase("idle"):
                gradients = self._take()
            with meter.phase("compute"):
                adding, updating = self._update(gradients, applied, wait)
            applied += len(gradients)
            staleness = [self.version - 1 - int(each.message[VERSION]) for each in gradients]
            statistics.add([each.message[: EXCHANGE + 1].tolist() for each in gradients], staleness, adding, updating)
            loss = sum(float(each.message[LOSS]) for each in gradients) / len(gradients)
            counted += len(gradients)
            # a step of the meter is one gradient of each worker, so that steps are as large as those of other recipes
            while counted >= self.workers and not stopped:
                counted -= self.workers
                meter.step(
                    samples=self.args.batch_size * self.workers,
                    step=(applied - counted) // self.workers,  # of the whole training, also after a resumption
                    epoch=applied * self.args.batch_size // self.epoch_samples, loss=loss,
                    staleness=sum(staleness) / len(staleness), gradients=len(gradients),
                )  # fmt: skip
                stopped = should_stop()
        with self.changed:
            self.over = True
            self.changed.notify_all()
        for each in threads:
            each.join()
        if self.failure:
            self._fail()
        return self._end(meter, statistics, applied, stopped)

    def _take(self) -> list[Gradient]:
        """Return all gradients that wait; wait for one when there is none."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.failure)
            if self.failure:
                self._fail()
            taken, self.waiting = self.waiting, []
            return taken

    def _update(self, gradients: list[Gradient], applied: int, wait: Callable[[], None]) -> tuple[float, float]:
        """Apply gradients as one update; return the seconds of adding them up, and of all."""
        began = time.perf_counter()
        args, total = self.args, self.net.gradients
        total.zero_()
        for each in gradients:
            stale = max(1, self.version - int(each.message[VERSION])) if args.staleness_aware == "yes" else 1
            total.add_(each.message[HEADER:], alpha=1.0 / stale)
        added = time.perf_counter()
        rate = args.lr * (1 + math.cos(math.pi * min(1.0, applied / self.total))) / 2  # half a cosine, down to zero
        self.velocity.mul_(args.momentum).add_(total)
        self.net.weights.sub_(self.velocity, alpha=rate)
        wait()
        with self.changed:
            self.published.copy_(self.net.weights)
            self.version += 1
            for each in gradients:
                self.applied[each.worker] += 1
            self.changed.notify_all()
        return added - began, time.perf_counter() - began

    def _serve(self, worker: int) -> None:
        """Take gradients of a worker and answer with weights, in a thread of its own."""
        try:
            latency = answer_probes(worker)
            message, reply = self.net.message(), self.net.message()
            with self.changed:
                self.latencies.append(latency)
                self._fill(reply)
            dist.send(reply, worker)
            while not reply[STOP]:
                dist.recv(message, worker)
                with self.changed:
                    self.waiting.append(Gradient(worker, message.clone()))
                    self.sent[worker] += 1
                    self.changed.notify_all()
                    self.changed.wait_for(lambda: self._may_go_on(worker))
                    self._fill(reply)
                dist.send(reply, worker)
        except Exception as error:  # torch raises several kinds when a connection breaks
            with self.changed:
                self.failure = self.failure or f"the connection to worker {worker} broke: {error}"
                self.changed.notify_all()

    def _may_go_on(self, worker: int) -> bool:
        if self.over or self.failure:
            return True
        if self.sent[worker] - self.applied[worker] > MOST_WAITING:
            return False
        bound = self.args.staleness_bound
        return bound < 0 or self.sent[worker] - min(self.applied) <= bound

    def _fill(self, reply: torch.Tensor) -> None:
        reply[HEADER:].copy_(self.published)
        reply[VERSION], reply[STOP] = self.version, float(self.over)

    def _fail(self) -> None:
        print(f"parameter server: {self.failure}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(1)  # at once: the other threads wait for messages that may never come

    def _end(self, meter: Meter, statistics: Statistics, applied: int, stopped: bool) -> int:
        """Write the final numbers, leave the workers, and return the exit code."""
        args = self.args
        numbers = statistics.numbers()
        numbers |= {
            "latency_seconds": sorted(self.latencies)[len(self.latencies) // 2], "workers": self.workers,
            "batch_size": args.batch_size, "epoch_samples": self.epoch_samples, "gradient_bytes": self.net.bytes,
            "staleness_bound": args.staleness_bound, "planted_compute": args.compute_seconds,
            "planted_update": args.update_seconds, "planted_jitter": args.jitter, "gradients": applied,
            "epochs": applied * args.batch_size / self.epoch_samples, "stopped": stopped,
        }  # fmt: skip
        with meter.phase("pause"):
            if stopped:
                self._save(applied)
            else:
                numbers["accuracy"] = self.net.accuracy(*self.test.test)
        meter.final(**numbers)
        dist.destroy_process_group()
        return 0

    def _save(self, applied: int) -> None:
        """Write weights and progress, by rename: a checkpoint is never half written."""
        path = _checkpoint_path()
        path.parent.mkdir(exist_ok=True)
        partial = path.with_suffix(".partial")
        state = {"weights": self.net.weights, "velocity": self.velocity, "applied": applied}
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        checkpoint_written(path)

    def _resume(self) -> int:
        """Take up a checkpoint as `--resume` says, and return how many gradients were applied before it."""
        path = _checkpoint_path() if self.args.resume == "auto" else Path(self.args.resume)
        if self.args.resume == "no" or (self.args.resume == "auto" and not path.exists()):
            return 0
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.net.weights.copy_(state["weights"])
        self.velocity.copy_(state["velocity"])
        print(f"resumed from {path}: {state['applied']} gradients were applied", flush=True)
        return int(state["applied"])


def _checkpoint_path() -> Path:
    """Return where the newest checkpoint lies: in the run (all segments of a chain share it), or here outside one."""
    return Path(os.environ.get("HK_CHECKPOINTS") or Path(os.environ.get("HK_RUN", "."), "checkpoints"), "last.pt")


def _die_with_parent() -> None:
    """See that this process ends when the worker that started it does, however that ends (Linux)."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the worker that started the parameter server is gone")
