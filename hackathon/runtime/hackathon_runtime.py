"""The toolkit's services for a training program, in one file of the standard library for Python 3.6 and newer.

Copy it with the program. Outside the toolkit (no HK_RUN in the environment) it writes no files but still returns the
numbers. It never makes a training fail: the first write error is printed to stderr.

    me = identity()                                          # me.rank, me.world_size, me.local_rank, ...
    meter = Meter()
    should_stop = Stopper(broadcast)                         # broadcast gives every rank the number of rank 0
    for images, labels in batches:
        meter.saw(images, labels)                            # do they differ between the ranks?
        with meter.phase("compute"): ...
        meter.step(samples=64 * me.world_size, loss=loss)
        if should_stop(): save(); break
    meter.final(accuracy=accuracy)
"""

import atexit
import glob
import importlib
import json
import math
import os
import re
import socket
import subprocess
import sys
import time
import zlib
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple


class Identity(NamedTuple):
    """The position of one process among all: counts start at 0; `source` names the source of the numbers."""

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    nodes: int
    host: str
    source: str


# Source, then variables of rank, world size, local rank, local world size, nodes; the first source that is set counts.
# Innermost first: mpirun starts its daemons with srun and leaves their SLURM_PROCID in the environment, so Slurm comes
# last. SLURM_STEP_NUM_TASKS, not SLURM_NTASKS: a batch script without srun has the latter too and would wait forever.
_SOURCES = (
    ("toolkit", "HK_RANK", "HK_PROCESSES", "HK_LOCAL_RANK", "LOCAL_WORLD_SIZE", "HK_NODES"),
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"),
    ("horovodrun", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_SIZE"),
    ("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_orte_num_nodes"),
    ("pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID PMI_LOCAL_RANK", "MPI_LOCALNRANKS PMI_LOCAL_SIZE", ""),
    ("pmix", "PMIX_RANK", "PMIX_SIZE SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"),
    ("slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"),
)  # fmt: skip
_events = {}  # type: Dict[Optional[str], _Lines]
COLLECTIVES = 64  # steps of a line whose collectives are stored individually


def identity(environ: Optional[Mapping[str, str]] = None) -> Identity:
    """Return the identity by toolkit, torchrun, Horovod, Open MPI, MPICH, PMIx, Slurm, TF_CONFIG; else 0 of 1.

    A source without a rank, or with a rank outside its world, is skipped. Missing local numbers are derived, for ranks
    placed node by node.
    """
    env = os.environ if environ is None else environ

    def read(names: str) -> Optional[int]:
        return next((int(env[name]) for name in names.split() if re.match(r"[0-9]{1,9}\Z", env.get(name, ""))), None)

    host = env.get("HK_HOST") or socket.gethostname()
    for source, *names in _SOURCES:
        rank, world, local_rank, local_world, nodes = [read(name) for name in names]
        if rank is None or not world or rank >= world:
            continue
        in_step = (rank, world) == (read("SLURM_PROCID"), read("SLURM_STEP_NUM_TASKS"))
        if source == "pmi" and not local_world and in_step:
            continue  # `srun --mpi=pmi2` sets no local numbers: Slurm's own variables have them
        if source in ("pmix", "slurm"):
            local_world = dict(enumerate(_slurm_counts(env))).get(read("SLURM_NODEID") or 0)
        local_world = local_world or (-(-world // nodes) if nodes else world)
        local_rank = rank % local_world if local_rank is None else local_rank
        return Identity(rank, world, local_rank, local_world, nodes or -(-world // local_world), host, source)
    return _from_tf_config(env.get("TF_CONFIG", ""), host) or Identity(0, 1, 0, 1, 1, host, "alone")


def _slurm_counts(env: Mapping[str, str]) -> List[int]:
    """Return the ranks of each node of the Slurm step, from e.g. `2(x3),1`."""
    found = re.findall(r"(\d+)(?:\(x(\d+)\))?", env.get("SLURM_STEP_TASKS_PER_NODE", ""))
    return [int(count) for count, times in found for _ in range(int(times or 1))]


def _node_names(env: Mapping[str, str]) -> List[str]:
    """Return the nodes in the order of ranks: HK_NODELIST, else the Slurm step's, from e.g. `node[003-007,9],other`."""
    names = env.get("HK_NODELIST", "").split()
    groups = re.findall(r"([^\[,\s]+)(?:\[([^\]]+)\]([^\[,\s]*))?", env.get("SLURM_STEP_NODELIST", ""))
    for head, numbers, tail in [] if names else groups:
        for low, high in re.findall(r"(\d+)(?:-(\d+))?", numbers):
            names += [head + str(n).zfill(len(low)) + tail for n in range(int(low), int(high or low) + 1)]
        names += [] if numbers else [head]
    return names


def _from_tf_config(text: str, host: str) -> Optional[Identity]:
    """Return the identity in TensorFlow's TF_CONFIG: the chief is rank 0, then the workers; None for other tasks."""
    try:
        task, cluster = (json.loads(text)[name] for name in ("task", "cluster"))
        chiefs = list(cluster.get("chief", []))
        hosts = [address.rsplit(":", 1)[0] for address in chiefs + list(cluster.get("worker", []))]
        rank = int(task["index"]) + {"chief": 0, "worker": len(chiefs)}[task["type"]]
        mine = hosts[rank]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
    return Identity(rank, len(hosts), hosts[:rank].count(mine), hosts.count(mine), len(set(hosts)), host, "tf_config")


def rendezvous(me: Identity, environ: Optional[Mapping[str, str]] = None) -> Tuple[str, int]:
    """Return (address, port) where the processes meet: MASTER_ADDR and MASTER_PORT, else derived values.

    Without MASTER_ADDR: this host when it is the only node, under Slurm the step's first node, else ValueError. Without
    MASTER_PORT: a port below the ephemeral ones, the same in all processes of one launch.
    """
    env = os.environ if environ is None else environ
    address = env.get("MASTER_ADDR") or ("127.0.0.1" if me.nodes == 1 else "".join(_node_names(env)[:1]))
    if not address:
        raise ValueError("several nodes, and nothing says where rank 0 is: set MASTER_ADDR to the first node's name")
    launch = [env.get("SLURM_JOB_ID") or env.get("PBS_JOBID") or str(os.getppid()), env.get("SLURM_STEP_ID", "")]
    return address, int(env.get("MASTER_PORT") or 20000 + zlib.crc32(".".join(launch).encode()) % 10000)


def tf_config(me: Identity, environ: Optional[Mapping[str, str]] = None) -> str:
    """Return TensorFlow's TF_CONFIG: the existing one for `me`, else every rank as a worker with its own port.

    Ports are 617 apart, because neighbouring jobs have neighbouring ports. Raises ValueError for several unknown nodes.
    """
    env = os.environ if environ is None else environ
    if me.source == "tf_config":
        return env["TF_CONFIG"]
    address, port = rendezvous(me, env)
    nodes = [address] if me.nodes == 1 else _node_names(env)
    counts = (_slurm_counts(env) if me.source in ("pmix", "slurm") else []) or [me.local_world_size] * len(nodes)
    if len(counts) != len(nodes) or sum(counts) != me.world_size:
        raise ValueError("several nodes, and nothing says which: set HK_NODELIST to their names, in the order of ranks")
    hosts = [node for node, count in zip(nodes, counts) for _ in range(count)]
    workers = ["%s:%d" % (host, 20000 + (port + 617 * rank) % 10000) for rank, host in enumerate(hosts)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": me.rank}})


class _Lines:
    """A file `<HK_RUN>/<folder>/rank-<n>.jsonl`, written only by this process; no file outside a run."""

    def __init__(self, folder: str) -> None:
        run = os.environ.get("HK_RUN")
        self.path = os.path.join(run, folder, "rank-%d.jsonl" % identity().rank) if run else None
        self._torn, self._warned = True, False  # a killed attempt, or a full disk, may have left half a line

    def append(self, lines: List[Dict[str, Any]]) -> None:
        """Write all lines at once; print the first failure to stderr, and try again silently later."""
        if not self.path or not lines:
            return
        try:
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644), "r+b", 0) as file:
                target, size = file.fileno(), os.fstat(file.fileno()).st_size
                if self._torn and size and os.pread(target, 1, size - 1) != b"\n":
                    text = b"\n" + text
                self._torn = True
                while text:  # a disk that becomes full accepts a part and refuses the rest
                    text = text[os.write(target, text) :]
                self._torn = False
        except (OSError, ValueError) as error:
            if not self._warned and sys.stderr:
                print("hackathon: %s cannot be written, training goes on: %s" % (self.path, error), file=sys.stderr)
            self._warned = True


def _value(value: Any) -> Any:
    """Return a JSON value: a tensor of one element becomes its number, a non-finite number a string."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    try:
        value = float(value)
    except Exception:  # any error of a framework's tensor
        return str(value)
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _stamp(**fields: Any) -> Dict[str, Any]:
    attempt = os.environ.get("HK_ATTEMPT", "")
    return dict({"t": round(time.time(), 3), "attempt": int(attempt) if attempt.isdigit() else 1}, **fields)


def log_event(event: str, **fields: Any) -> None:
    """Append an event of this rank (`checkpoint`, `warned`) to `events/rank-<n>.jsonl`."""
    lines = _events.setdefault(os.environ.get("HK_RUN"), _Lines("events"))
    lines.append([_stamp(event=event, host=identity().host, **{name: _value(fields[name]) for name in fields})])


def checkpoint_written(path: Any) -> None:
    """Record that a checkpoint is complete; its path is relative to the run if it is inside."""
    path, run = os.path.abspath(str(path)), os.path.abspath(os.environ.get("HK_RUN") or os.sep)
    inside = run != os.sep and path.startswith(run + os.sep)
    log_event("checkpoint", path=path[len(run) + 1 :] if inside else path)


def _checksum(values: Any) -> str:
    """Return the CRC-32 of the bytes of tensors on any device, and of other values as printed."""
    total = 0
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, (dict, list, tuple)):
            value = _checksum(value)
        try:
            for name in ("detach", "cpu", "get", "numpy", "tobytes"):
                value = getattr(value, name)() if hasattr(value, name) else value
        except Exception:  # any error of a framework
            pass
        total = zlib.crc32(value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace"), total)
    return "%08x" % total


def _device(value: Any) -> str:
    """Return a tensor's device: `cpu`, `cuda:0 <uuid>` (older PyTorch has no uuid); empty for other values."""
    name = ""
    try:
        name = str(getattr(value, "device", ""))
        if name[:4] == "cuda" and "torch" in sys.modules:
            name += " %s" % getattr(sys.modules["torch"].cuda.get_device_properties(value.device), "uuid", "")
    except Exception:  # JAX names its GPUs the same way, but torch does not know its devices
        pass
    return name.strip()


class _Phase:
    """The context of `with meter.phase(name):`. Time belongs to the innermost phase."""

    def __init__(self, meter: "Meter", name: str) -> None:
        self._meter, self._name = meter, name

    def __enter__(self) -> None:
        self._outer = self._meter._switch(self._name)
        self._began = self._meter._last

    def __exit__(self, *error: Any) -> None:
        self._meter._switch(self._outer)
        if self._name == "communication":
            self._meter._spent.append(self._meter._last - self._began)


class Meter:
    """Measures throughput after the warm-up and the split of time, and writes `metrics/rank-<n>.jsonl`.

    The first `warmup` steps are marked and not counted. A line covers `every_steps` steps or `every_seconds`, whichever
    ends first; lines are written at most every `write_seconds`. Time in the phase `pause` (evaluation, checkpoints) is
    not training time; other names are free. Outside all phases, the time in which this thread used a CPU is `host`, the
    rest `other`. `show` prints each line on rank 0.

    Each phase `communication` is one collective that all ranks leave together (all-reduce, barrier). Its seconds are
    stored for each step: the rank with the shortest time arrived last, and the others waited for it.
    """

    def __init__(
        self, unit: str = "samples", warmup: int = 10, every_steps: int = 50, every_seconds: float = 10.0,
        write_seconds: float = 5.0, show: bool = False, clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Optional[Callable[[], float]] = getattr(time, "thread_time", None),
    ) -> None:  # fmt: skip
        self.unit, self.warmup, self.steps = unit, warmup, 0
        self._every_steps, self._every_seconds, self._write_seconds = every_steps, every_seconds, write_seconds
        self._show = show and identity().rank == 0
        self._clock, self._last, self._wrote, self._phase = clock, clock(), clock(), "other"
        self._times, self._totals = {}, {}  # type: Dict[str, float], Dict[str, float]
        self._rates, self._pending = [], []  # type: List[float], List[Dict[str, Any]]
        self._interval_steps, self._interval_count, self._values = 0, 0, {}  # type: int, int, Dict[str, Any]
        self._lines, self._sums, self._device = _Lines("metrics"), [], ""  # type: _Lines, List[str], str
        self._cpu_clock, self._cpu = cpu_clock, cpu_clock() if cpu_clock else None  # Python 3.6 has none
        self._busy, self._watched, self._stride = 0.0, 0.0, 1
        self._together = identity().world_size > 1
        self._spent, self._collectives = [], []  # type: List[float], List[List[float]]
        atexit.register(self.flush)

    def phase(self, name: str) -> _Phase:
        """Return a context manager: the time inside belongs to `name`."""
        return _Phase(self, name)

    def move(self, seconds: float, source: str, target: str) -> None:
        """Move time from one phase to another, e.g. the wait for the all-reduce inside `compute`."""
        self._times[source] = self._times.get(source, 0.0) - seconds
        self._times[target] = self._times.get(target, 0.0) + seconds
        if target == "communication":
            self._spent.append(seconds)

    def saw(self, *parts: Any) -> None:
        """Store checksums of the first four batches of this rank: they show whether the ranks read different data."""
        if len(self._sums) < 4:
            self._sums.append(_checksum(parts))
            if len(self._sums) == 4:
                self._pending.append(_stamp(data=self._sums))

    def step(self, **values: Any) -> None:
        """End a step; the keyword named like the unit counts (over all processes), others are stored with the interval.

        Tensors are read only when a line is created, so that a step does not wait for a GPU.
        """
        self.steps += 1
        self._interval_steps += 1
        self._interval_count += values.pop(self.unit, 0)
        self._values = values
        if self._together and len(self._collectives) < COLLECTIVES:
            self._collectives.append(self._spent)
        self._spent = []
        due = self._interval_steps >= self._every_steps or self.steps == self.warmup
        if due or self._seconds() + self._clock() - self._last >= self._every_seconds:
            self._close()

    def final(self, **numbers: Any) -> Dict[str, Any]:
        """Return and write the run's numbers: median throughput and shares of time after the warm-up, `numbers`."""
        self._close()
        result = _shares(self._totals)
        if self._rates:
            ordered, half = sorted(self._rates), len(self._rates) // 2
            result[self.unit + "_per_s"] = (ordered[half] + ordered[-1 - half]) / 2
        result.update((name, _value(value)) for name, value in numbers.items())
        self._emit(_stamp(final=True, **result))
        self.flush()
        return result

    def flush(self) -> None:
        """Write the pending lines."""
        waiting, self._pending, self._wrote = self._pending, [], self._clock()
        self._lines.append(waiting)

    def _switch(self, phase: str) -> str:
        now, former = self._clock(), self._phase
        spent = now - self._last
        if self._cpu_clock and self._cpu is not None:
            self._busy += max(0.0, min(spent, self._cpu_clock() - self._cpu))
            self._watched += spent
        self._times[former] = self._times.get(former, 0.0) + spent
        watched = self._cpu_clock and phase == "other" and self.steps % self._stride == 0
        self._cpu = self._cpu_clock() if self._cpu_clock and watched else None
        self._last, self._phase = now, phase
        return former

    def _seconds(self) -> float:
        return sum(self._times.values()) - self._times.get("pause", 0.0)

    def _close(self) -> None:
        """End the interval: create its line, and add it to the totals unless it is warm-up."""
        self._switch(self._phase)
        if self._cpu_clock:
            host = self._times.get("other", 0.0) * self._busy / max(1e-9, self._watched)
            self.move(host, "other", "host")
            # the CPU clock costs up to 5 µs on a busy machine, four times per step, so not every short step is measured
            each = self._seconds() / max(1, self._interval_steps)
            self._stride = min(16, 1 + int(2e-5 / max(1e-9, 0.002 * each)))
            self._busy = self._watched = 0.0
        times, seconds, steps, count = self._times, self._seconds(), self._interval_steps, self._interval_count
        collectives, self._collectives = self._collectives, []
        self._times, self._interval_steps, self._interval_count = {}, 0, 0
        if not steps or seconds <= 0:
            return
        line = _stamp(step=self.steps, seconds=round(seconds, 6))
        line["interval"] = [self.steps - steps + 1, self.steps]
        if any(collectives):
            line["collectives"] = [[round(spent, 6) for spent in each] for each in collectives]
        line.update({self.unit: count, self.unit + "_per_s": count / seconds})
        if self.steps <= self.warmup:
            line["warmup"] = True
        else:
            self._rates.append(count / seconds)
            for name, spent in times.items():
                self._totals[name] = self._totals.get(name, 0.0) + spent
        line.update(_shares(times))
        line.update((name, _value(value)) for name, value in self._values.items())
        device = next(filter(None, map(_device, self._values.values())), "")
        if device != self._device:
            line["device"] = self._device = device
        self._emit(line)

    def _emit(self, line: Dict[str, Any]) -> None:
        self._pending.append(line)
        if self._show:
            shown = [(k, v) for k, v in line.items() if not isinstance(v, list)]
            texts = ["%s %s" % (k, "%.5g" % v if isinstance(v, float) else v) for k, v in shown]
            print("  ".join(texts[2:]), flush=True)  # without t and attempt
        if self._clock() - self._wrote >= self._write_seconds:
            self.flush()


def _shares(times: Dict[str, float]) -> Dict[str, Any]:
    """Return `<phase>_share` of the training time; `host_share` and `other_share` are the time outside phases."""
    named = {name: spent for name, spent in sorted(times.items()) if name != "pause"}
    total = sum(named.values())
    return {name + "_share": round(spent / total, 6) for name, spent in named.items()} if total else {}


def scaled_learning_rate(base: float, processes: int, step: int, warmup_steps: int) -> float:
    """Return the learning rate of a step (from 0): `base` × processes, reached in even steps from `base`.

    The linear scaling rule with gradual warm-up of Goyal et al., Accurate, Large Minibatch SGD (2017), section 2.
    """
    return base * (processes if step >= warmup_steps else 1 + (processes - 1) * step / float(warmup_steps))


def deadline() -> Optional[float]:
    """Return when the job will be stopped, in seconds since 1970; None when unknown."""
    text = os.environ.get("HK_DEADLINE", "")
    try:
        with open(os.environ["HK_STOP"]) as stop:
            text = stop.read(64).strip() or text
    except (KeyError, OSError, ValueError):
        pass
    return float(text) if re.match(r"[0-9]+(\.[0-9]+)?\Z", text) else None


class Stopper:
    """Decides at a step's end, the same on all ranks, whether to stop: rank 0 checks the file HK_STOP once a second.

    `broadcast(number)` is collective and returns rank 0's whole number on every rank. An exchange in every step would
    cost time, so rank 0 sends the number of steps until the next one: as many as it made in `seconds`, at most twice
    the previous number; 0 means stop. The first call checks. Raises ValueError with several processes and no broadcast:
    ranks that check separately can disagree, and then wait for each other forever.
    """

    def __init__(
        self, broadcast: Optional[Callable[[int], int]] = None, seconds: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        me = identity()
        if broadcast is None and me.world_size > 1:
            raise ValueError("Stopper needs a broadcast when there are several processes")
        self._broadcast = broadcast or (lambda number: number)
        self._leads, self._seconds, self._clock, self._looked = me.rank == 0, seconds, clock, clock()
        self._wait = self._left = 1

    def __call__(self) -> bool:
        """Return True when all ranks must stop now; call it once per step on every rank."""
        self._left -= 1
        if self._wait and self._left <= 0:
            self._left = self._wait = self._broadcast(self._next() if self._leads else 0)
        return self._wait == 0

    def _next(self) -> int:
        stop, now = os.environ.get("HK_STOP"), self._clock()
        if stop and os.path.exists(stop):
            return 0
        spent, self._looked = max(now - self._looked, 1e-9), now
        return int(max(1, min(self._wait * self._seconds / spent, self._wait * 2, 1000000)))


def environment() -> Dict[str, Any]:
    """Return this host's environment: Python, packages, modules, MPI, GPUs with driver, network interfaces."""

    def output(*argv: str) -> str:
        try:
            return subprocess.check_output(argv, stderr=subprocess.DEVNULL, timeout=30).decode("utf-8", "replace")
        except (OSError, subprocess.SubprocessError):
            return ""

    def packages() -> Dict[str, str]:
        found = {}  # type: Dict[str, str]
        try:  # ten times faster than pip, in every job; needs Python 3.8
            for each in importlib.import_module("importlib.metadata").distributions():
                try:
                    text = each.read_text("METADATA") or each.read_text("PKG-INFO") or ""
                except (OSError, ValueError):
                    continue
                fields = dict(line.split(": ", 1) for line in text.split("\n\n", 1)[0].split("\n") if ": " in line)
                if "Name" in fields:
                    found.setdefault(fields["Name"].strip(), fields.get("Version", "").strip())
        except ImportError:
            pip = output(sys.executable, "-m", "pip", "list", "--format=json", "--disable-pip-version-check")
            found = {each["name"]: each["version"] for each in json.loads(pip or "[]")}
        return found

    gpus = output("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    networks = glob.glob("/sys/class/net/*") + glob.glob("/sys/class/infiniband/*")
    return {
        "host": identity().host, "kernel": " ".join(os.uname()), "cores": os.cpu_count(), "python": sys.version,
        "executable": sys.executable, "packages": packages(),
        "modules": [name for name in os.environ.get("LOADEDMODULES", "").split(":") if name],
        "mpi": output("mpirun", "--version").split("\n")[0], "gpus": gpus.splitlines(),
        "interfaces": sorted(os.path.basename(path) for path in networks),
    }  # fmt: skip


if __name__ == "__main__":  # `python hackathon_runtime.py environment FILE`: rank.sh calls it once on each host
    if len(sys.argv) != 3 or sys.argv[1] != "environment":
        sys.exit("usage: python hackathon_runtime.py environment FILE")
    partial = "%s.%d" % (sys.argv[2], os.getpid())
    with open(partial, "w") as handle:
        json.dump(environment(), handle, indent=1, sort_keys=True)
    os.replace(partial, sys.argv[2])
