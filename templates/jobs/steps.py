"""Where the time of a step goes in a program without a line for it: a rank's Python loads this file from its run.

Training is seen where torch marks it itself, for its profiler, or calls back: batches, the optimizer's steps, DDP's
forward pass and the end of its backward pass, waiting for collectives. Each moment of a step belongs to the innermost
of these parts. What is left is `rest`; a thread samples it to tell computing from the program's own Python.
It writes `HK_STEPS`, a small file that is replaced as a whole.

Nothing of the toolkit is imported: it runs in the program's Python (3.6 or newer). What fails in here is passed over.
Functions of the program are not wrapped, so that its tracebacks have no further lines: what marks the beginning and
the end of a call is the life of the object that is called.
"""

import functools
import json
import os
import sys
import time
from _thread import allocate_lock, get_ident, start_new_thread
from binascii import crc32
from itertools import chain, islice
from math import log
from typing import Any
from weakref import ref

SKIPPED = 3
"""Steps at the beginning that are not recorded: memory is allocated, code is compiled."""
BLOCK = 8
"""Steps in a row that are recorded together."""
KEPT = 64
"""Blocks that are kept; of more, every second one goes, so that they stay spread over the run."""
COLLECTIVES = 32
"""Collectives of a step that are kept apart; what comes later adds to the last of them."""
OTHERS = 3
"""Rounds without a step of the optimizer whose steps count, after which it is no longer in use."""
SLOWEST, APART = 2, 32
"""Rounds in a row that show that another optimizer is slower, and most steps of the faster one in a round: an optimizer
that steps less often does not limit the training."""
MARK_SECONDS, SPENT = 24e-6, 0.005
"""What one mark costs about where caches are cold, and the share of a step that marks may cost: of shorter steps
fewer are recorded."""
EARLY, MOST = 64, 50e-6
"""Steps after which marks may cost so many seconds a step at most, however long the steps are."""
REGULAR = 4
"""Steps in a row with as many calls of optimizers as the one before, after which calls alone tell further steps."""
SOON, RARE = 0.05, 0.1
"""Mean seconds between samples in steps that are recorded, at first and after OFTEN samples; others have none."""
OFTEN = 1000
WRITTEN = (2.0, 30.0)
"""Seconds from the first step to the first writing; that doubles up to the second number."""
WAITED = 5
"""Seconds for which the end of the program waits for a file that is being written."""
HOOKED = 2
"""Parameters of a model whose gradients tell that a backward pass has begun: one may be unused."""
PARAMETERS = 32
"""Parameters of a module by which it is known to be one that trains."""
WORKLOADS = 16
"""Different amounts of work of a step that are kept."""
LOADERS, LISTS, BATCHES, INPUTS = 8, 16, 8, 16
"""DataLoaders that are looked at, of each the first lists of indices and batches whose checksums are kept, and inputs
of a model that are looked at."""
HEAD, ATTRIBUTES = 16, 32
"""Values of a list or a tensor, and attributes of a data set, that a checksum takes."""
LOSSES = 256
"""Losses that are kept to compare a training with another run of it."""
UPDATES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Updates after which weights are compared between the ranks."""
SYNTHETIC = ("fake", "synth", "dummy", "mock", "random")
"""Words in the names of data sets whose samples mean nothing."""
COMMUNICATORS = (
    "horovod", "mpi4py", "chainermn", "byteps", "bagua", "ray", "torch_xla", "hivemind", "smdistributed", "oneccl",
)  # fmt: skip
"""Packages that can move gradients past the process groups of torch.distributed."""

HOROVOD = ("horovod.torch.mpi_ops", "horovod.tensorflow.mpi_ops")
"""Modules of Horovod that tell how many processes it has."""
ONE_WORLD = ("MultiWorkerMirrored", "CollectiveAllReduce", "Mirrored", "OneDevice", "_Default", "Default")
"""Beginnings of the names of TensorFlow's strategies in which either all processes work together or none."""

REST, COMPUTE, DATA, COMMUNICATION = "rest", "compute", "data", "communication"
STEP, FORWARD, SHARDED = "step", "forward", "sharded"
STEPS = "Optimizer.step#"
DATALOADER = "torch.utils.data.dataloader"
MARKS = (
    (STEPS, STEP), ("Optimizer.zero_grad#", COMPUTE), ("enumerate(DataLoader)", DATA),
    ("DistributedDataParallel.forward", FORWARD), ("FSDP::root_pre_forward", SHARDED),
    ("FullyShardedDataParallel.forward", SHARDED),
)  # fmt: skip
"""Beginning of a name that torch gives to `record_function` → what that is."""
ONE_SIDED = ("BROADCAST", "REDUCE", "GATHER", "SCATTER", "SEND", "RECV", "RECVANYSOURCE")
"""Kinds of collectives that some ranks leave before the last one has entered."""
COMPUTES = ("nn", "autograd", "_dynamo", "_inductor", "_functorch", "_tensor.py", "functional.py", "_ops.py", "amp")
"""What computes wherever it is in a stack, below torch's folder; `optim` does with nothing of others on top of it."""


class Recorder:
    """The steps of this process."""

    def __init__(self, path: str) -> None:
        self.path, self.pid = path, os.getpid()
        self.on = False
        """Whether this step is recorded."""
        self.over = False
        self.framework = self.device = ""
        self.thread = self.native = 0
        """The thread that trains."""
        self.optimizer = None  # type: Any
        """Id of the optimizer whose steps count: the slowest one in use, so that a round of several is one step."""
        self.others = self.steps = 0
        self.patience = OTHERS
        """Calls of other optimizers in a row by which that one is known to be no longer in use."""
        self.turns = 0
        """Calls of that optimizer."""
        self.rivals = {}  # type: Any
        """Id of another optimizer → [calls, `turns` at its last call, rounds in a row in which it was slower]."""
        self.applied = self.skipped = 0
        """Calls of optimizers, and calls that a GradScaler left out because gradients were not finite."""
        self.calls = self.each = self.regular = 0
        """Calls of optimizers in this step and in the last one, and steps in a row with as many."""
        self.first = self.last = 0.0
        """When the first and the last step ended, s since 1970."""
        self.clock = Clock()
        self.asleep = 0
        """Such calls until the marks are wanted again."""
        self.rests = []  # type: Any
        """Pairs of functions: what takes marks away, and what puts them back."""
        self.counter = False
        """Whether something counts those calls without the marks."""
        self.stride = 1
        """Every so manieth block is recorded; a power of two, so that ranks with different ones have some in common."""
        self.blocks = []  # type: Any
        self.block = None  # type: Any
        self.stack = [REST]  # type: Any
        """Parts that the program is in; tokens of their beginnings are the objects themselves."""
        self.spent = {}  # type: Any
        self.since = self.cpu = self.began = 0.0
        self.marks = 0
        self.collectives = []  # type: Any
        self.entered = 0.0
        self.boundary = False
        """Whether an epoch ended in this step: what is between epochs is not a step's."""
        self.seen = {DATA: 0, COMMUNICATION: 0}
        self.forwards = self.backwards = 0
        self.backward = False
        self.loads = False
        """Whether a DataLoader was used so far."""
        self.work = {True: [0, 0, True], False: [0, 0, True]}  # type: Any
        """Whether gradients are recorded → samples and tokens of this step so far, and whether they are counted from
        batches of a DataLoader. Where both have samples, those without gradients are of an evaluation."""
        self.workloads = {}  # type: Any
        """(samples, tokens, from a DataLoader) → steps."""
        self.data = Data()
        self.replicas = 0
        """Processes of the largest group in which a wrapper keeps copies of one model, or shards of it."""
        self.group = Groups()
        self.looks = False
        self.look = self.look_away = None  # type: Any
        """Begin and cease to look at the input of the model, where there is no DataLoader."""
        self.watched = {}  # type: Any
        """Id of a parameter, or of a DDP model, whose backward pass is watched → what is known of its model."""
        self.samples = {COMPUTE: 0, "host": 0, "idle": 0}
        self.sampling = False
        self.wake, self.writing = allocate_lock(), allocate_lock()
        self.random = self.pid
        self.undo = []  # type: Any
        self.comparison = None  # type: Any
        """What is compared with another run of the same training; None in all other runs."""

    # ---- what the marks call, in the program's threads ----

    def push(self, part: str) -> Any:
        """Enter a part; returns what leaves it, None where nothing is recorded."""
        if not self.on or get_ident() != self.thread:
            return None
        token = [part]
        now = self._switch()
        if part == COMMUNICATION and not self._communicates():
            self.entered = now
        self.stack.append(token)
        return token

    def pop(self, token: Any, matched: bool = True) -> None:
        """Leave a part; `matched`: all ranks leave it together."""
        if token is None or not self.on or get_ident() != self.thread:
            return
        place = next((i for i in range(len(self.stack) - 1, 0, -1) if self.stack[i] is token), 0)
        if not place:  # of a step before
            return
        now = self._switch()
        del self.stack[place:]
        if token[0] == COMMUNICATION and not self._communicates():
            self.seen[COMMUNICATION] += 1
            if matched and len(self.collectives) < COLLECTIVES:
                self.collectives.append(now - self.entered)
            elif matched:
                self.collectives[-1] += now - self.entered
        elif token[0] == DATA:
            self.seen[DATA] += 1

    def stepped(self, optimizer: Any, framework: str, device: Any) -> None:
        """Take notice of the end of an optimizer's step; `device()` returns what it computes on."""
        self.calls += 1
        self.applied += 1
        if self.over or os.getpid() != self.pid or not self._counts(id(optimizer)):
            return
        now = time.perf_counter()
        if not self.steps:
            self._first(framework, device())
        elif get_ident() != self.thread:
            return
        elif self.on:
            self._switch(now)
            self._keep(now)
        self.steps += 1
        self.clock.stepped(now, self.steps >= SKIPPED)
        self.last = time.time()
        self.first = self.first or self.last
        self.regular = self.regular + 1 if self.calls == self.each else 0
        self.calls, self.each = 0, self.calls
        if self.steps >= SKIPPED:
            self.group.count(self.steps, self.on and not self.boundary)
        if self.look is not None and SKIPPED <= self.steps < SKIPPED + BLOCK and not self.looks and not self.loads:
            self.looks = True
            self.look()
        elif self.looks and self.steps >= SKIPPED + BLOCK:
            self.looks = False
            self.look_away()
        number = (self.steps - SKIPPED) // BLOCK
        before, self.on = self.on, self.steps >= SKIPPED and number % self.stride == 0
        self.boundary, self.backward = False, False
        if self.on:
            del self.stack[1:]
            self.spent, self.collectives, self.marks = {}, [], 0
            self.work = {True: [0, 0, True], False: [0, 0, True]}
            self.since = self.began = now
            self.cpu = _thread_time()
            if not before:
                self._rouse()
        elif self.steps > SKIPPED:
            self._rest(number)

    def _rest(self, number: int) -> None:
        """Do without the marks until the step before the next block that is recorded; `number`: of this block."""
        steps = (number // self.stride + 1) * self.stride * BLOCK + SKIPPED - self.steps - 1
        if self.counter and self.regular >= REGULAR and steps > 0:
            self.steps += steps
            self.asleep = steps * self.each
            for sleep, _ in self.rests:
                sleep()

    def called(self) -> None:
        """Take notice of a call of an optimizer while there are no marks."""
        self.last = time.time()
        self.applied += 1
        self.asleep -= 1
        if self.asleep % self.each == 0:
            self.clock.stepped(time.perf_counter(), True)
        if self.asleep <= 0 and not self.over:
            for _, awake in self.rests:
                awake()

    def _rouse(self) -> None:
        """Have the thread look what there is to do."""
        if self.sampling and self.wake.locked():
            self.wake.release()

    def _first(self, framework: str, device: str) -> None:
        self.framework, self.device = framework, device
        self.thread = get_ident()
        threading = sys.modules.get("threading")  # type: Any
        self.native = getattr(threading, "get_native_id", os.getpid)() if threading is not None else self.pid
        self.sampling = True
        self.wake.acquire()
        try:
            start_new_thread(self._sample, ())
        except RuntimeError:  # there may be no more threads
            self.sampling = False

    def _counts(self, number: int) -> bool:
        """Return whether this optimizer's steps count: those of the slowest one in use, at first of the first one."""
        if self.optimizer is None:
            self.optimizer = number
        if number == self.optimizer:
            self.turns += 1
            self.others = 0
            return True
        self.others += 1
        calls, before, rounds = self.rivals.get(number, (0, self.turns, 0))
        apart = self.turns - before
        rounds = rounds + 1 if 2 <= apart <= APART else 0
        self.rivals[number] = calls + 1, self.turns, rounds
        if rounds < SLOWEST and self.others < self.patience:
            return False
        if rounds >= SLOWEST:  # what was recorded so far is of parts of a step
            self.patience = OTHERS * apart
            self.steps, self.on, self.group, self.clock = calls, False, Groups(), Clock()
            self.blocks, self.block, self.workloads = [], None, {}
            self.looks = False
        else:
            self.patience = OTHERS
            self.clock.more = min(calls, self.others - 1)
            self.steps += self.clock.more
        self.optimizer, self.turns, self.others, self.rivals = number, 1, 0, {}
        return True

    def _communicates(self) -> bool:
        return any(each[0] == COMMUNICATION for each in self.stack[1:])

    def _switch(self, now: float = 0.0) -> float:
        """Give the time since the last mark to the part that the program is in; returns the time."""
        now = now or time.perf_counter()
        part = self.stack[-1]
        part = part if part is REST else part[0]
        self.spent[part] = self.spent.get(part, 0.0) + now - self.since
        cpu = _thread_time()
        if part is REST:
            self.spent["cpu"] = self.spent.get("cpu", 0.0) + cpu - self.cpu
        self.cpu, self.since = cpu, now
        self.marks += 1
        return now

    def _keep(self, now: float) -> None:
        index, number = (self.steps - SKIPPED) // BLOCK, self.steps + 1
        trained, aside = self.work[True], self.work[False]
        if self.boundary or (trained[0] and aside[0]):
            self.block = None
            return
        if self.block is None or self.block["index"] != index or self.block["last"] != number - 1:
            self._thin()
            self.block = {
                "index": index, "first": number, "at": self.began, "seconds": 0.0, "parts": {}, "collectives": [],
                "marks": 0,
            }  # fmt: skip
            self.blocks.append(self.block)
        block = self.block
        block["last"] = number
        seconds = now - self.began
        block["seconds"] += seconds
        for part, spent in self.spent.items():
            block["parts"][part] = block["parts"].get(part, 0.0) + spent
        block["collectives"].append(self.collectives)
        block["marks"] += self.marks
        workload = tuple(aside if aside[0] else trained)
        if (workload[0] or self.framework != "torch") and (
            workload in self.workloads or len(self.workloads) < WORKLOADS
        ):
            self.workloads[workload] = self.workloads.get(workload, 0) + 1
        if (number - SKIPPED) // BLOCK != index:
            most = SPENT * block["seconds"]
            if number > EARLY:
                most = min(most, MOST * (number - block["first"] + 1))
            while block["marks"] * MARK_SECONDS > most * self.stride and self.stride < 64:
                self.stride *= 2

    def _thin(self) -> None:
        if len(self.blocks) >= KEPT:
            self.stride *= 2
            self.blocks = [each for each in self.blocks if each["index"] % self.stride == 0]
            if len(self.blocks) >= KEPT:  # epochs of few steps cut blocks into many
                self.blocks = self.blocks[::2]

    # ---- the thread ----

    def _sample(self) -> None:
        try:
            state, switches = _state_reader(self.native), _switches_reader()
            now = time.perf_counter()
            write, pause, taken = now + WRITTEN[0], WRITTEN[0], 0
            while not self.over and self.sampling:
                wait = self._gap(SOON if taken < OFTEN else RARE) if self.on else max(RARE, write - now)
                before = switches()
                roused = self.wake.acquire(True, wait)
                # one wait was this one; who waits once more waits for Python's lock, which running Python code holds
                held = switches() - before > 1
                if not roused and self.on and self.stack[-1] is REST and self.framework == "torch":
                    taken += 1
                    self._look(held, state)
                now = time.perf_counter()
                if now > write:
                    self.write()
                    pause = min(2 * pause, WRITTEN[1])
                    write = now + pause
        except Exception:
            pass
        self.sampling = False

    def _gap(self, mean: float) -> float:
        """Return a random time, s, so that every moment of a step is as likely to be looked at (exponential)."""
        self.random = (1103515245 * self.random + 12345) % 2147483648
        return -mean * log((self.random + 1) / 2147483649.0)

    def _look(self, held: bool, state: Any) -> None:
        """Tell what the training thread did; `held`: some Python code ran when this thread wanted to look."""
        if _computes(sys._current_frames().get(self.thread)):
            kind = COMPUTE
        elif held:
            kind = "host"
        else:  # an operation called from the program's own lines, or sleep
            running = state()
            kind = "unknown" if running is None else COMPUTE if running == b"R" else "idle"
        self.samples[kind] = self.samples.get(kind, 0) + 1

    # ---- the file ----

    def write(self) -> None:
        """Replace the file; never raises."""
        if self.over or os.getpid() != self.pid or not self.writing.acquire(True, WAITED):
            return
        try:
            steps = self.steps + -self.asleep // max(1, self.each)
            if steps >= SKIPPED:
                self.group.count(steps)
            text = json.dumps(
                {
                    "schema_version": 1, "framework": self.framework, "device": self.device,
                    "steps": steps, "skipped": self.skipped,
                    "first_step": round(self.first, 3), "last_step": round(self.last, 3), "timed": self.clock.report(),
                    "seen": dict(self.seen, forward=self.forwards, backward=self.backwards),
                    "work": [[*workload, steps] for workload, steps in list(self.workloads.items())],
                    "group": self.group.report(), "data": self.data.report(), "replicas": self.replicas,
                    "samples": dict(self.samples), "blocks": [_rounded(each) for each in list(self.blocks)],
                    **(self.comparison.report() if self.comparison else {}),
                }
            )  # fmt: skip
            made = self.path + ".part"
            with open(made, "w") as stream:
                stream.write(text)
            os.replace(made, self.path)
        except Exception:
            pass
        finally:
            self.writing.release()

    def leave(self) -> None:
        """Write what there is when the program ends."""
        if not self.over and self.steps and os.getpid() == self.pid:
            self.on = False
            self.write()
            self.over = True
            self._rouse()
            self.sampling = False

    def stop(self) -> None:
        """Record nothing from now on, and take all marks away."""
        self.on, self.over = False, True
        self.look = None
        for each in self.undo:
            each()
        self.undo = []
        self._rouse()
        self.sampling = False
        try:
            os.unlink(self.path)
        except OSError:
            pass


class Clock:
    """The time of all steps but the first ones, those with an evaluation left out.

    An evaluation reads a DataLoader between two steps while gradients are not recorded or the model does not train.
    """

    def __init__(self) -> None:
        self.steps = self.evaluations = self.more = 0
        """Timed steps, evaluations, and further steps since the last one."""
        self.seconds = 0.0
        self.last = None  # type: Any
        """When the last step ended."""
        self.evaluated = self.evaluating = False
        """Whether an evaluation began since then, and whether a model that trains was told not to."""

    def stepped(self, now: float, timed: bool) -> None:
        """Take the time of a step; `timed`: whether the next one counts."""
        if self.last is not None and self.evaluated:
            self.evaluations += 1
        elif self.last is not None:
            self.steps += 1 + self.more
            self.seconds += now - self.last
        self.last, self.more = now if timed else None, 0
        self.evaluated = self.evaluating = False

    def reads(self) -> None:
        """Take notice of a DataLoader that begins to be read."""
        self.evaluated = self.evaluated or self.evaluating or not trains()

    def report(self) -> Any:
        """Return what was measured, as JSON values."""
        return {"steps": self.steps, "seconds": float("%.6g" % self.seconds), "evaluations": self.evaluations}


class Groups:
    """The process groups of torch.distributed: how large, and how many collectives ran between steps.

    Every group counts its collectives, also those that DDP's reducer and FSDP start in C++.
    """

    def __init__(self) -> None:
        self.world = 0
        """Processes of the default group, the most at any step; 0 where there never was one."""
        self.collectives = 0  # type: Any
        """Since the first look; None where a group does not tell."""
        self.first = self.last = 0
        """Steps at the first and the last look."""
        self.numbers = {}  # type: Any
        """Group → its number at the last look."""
        self.hidden = False
        """Whether another framework trains, whose collectives are not counted here."""
        self.exchanged = 0
        """Exchanges of gradients by Horovod or ChainerMN."""
        self.others = set()  # type: Any
        self.parts = False
        """Whether some group has several processes, but not all of them: tensors or layers may be divided."""
        self.inside = self.plain = 0
        """Collectives in recorded steps without the end of a DataLoader, and such steps: no evaluation is in them."""
        self.recent = self.step = 0
        """Collectives since the end of the last step at which `count` looked, and that step."""

    def count(self, steps: int, plain: Any = None) -> None:
        """Look at the groups after so many steps; never raises.

        `plain`: at the end of a step, whether it was recorded and no DataLoader ended in it; None within a step.
        """
        try:
            self._count(steps)
            if plain is not None:
                if plain and steps == self.step + 1:
                    self.inside += self.recent
                    self.plain += 1
                self.recent, self.step = 0, steps
        except Exception:
            self.collectives = None

    def _count(self, steps: int) -> None:
        module = sys.modules.get("torch.distributed.distributed_c10d")  # type: Any
        if module is not None:
            if module.is_initialized():
                self.world = max(self.world, module.get_world_size())
            elif self.world:  # the program has left its group
                return
            numbers = {}
            for group in list(module._world.pg_map):
                self.parts = self.parts or 1 < group.size() < self.world
                numbers[id(group)] = number = group._get_sequence_number_for_group()
                before = self.numbers.get(id(group), 0 if self.first else number)
                if self.collectives is not None:
                    self.collectives += max(0, number - before)
                    self.recent += max(0, number - before)
            self.numbers = numbers
        if not self.world and "horovod" in sys.modules:
            self.horovod()
        self.first = self.first or steps
        self.last = steps

    def elsewhere(self, world: int, other: str) -> None:
        """Take notice of another framework with so many processes; `other`: what may exchange gradients besides."""
        self.hidden = True
        self.world = max(self.world, world)
        if other:
            self.others.add(other)

    def horovod(self) -> None:
        """Take notice of Horovod's processes, if it is used; never raises."""
        for name in HOROVOD:
            try:
                self.elsewhere(int(sys.modules[name].size()), "")  # type: ignore[attr-defined]
                return
            except Exception:  # not loaded, or not begun
                pass

    def report(self) -> Any:
        """Return what was seen, as JSON values."""
        others = [name for name in COMMUNICATORS if name in sys.modules] + sorted(self.others)
        if self.hidden and self.world and "horovod" in others:  # it tells how many there are
            others.remove("horovod")
        rpc = sys.modules.get("torch.distributed.rpc.api")  # type: Any
        if rpc is not None and rpc._is_current_rpc_agent_set():
            others.append("torch.distributed.rpc")
        return {
            "world": self.world, "collectives": self.exchanged or None if self.hidden else self.collectives,
            "steps": self.last - self.first, "inside": self.inside, "plain": 0 if self.hidden else self.plain,
            "others": others, "parts": self.parts,
        }  # fmt: skip


class Data:
    """The samples that this rank reads, by the lists of indices that DataLoaders draw from their samplers.

    Together with checksums of the data set and of some batches they show whether another rank reads the same.
    """

    def __init__(self) -> None:
        self.loaders = {}  # type: Any
        """Id of what a DataLoader draws indices from → `Loader`."""
        self.training = None  # type: Any
        """The loader of the first recorded training step."""
        self.inputs = 0
        """Inputs of the model that were compared with the batch."""
        self.batch = 0
        """Samples of the last batch."""
        self.divided = False
        """Whether the model took a part of a batch only."""

    def draws(self, iterator: Any) -> None:
        """Count the indices that a DataLoader's iterator draws in its first epoch."""
        indices = iterator._sampler_iter
        if iterator._dataset_kind != 0 or type(indices) is chain or type(iterator).__module__ != DATALOADER:
            return
        if iterator._num_yielded or getattr(iterator, "_send_idx", 0):  # in the middle of an epoch
            return
        loader = self.loader(iterator)
        if loader is None and len(self.loaders) < LOADERS:
            loader = Loader(iterator)
            self.loaders[id(iterator._index_sampler)] = loader
        if loader is not None and loader.first is None:
            # objects of C: if the sampler fails, its traceback has no further lines
            loader.first = ref(iterator)
            iterator._sampler_iter = chain(map(loader.drawn, indices), loader.end())

    def loader(self, iterator: Any) -> Any:
        """Return what is known of an iterator's DataLoader."""
        loader = self.loaders.get(id(iterator._index_sampler))
        return loader if loader is not None and loader.sampler() is iterator._index_sampler else None

    def read(self, iterator: Any, batch: Any, samples: int) -> None:
        """Take a checksum of a batch of a training step."""
        self.batch = samples
        loader = self.loader(iterator)
        if loader is None:
            return
        self.training = self.training or loader
        if loader is self.training and loader.first() is iterator and len(loader.batches) < BATCHES:
            loader.batches[iterator._num_yielded] = content(batch)

    def report(self) -> Any:
        """Return what was seen, as JSON values; None without a DataLoader of indices."""
        loader = self.training
        return loader and {
            "size": loader.size, "epoch": loader.drawn_samples if loader.ended else None, "divided": self.divided,
            "largest": loader.largest, "lists": loader.lists, "set": loader.dataset, "synthetic": loader.synthetic,
            "batches": {str(number): checksum for number, checksum in list(loader.batches.items())},
        }  # fmt: skip


class Loader:
    """A DataLoader and its data set."""

    def __init__(self, iterator: Any) -> None:
        self.sampler = ref(iterator._index_sampler)
        self.first = None  # type: Any
        """Its iterator of the first epoch."""
        self.size = len(iterator._dataset)
        self.drawn_samples = self.largest = 0
        """Samples of its first epoch so far, and of its largest batch."""
        self.ended = False
        self.lists = []  # type: Any
        self.batches = {}  # type: Any
        """Number of a batch → its checksum."""
        names, values = [], []  # type: Any
        describe(iterator._dataset, names, values)
        self.synthetic = any(word in name.lower() for name in names for word in SYNTHETIC)
        self.dataset = checksum(names + values) if values else None
        """Checksum of what the data set consists of; None where it does not show that."""

    def drawn(self, indices: Any) -> Any:
        """Count a list of indices and return it."""
        try:
            single = isinstance(indices, int)
            number = 1 if single else len(indices)
            self.drawn_samples += number
            self.largest = max(self.largest, number)
            if len(self.lists) < LISTS:
                self.lists.append(checksum([indices] if single else list(indices[:HEAD])))
        except Exception:
            self.lists = [None]
        return indices

    def end(self) -> Any:
        """Yield nothing, after the last list."""
        self.ended = True
        return
        yield


def checksum(values: Any) -> int:
    """Return a number for values that is the same in every process."""
    return crc32(repr(values).encode("utf-8", "replace"))


def content(batch: Any) -> Any:
    """Return a checksum of a batch, by its integers where it has some: they are not augmented; None without tensors."""
    tensors = []  # type: Any
    gather(batch, tensors)
    integers = [each for each in tensors if not each.dtype.is_floating_point]
    values = [each.reshape(-1)[: 4 * HEAD].tolist() for each in integers or tensors]
    return checksum(values) if values else None


def gather(batch: Any, tensors: Any, depth: int = 0) -> None:
    """Collect the tensors of a batch in memory."""
    if hasattr(batch, "is_floating_point"):
        if batch.device.type == "cpu":
            tensors.append(batch)
    elif depth < 3 and (hasattr(batch, "values") or isinstance(batch, (list, tuple))):
        for part in list(batch.values() if hasattr(batch, "values") else batch)[:8]:
            gather(part, tensors, depth + 1)


def describe(thing: Any, names: Any, values: Any, depth: int = 0) -> None:
    """Collect names of types, and a few values, of which a data set consists."""
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str, bytes):
        values.append(thing[:1000] if kind in (str, bytes) else thing)
    elif kind in (list, tuple, range):
        names.append("%s %d" % (kind.__name__, len(thing)))
        for part in list(thing[:4]) + list(thing[-2:]):
            describe(part, names, values, depth + 1)
    elif kind.__module__.split(".")[0] in ("torch", "numpy") and hasattr(thing, "tolist"):
        names.append("%s %s" % (kind.__name__, tuple(thing.shape)))
        if getattr(getattr(thing, "device", None), "type", "cpu") == "cpu":
            flat = thing.reshape(-1)
            values.append([flat[:HEAD].tolist(), flat[-HEAD:].tolist()])
    else:
        names.append(kind.__name__)
        if hasattr(thing, "__fspath__"):
            values.append(os.fspath(thing))
        elif depth < 4 and kind is not dict and not callable(thing):
            thing = getattr(thing, "__dict__", None)
        if type(thing) is dict and depth < 4:
            for name in sorted(filter(lambda name: type(name) is str, thing))[:ATTRIBUTES]:
                names.append(name)
                describe(thing[name], names, values, depth + 1)


# ---- what the training thread does ----


def _thread_time() -> float:
    """Return the processor time of this thread, s; Python 3.6 has no such clock of its own."""
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def _state_reader(native: int) -> Any:
    """Return a function for the state of a thread, as Linux tells it: `R`, `S`, `D`; None where that is not known."""
    try:
        number = os.open("/proc/self/task/%d/stat" % native, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return lambda: None

    def state() -> Any:
        return os.pread(number, 512, 0).rpartition(b")")[2][1:2]

    return state


def _switches_reader() -> Any:
    """Return a function for how often this thread has waited so far."""
    from resource import RUSAGE_THREAD, getrusage

    return lambda: getrusage(RUSAGE_THREAD).ru_nvcsw


_KINDS = {}  # type: Any


def _computes(frame: Any) -> bool:
    """Return whether a stack computes: a module of torch's is on it that does."""
    others = False
    for _ in range(100):
        if frame is None:
            return False
        file = frame.f_code.co_filename
        kind = _KINDS.get(file)
        if kind is None:
            kind = _KINDS[file] = _kind_of(file)
        if kind == COMPUTE or (kind == "optimizer" and not others):
            return True
        others = others or kind == "others"
        frame = frame.f_back
    return False


def _kind_of(file: str) -> str:
    torch = sys.modules.get("torch")  # type: Any
    folder = os.path.dirname(getattr(torch, "__file__", None) or "")
    if folder and file.startswith(folder + os.sep):
        first = file[len(folder) + 1 :].split(os.sep)[0]
        return COMPUTE if first in COMPUTES else "optimizer" if first == "optim" else "framework"
    return COMPUTE if "torchinductor" in file else "others"


def _rounded(block: Any) -> Any:
    def digits(value: float) -> float:
        return float("%.6g" % value)

    return {
        "first": block["first"], "last": block["last"], "at": round(block["at"], 4),
        "seconds": digits(block["seconds"]),
        "parts": {part: digits(spent) for part, spent in list(block["parts"].items())},
        "collectives": [[digits(each) for each in step] for step in list(block["collectives"])],
    }  # fmt: skip


# ---- marks: in each a failure is passed over ----


class Called(functools.partial):  # type: ignore[type-arg]
    """A call of the program's whose end is known by the end of this object."""

    left = None  # type: Any

    def __del__(self) -> None:
        if self.left is not None:
            try:
                self.left()
            except Exception:
                pass


class Marked:
    """A method of a class whose calls are marked: it is looked up, called, and let go."""

    def __init__(self, original: Any, entered: Any) -> None:
        self.original, self.entered = original, entered

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        bound = self.original.__get__(thing, owner)
        if thing is None:
            return bound
        try:
            left = self.entered(thing)
            if left is not None:
                bound = Called(bound)
                bound.left = left
        except Exception:
            pass
        return bound


def mark(recorder: Recorder, owner: Any, name: str, entered: Any, rests: bool = False) -> None:
    """Mark the calls of a method: `entered(thing)` returns what is to be done when it has returned, or None.

    `rests`: the mark is needed in recorded steps only.
    """
    original = owner.__dict__.get(name)
    if original is None or isinstance(original, Marked):
        return
    marked = Marked(original, entered)
    setattr(owner, name, marked)
    recorder.undo.append(lambda: setattr(owner, name, original))
    if rests:
        recorder.rests.append((lambda: setattr(owner, name, original), lambda: setattr(owner, name, marked)))


def attach_profiler(recorder: Recorder, module: Any) -> None:
    """Follow torch's own marks: `record_function` is entered and left around batches, steps and DDP's forward pass."""
    kind = module.record_function
    enter, leave = kind.__enter__, kind.__exit__
    names = {}  # type: Any
    """Name of a mark → what it is."""
    inside = []  # type: Any
    """Of the training thread: (mark, token, what it is, optimizer)."""

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        try:
            what = names.get(self.name)
            if what is None:
                what = next((each for begin, each in MARKS if str(self.name).startswith(begin)), "")
                if len(names) < 1000:
                    names[self.name] = what
            recorder.loads = recorder.loads or what == DATA
            if (recorder.on and what) or what == STEP:
                begin_mark(self, what, sys._getframe(1))
        except Exception:
            pass
        return enter(self)

    def begin_mark(mark: Any, what: str, frame: Any) -> None:
        told = None
        if what == STEP:
            told = frame.f_locals.get("self")
            arguments = frame.f_locals.get("args", ())
            closure = len(arguments) > 1 or frame.f_locals.get("kwargs")
            token = None if closure else recorder.push(COMPUTE)
        elif what == FORWARD:
            token = recorder.push(COMPUTE)
            if token is not None:
                recorder.forwards += 1
                recorder.backward = False
            model = frame.f_locals.get("self")
            if id(model) not in recorder.watched:
                watch_backward(recorder, list(model.parameters()), True)
                recorder.watched[id(model)] = {"common": True}
            if token is not None and recorder.data.inputs < INPUTS:
                take_inputs(frame.f_locals, [model.process_group])
        elif what == SHARDED:
            token = None
            if recorder.data.inputs < INPUTS:
                take_inputs(frame.f_locals, shard_groups(frame.f_locals.get("self")))
        else:
            token = recorder.push(what)
        if token is not None or told is not None:
            inside.append((mark, token, what, told))
            del inside[:-20]

    def take_inputs(names: Any, groups: Any) -> None:
        recorder.data.inputs += 1
        recorder.replicas = max([recorder.replicas] + [group.size() for group in groups])
        inputs = list(names.get("inputs") or names.get("args") or ()) + list((names.get("kwargs") or {}).values())
        recorder.data.divided = recorder.data.divided or 0 < extent(inputs)[0] < recorder.data.batch

    def begin(optimizer: Any) -> str:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        watch_backward(recorder, parameters, False)
        return str(parameters[0].device.type)

    @functools.wraps(leave)
    def left(self: Any, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        try:
            if inside and inside[-1][0] is self:
                _, token, what, told = inside.pop()
                recorder.pop(token)
                if what == DATA and exc_type is StopIteration:
                    recorder.boundary = True
                elif what == DATA and token is not None and exc_type is None:
                    read_batch(recorder, sys._getframe(1).f_locals)
                if told is not None and exc_type is None and not recorder.over:
                    if any(entry[3] is told for entry in inside):  # Horovod's optimizer calls the step of its own base
                        recorder.calls += 1
                    else:
                        recorder.stepped(told, "torch", lambda: begin(told))
        except Exception:
            pass
        return leave(self, exc_type, exc_value, traceback)

    def awake() -> None:
        kind.__enter__, kind.__exit__ = entered, left

    def undo() -> None:
        kind.__enter__, kind.__exit__ = enter, leave

    awake()
    recorder.rests.append((undo, awake))
    recorder.undo.append(undo)


def attach_optimizer(recorder: Recorder, module: Any) -> None:
    """Count the steps of optimizers while there are no marks; before PyTorch 2.0 the marks stay."""

    def called(*_: Any) -> None:
        try:
            if recorder.asleep > 0:
                recorder.called()
        except Exception:
            pass

    recorder.undo.append(module.register_optimizer_step_post_hook(called).remove)
    recorder.counter = True


def shard_groups(model: Any) -> Any:
    """Return the process groups in which FSDP, of version 1 or 2, divides a model."""
    if hasattr(model, "process_group"):
        return [model.process_group]
    parts = []  # type: Any
    for state in model._state_ctx.all_states:
        parts += getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
    return [part.mesh_info.shard_process_group for part in parts if part is not None]


def read_batch(recorder: Recorder, names: Any) -> None:
    """Count the batch that a DataLoader hands out; `names`: the local variables of its iterator's `__next__`.

    Its first dimension counts samples if torch stacked them itself, or if it is at most the loader's batch size: some
    models take the time first.
    """
    iterator, batch = names.get("self"), names.get("data")
    samples, tokens = extent(batch)
    collated = iterator._auto_collation
    size = getattr(iterator._index_sampler, "batch_size", None) if collated else None
    stacked = collated and getattr(iterator._collate_fn, "__name__", "") == "default_collate"
    counts = bool(stacked or (size and 0 < samples <= size))
    training = trains()
    work = recorder.work[training]
    work[0] += samples
    work[1] += tokens
    work[2] = work[2] and counts and samples > 0
    if training:
        recorder.data.read(iterator, batch, samples)


def attach_indices(recorder: Recorder, module: Any) -> None:
    """Look at the lists of indices that DataLoaders draw: each time, their iterators look up a method."""
    mark(recorder, module._BaseDataLoaderIter, "_next_index", recorder.data.draws, rests=True)

    def begins(loader: Any) -> None:
        if get_ident() == recorder.thread:
            recorder.clock.reads()

    mark(recorder, module.DataLoader, "__iter__", begins)


def trains() -> bool:
    """Return whether torch records gradients now: it does not in most evaluations."""
    return bool(sys.modules["torch"].is_grad_enabled())


def extent(batch: Any, depth: int = 0) -> Any:
    """Return the samples and the tokens of a batch by its first tensor; zeros where it has none.

    Tokens are counted in integers of the shape (samples, length).
    """
    shape = getattr(batch, "shape", None)
    if shape is not None and len(shape):
        whole = len(shape) == 2 and shape[1] > 1 and str(batch.dtype).split(".")[-1] in ("int64", "int32")
        return int(shape[0]), int(shape[0] * shape[1]) if whole else 0
    if depth < 3:
        if hasattr(batch, "values"):
            parts = [batch["input_ids"]] if "input_ids" in batch else list(batch.values())
        else:
            parts = list(batch) if isinstance(batch, (list, tuple)) else []
        for part in parts[:8]:
            samples, tokens = extent(part, depth + 1)
            if samples:
                return samples, tokens
    return 0, 0


def attach_inputs(recorder: Recorder, module: Any) -> None:
    """Look at the input of the outermost module for one block of steps, in a program without a DataLoader.

    This shows whether the work of a step depends on the number of processes. It is not done where torch compiled
    anything: with a hook on all modules it would compile again.
    """
    hooks = []  # type: Any
    state = {"outermost": 0}

    def entering(layer: Any, inputs: Any) -> None:
        try:
            if not layer.training or get_ident() != recorder.thread or not trains():
                return
            if not state["outermost"]:
                state["outermost"] = id(layer)
            if state["outermost"] == id(layer):
                samples, tokens = extent(inputs)
                work = recorder.work[True]
                work[0] += samples
                work[1] += tokens
                work[2] = False
        except Exception:
            pass

    def look() -> None:
        look_away()
        dynamo = sys.modules.get("torch._dynamo.utils")  # type: Any
        if dynamo is None or not dynamo.counters.get("frames"):
            hooks.append(module.register_module_forward_pre_hook(entering))

    def look_away() -> None:
        while hooks:
            hooks.pop().remove()

    recorder.look, recorder.look_away = look, look_away
    recorder.undo.append(look_away)

    def switched(layer: Any) -> Any:
        if recorder.over or not recorder.watched or get_ident() != recorder.thread:
            return None

        def left() -> None:
            if any(id(each) in recorder.watched for each in islice(layer.parameters(), PARAMETERS)):
                recorder.clock.evaluating = not layer.training

        return left

    mark(recorder, module.Module, "train", switched)


def watch_backward(recorder: Recorder, parameters: Any, common: bool) -> None:
    """Have the beginning and the end of a model's backward pass told; `common`: DDP shares its gradients.

    The first gradient asks torch's engine to call back when all are there. DDP asks the same with its last gradient, so
    later: that call waits for the gradients of others. The first call asks once more, and so is called again behind it.
    """
    parameters = [each for each in parameters if each.requires_grad]
    known = next((recorder.watched[id(each)] for each in parameters if id(each) in recorder.watched), None)
    if known is not None:  # by its optimizer already
        known["common"] = known["common"] or common
    if known is not None or not parameters:
        return
    model = {"common": common}
    recorder.watched.update((id(each), model) for each in parameters)
    if any(each.device.type != "cpu" for each in parameters):
        return
    torch = sys.modules["torch"]  # type: Any
    engine = torch.autograd.Variable._execution_engine
    tokens = []  # type: Any

    def gradient(_: Any) -> None:
        if recorder.on and not recorder.backward and get_ident() == recorder.thread:
            recorder.backward = True
            tokens[:] = [recorder.push(COMPUTE)]
            engine.queue_callback(there)

    def there() -> None:
        recorder.backward = False
        recorder.pop(tokens.pop())
        if model["common"]:
            tokens.append(recorder.push(COMMUNICATION))
            engine.queue_callback(shared)

    def shared() -> None:
        if tokens and tokens[-1] is not None:
            recorder.pop(tokens.pop())
            recorder.backwards += 1

    apart = max(1, len(parameters) // HOOKED)
    hooked = [ref(each) for each in parameters[::-1][::apart]]  # the last is the first whose gradient is known
    handles = []  # type: Any

    def put() -> None:
        for parameter in [each() for each in hooked]:
            if parameter is None:
                continue
            ask = getattr(parameter, "register_post_accumulate_grad_hook", None) or parameter.register_hook
            handles.append(ask(gradient))

    def take() -> None:
        while handles:
            handles.pop().remove()

    put()
    recorder.rests.append((take, put))
    recorder.undo.append(take)


def attach_collectives(recorder: Recorder, module: Any) -> None:
    """Mark the waiting for a collective of torch.distributed: all that wait for one call the method of its handle."""
    kinds = {}  # type: Any

    def entered(work: Any) -> Any:
        token = recorder.push(COMMUNICATION)
        if token is None:
            return None
        told = work._get_op_type()
        name = kinds.setdefault(told, str(told).rpartition(".")[2])
        return lambda: recorder.pop(token, name not in ONE_SIDED)

    mark(recorder, module.Work, "wait", entered, rests=True)


def attach_scaler(recorder: Recorder, module: Any) -> None:
    """Count the steps that a GradScaler leaves out; a fused optimizer leaves them out itself, on its device."""

    def entered(scaler: Any) -> Any:
        applied = recorder.applied

        def left() -> None:
            recorder.skipped += recorder.applied == applied

        return None if recorder.over or get_ident() != recorder.thread else left

    mark(recorder, module.GradScaler, "step", entered)


def attach_keras(recorder: Recorder, module: Any) -> None:
    """Take each batch of `fit` as a step: Keras then calls its callbacks, whatever it computes with.

    The samples are the batch size of arrays, or of a `tf.data.Dataset` that has one. Several batches in one execution
    cannot be told apart: such programs are not recorded.
    """
    micro = {}  # type: Any

    def entered(callbacks: Any) -> None:
        model = getattr(callbacks, "_model", None) or getattr(callbacks, "model", None)
        if model is None or recorder.over:
            return
        executed = getattr(model, "_steps_per_execution", None)  # Keras 2
        if executed is not None and hasattr(executed, "numpy"):  # of a strategy, `int` cannot read it
            executed = executed.numpy()
        if int(getattr(model, "steps_per_execution", 1) if executed is None else executed) != 1:
            recorder.stop()
            return
        strategy = getattr(model, "distribute_strategy", None)
        workers = int(getattr(getattr(strategy, "extended", None), "_num_workers", 1) or 1)
        if recorder.on:
            samples = keras_batch_size(sys._getframe(2).f_locals)
            work = recorder.work[True]
            work[0] += samples // workers
            work[2] = work[2] and samples > 0
        apart = getattr(model.optimizer, "gradient_accumulation_steps", None) or 1
        micro[id(model)] = micro.get(id(model), 0) + 1
        if micro[id(model)] % apart == 0:
            name = type(strategy).__name__
            unclear = strategy is not None and not name.startswith(ONE_WORLD)
            recorder.group.elsewhere(workers if workers > 1 else 0, "tensorflow." + name if unclear else "")
            recorder.stepped(model, "keras", lambda: "")

    def begins(callbacks: Any) -> None:
        recorder.boundary = True

    def evaluates(callbacks: Any) -> None:
        recorder.clock.evaluated = True

    mark(recorder, module.CallbackList, "on_train_batch_end", entered)
    mark(recorder, module.CallbackList, "on_epoch_begin", begins)
    mark(recorder, module.CallbackList, "on_test_begin", evaluates)


def keras_batch_size(names: Any) -> int:
    """Return the batch size of a `fit` by its local variables, in Keras 2 or 3; 0 where it has none."""
    iterator, handler = names.get("epoch_iterator"), names.get("data_handler")
    if iterator is not None:
        return int(iterator.data_adapter.batch_size or 0)
    return int(handler._adapter.batch_size() or 0) if handler is not None else 0


def attach_horovod(recorder: Recorder, module: Any) -> None:
    """Count the gradients that Horovod's optimizer for PyTorch exchanges."""

    def entered(optimizer: Any) -> None:
        recorder.group.exchanged += len(optimizer._handles)

    mark(recorder, module._DistributedOptimizer, "synchronize", entered)


def attach_chainer(recorder: Recorder, module: Any) -> None:
    """Take each update of an optimizer as a step."""

    def entered(optimizer: Any) -> Any:
        def device() -> str:
            parameters = [parameter.data for parameter in optimizer.target.params()]
            return "cuda" if any(type(data).__module__.startswith("cupy") for data in parameters) else "cpu"

        def left() -> None:
            recorder.group.elsewhere(0, "")
            recorder.stepped(optimizer, "chainer", device)

        return None if recorder.over else left

    mark(recorder, module.GradientMethod, "update", entered)


def attach_updater(recorder: Recorder, module: Any) -> None:
    """Count the batches of Chainer's updater; without it there are steps alone."""

    def entered(updater: Any) -> None:
        recorder.boundary = recorder.boundary or updater.is_new_epoch  # evaluations ran since then
        if recorder.on:
            recorder.work[True][0] += int(updater.get_iterator("main").batch_size)

    mark(recorder, module.StandardUpdater, "update_core", entered)


def attach_evaluator(recorder: Recorder, module: Any) -> None:
    """Take notice of evaluations by Chainer's extension."""

    def entered(evaluator: Any) -> None:
        recorder.clock.evaluated = True

    mark(recorder, module.Evaluator, "__call__", entered)


def attach_chainermn(recorder: Recorder, module: Any) -> None:
    """Take notice of the communicator in which gradients are averaged."""

    def entered(optimizer: Any) -> None:
        recorder.group.elsewhere(int(optimizer.communicator.size), "")
        recorder.group.exchanged += 1

    mark(recorder, module._MultiNodeOptimizer, "update", entered)


class Comparison:
    """A training whose losses are compared with those of another run that has as many samples in each step.

    Both begin with the same random numbers and read the data in the same order, whatever the number of processes; each
    process takes its part of a batch. So their losses differ only by what is wrong, and by noise of the model itself.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.losses = []  # type: Any
        """The first tensors from which a backward pass began, or their values."""
        self.weights = {}  # type: Any
        """Number of an update → checksum of some of the weights after it."""
        self.updates = 0
        self.divided = {}  # type: Any
        """Id of a data set → (the data set, batch sizes of its DataLoaders that were divided)."""

    def attach(self, recorder: Recorder) -> None:
        """Have the modules changed once they are loaded."""
        ATTACHED.update(
            {
                "torch": self.begin_equally, "numpy": self.begin_equally, "random": self.begin_equally,
                "torch._tensor": self.read_losses, "torch.optim.optimizer": self.read_weights,
                "torch.utils.data.sampler": self.order_alone, "torch.utils.data.distributed": self.order_together,
                "torch.utils.data.dataloader": self.divide_batches,
            }
        )  # fmt: skip

    def begin_equally(self, recorder: Recorder, module: Any) -> None:
        """Set the seed of random numbers."""
        if module.__name__ == "torch":
            module.manual_seed(0)
        else:
            getattr(module, "random", module).seed(0) if module.__name__ == "numpy" else module.seed(0)

    def read_losses(self, recorder: Recorder, module: Any) -> None:
        """Keep what backward passes begin from."""

        def entered(loss: Any) -> None:
            if len(self.losses) < LOSSES and loss.numel() == 1:
                self.losses.append(loss.detach().clone())

        mark(recorder, module.Tensor, "backward", entered)

    def read_weights(self, recorder: Recorder, module: Any) -> None:
        """Take a checksum of weights after some updates; count them as in every run."""
        attach_optimizer(recorder, module)

        def updated(optimizer: Any, *_: Any) -> None:
            try:
                self.updates += 1
                if self.updates in UPDATES:
                    tensors = [tensor for group in optimizer.param_groups for tensor in group["params"]]
                    chosen = [tensor for tensor in tensors if tensor.numel()][:HOOKED]
                    sums = [float(tensor.detach().double().sum()) for tensor in chosen]
                    self.weights[str(self.updates)] = checksum(sums)
            except Exception:
                pass

        module.register_optimizer_step_post_hook(updated)

    def order_alone(self, recorder: Recorder, module: Any) -> None:
        """Shuffle as DistributedSampler does for several processes."""
        original, times = module.RandomSampler.__iter__, {}  # type: Any

        def shuffled(sampler: Any) -> Any:
            if sampler.replacement or sampler.num_samples != len(sampler.data_source):
                return original(sampler)
            times[id(sampler)] = epoch = times.get(id(sampler), -1) + 1
            torch = sys.modules["torch"]  # type: Any
            generator = torch.Generator()
            generator.manual_seed(epoch)
            return iter(torch.randperm(sampler.num_samples, generator=generator).tolist())

        module.RandomSampler.__iter__ = shuffled

    def order_together(self, recorder: Recorder, module: Any) -> None:
        """Count the epochs from zero, wherever the program begins."""
        original, times = module.DistributedSampler.__iter__, {}  # type: Any

        def shuffled(sampler: Any) -> Any:
            times[id(sampler)] = epoch = times.get(id(sampler), -1) + 1
            sampler.seed, sampler.epoch = 0, epoch
            return original(sampler)

        module.DistributedSampler.__iter__ = shuffled

    def divide_batches(self, recorder: Recorder, module: Any) -> None:
        """Give each process its part of every batch; look at the indices as in every run."""
        attach_indices(recorder, module)
        original = module.DataLoader.__init__

        @functools.wraps(original)  # Lightning reads the names of the parameters
        def made(loader: Any, dataset: Any, batch_size: Any = 1, *rest: Any, **options: Any) -> None:
            _, sizes = self.divided.setdefault(id(dataset), (dataset, set()))
            if isinstance(batch_size, int) and not batch_size % self.processes and batch_size not in sizes:
                batch_size //= self.processes  # not in a copy, as Lightning makes it with a sampler of its own
                sizes.add(batch_size)
            original(loader, dataset, batch_size, *rest, **options)

        module.DataLoader.__init__ = made

    def report(self) -> Any:
        """Return what was seen, as JSON values."""
        self.losses = [float(loss) for loss in self.losses]
        return {"losses": self.losses, "weights": self.weights}


def attach_meter(recorder: Recorder, module: Any) -> None:
    """Stand back for the Meter: it measures the same."""

    def entered(meter: Any) -> Any:
        recorder.stop()

    mark(recorder, module.Meter, "phase", entered)


ATTACHED = {
    "torch.autograd.profiler": attach_profiler,
    "torch.optim.optimizer": attach_optimizer,
    "torch.nn.modules.module": attach_inputs,
    "torch.distributed.distributed_c10d": attach_collectives,
    DATALOADER: attach_indices,
    "torch.amp.grad_scaler": attach_scaler,
    "torch.cuda.amp.grad_scaler": attach_scaler,  # before PyTorch 2.3
    "keras.src.callbacks.callback_list": attach_keras,
    "keras.src.callbacks": attach_keras,  # from 2.13 to 2.15
    "tf_keras.src.callbacks": attach_keras,
    "keras.callbacks": attach_keras,  # from TensorFlow 2.6
    "tensorflow.python.keras.callbacks": attach_keras,  # before
    "horovod.torch.optimizer": attach_horovod,
    "chainer.optimizer": attach_chainer,
    "chainer.training.updaters.standard_updater": attach_updater,
    "chainer.training.extensions.evaluator": attach_evaluator,
    "chainermn.optimizers": attach_chainermn,
    "hackathon_runtime": attach_meter,
}
"""Module → what is done when the program has loaded it."""


class ModuleWatch:
    """A finder of modules that finds none, but attaches the recorder to some once they are loaded."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.finding = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to load one of those modules, as the others find it, and nothing for others."""
        if name not in ATTACHED or self.finding or self.recorder.over:
            return None
        from importlib.util import find_spec

        self.finding = True
        try:
            found = find_spec(name)
        finally:
            self.finding = False
        loader = found.loader if found is not None else None  # type: Any
        if loader is None or not hasattr(loader, "exec_module"):
            return None
        load = loader.exec_module

        def load_and_attach(module: Any) -> None:
            load(module)
            attach(self.recorder, name, module)

        try:
            loader.exec_module = load_and_attach
        except AttributeError:
            return None
        return found


def attach(recorder: Recorder, name: str, module: Any) -> None:
    """Attach the recorder to a module; never raises."""
    try:
        ATTACHED[name](recorder, module)
    except Exception:
        pass


def arm(path: str) -> None:
    """Record this process to a file."""
    import atexit

    recorder = Recorder(path)
    processes = os.environ.get("HK_COMPARED", "")
    if processes.isdigit():
        recorder.comparison = Comparison(int(processes))
        recorder.comparison.attach(recorder)
    for name in list(ATTACHED):
        module = sys.modules.get(name)
        if module is not None:
            attach(recorder, name, module)
    sys.meta_path.insert(0, ModuleWatch(recorder))
    atexit.register(recorder.leave)
    if hasattr(os, "register_at_fork"):  # the workers of a data loader are not the program

        def forget() -> None:
            recorder.on, recorder.over = False, True

        os.register_at_fork(after_in_child=forget)


if __name__ == "hackathon_steps":
    arm(os.environ["HK_STEPS"])
