"""Check an account and a machine before the first job: findings with evidence and advice."""

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hackathon
from hackathon.schedulers.registry import known_dialect, scheduler_of
from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, NP_, _
from hackathon.text.printable import printable
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from hackathon.config.cluster import Cluster
    from hackathon.jobs.request import Options, Request
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.directory import RunDirectory

GOOD, WARNING, BAD = "good", "warning", "bad"
SKEW = 5.0
"""Seconds that the file server's clock may differ."""
LONGEST_START = 600.0
"""Seconds that a job may take which says which hosts it runs on."""
LITTLE_SPACE = 2_000_000_000
"""Bytes below which a file system counts as nearly full."""


@dataclass(frozen=True)
class DoctorFinding:
    """The result of one check."""

    about: str
    level: str
    """good, warning or bad."""
    text: str
    """The evidence."""
    remedy: str = ""


def examine(cluster: "Cluster", runs: Path) -> list[DoctorFinding]:
    """Return findings about Python, scheduler, modules, folder, space, GPU driver and clock."""
    return [
        _python(),
        _scheduler(cluster),
        *_modules(cluster),
        *_folder(cluster, runs),
        *_quota(runs),
        *_gpu(cluster),
        *_programs(cluster),
    ]


def _finding(about: str, level: str, key: str, remedy: str = "", **values: object) -> DoctorFinding:
    return DoctorFinding(
        _(about),
        level,
        _(key, **values),
        _(remedy, **values) if remedy else "",
    )


def _python() -> DoctorFinding:
    values = {"version": platform.python_version(), "path": sys.executable, "toolkit": hackathon.__version__}
    return _finding(N_("Python"), GOOD, N_("{version} at {path}, hackathon {toolkit}"), **values)


def _scheduler(cluster: "Cluster") -> DoctorFinding:
    from hackathon.schedulers import runner

    try:
        queues = runner.queues(scheduler_of(cluster), delays=())
    except HackathonError as error:
        hint = error.hint or ""
        return DoctorFinding(_("scheduler"), BAD, error.message, hint)
    names = [queue.name for queue in queues]
    missing = [name for name in cluster.queues if name not in names]
    if missing:
        values = {"missing": ", ".join(missing), "there": ", ".join(names) or "–", "cluster": cluster.name}
        return _finding(
            N_("scheduler"),
            WARNING,
            N_("the profile lists queues that the scheduler does not have: {missing}"),
            remedy=N_(
                "the scheduler has {there}; copy the profile {cluster} into templates/clusters/ of your project "
                "and correct it"
            ),
            **values,
        )
    return _finding(
        N_("scheduler"),
        GOOD,
        N_("{scheduler} answers; queues: {there}"),
        scheduler=cluster.scheduler,
        there=", ".join(names) or "–",
    )


def _modules(cluster: "Cluster") -> Iterator[DoctorFinding]:
    """Run the profile's environment lines in a shell of their own and check their output."""
    if not cluster.environment:
        return
    script = "\n".join([*(f'{line} || echo "HK_FAILED $?: "{_quoted(line)}' for line in cluster.environment)])
    try:
        answer = subprocess.run(
            ["bash", "-c", script], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
        text = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        yield _finding(NP_("runs", "environment"), BAD, N_("a line of the profile failed: {what}"), what=error)
        return
    bad = [line for line in text.splitlines() if "HK_FAILED" in line or "ERROR" in line or "Unable to locate" in line]
    if bad:
        yield _finding(
            NP_("runs", "environment"),
            BAD,
            N_("a line of the profile failed: {what}"),
            remedy=N_("`module avail` lists the current modules; correct them in a copy of profile {cluster}"),
            what=bad[0].strip()[:200],
            cluster=cluster.name,
        )
    else:
        yield _finding(
            NP_("runs", "environment"),
            GOOD,
            N_("all {count} lines of the profile work here"),
            count=len(cluster.environment),
        )


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _folder(cluster: "Cluster", runs: Path) -> Iterator[DoctorFinding]:
    """Check the folder of runs: writable, visible from compute nodes, not full, its server's clock right."""
    existing = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
    probe = existing / f".hackathon-doctor-{os.getpid()}"
    before = time.time()
    try:
        probe.write_bytes(b"x")
        skew = probe.stat().st_mtime - (before + time.time()) / 2
        probe.unlink()
    except OSError as error:
        yield _finding(
            N_("folder"),
            BAD,
            N_("{folder} is not writable: {what}"),
            remedy=N_("work in a folder of your own"),
            folder=existing,
            what=error.strerror or error,
        )
        return
    yield _finding(N_("folder"), GOOD, N_("{folder} is writable"), folder=existing)
    visible = [os.path.realpath(folder) for folder in cluster.visible_from_nodes]
    real = os.path.realpath(existing)
    if visible and not any(os.path.commonpath([real, folder]) == folder for folder in visible):
        yield _finding(
            N_("folder"),
            BAD,
            N_("compute nodes cannot see {folder}"),
            remedy=N_("work below {seen}"),
            folder=real,
            seen=", ".join(cluster.visible_from_nodes),
        )
    if abs(skew) > SKEW:
        yield _finding(
            N_("clock"),
            WARNING,
            N_("the file server's clock differs by {seconds} s"),
            remedy=N_("times of runs will be wrong; tell the computing centre"),
            seconds=f"{skew:+.0f}",
        )
    else:
        yield _finding(N_("clock"), GOOD, N_("agrees with the file server ({seconds} s)"), seconds=f"{skew:+.1f}")
    usage = shutil.disk_usage(existing)
    level = GOOD if usage.free > LITTLE_SPACE else WARNING
    yield _finding(
        N_("space"), level, N_("{free} of {total} free"), free=format_size(usage.free), total=format_size(usage.total)
    )


def _quota(runs: Path) -> Iterator[DoctorFinding]:
    """Report the user's quota by `lfs quota` (Lustre) or `quota`, where they are installed and quotas are on."""
    existing = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
    for argv in (["lfs", "quota", "-hq", "-u", str(os.getuid()), str(existing)], ["quota", "-sw"]):
        if shutil.which(argv[0]) is None:
            continue
        try:
            answer = subprocess.run(argv, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = [line.strip() for line in answer.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            # quota(1): status 1 means over the soft limit; an asterisk marks the number that is over
            over = any("*" in line for line in lines)
            yield DoctorFinding(_("quota"), BAD if over else GOOD, lines[-1])
            return


def _gpu(cluster: "Cluster") -> Iterator[DoctorFinding]:
    """Check this machine's GPU driver. Login nodes often have none; that shows nothing about the compute nodes."""
    gpus = cluster.node.gpus
    if shutil.which("nvidia-smi") is None:
        if gpus not in (0, "auto"):
            level = WARNING if known_dialect(cluster).this_machine else GOOD
            yield _finding(
                N_("GPU driver"), level, N_("none on this machine; nodes should have {gpus} {gpus:GPU|GPUs}"), gpus=gpus
            )
        return
    argv = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(argv, capture_output=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield _finding(N_("GPU driver"), BAD, N_("nvidia-smi failed: {what}"), what=error)
        return
    lines = answer.stdout.decode("utf-8", "replace").split("\n")
    if answer.returncode:
        yield _finding(
            N_("GPU driver"),
            BAD,
            N_("nvidia-smi failed: {what}"),
            what=(answer.stderr.decode("utf-8", "replace") or lines[0]).strip()[:200],
        )
    else:
        yield DoctorFinding(_("GPU driver"), GOOD, "; ".join(line for line in lines if line))


def _programs(cluster: "Cluster") -> Iterator[DoctorFinding]:
    """Check the launchers and starters that this machine should have; elsewhere modules may provide them."""
    needs = {"torchrun": "torchrun", "mpirun": "mpirun", "srun": "srun"}
    starters = {"ssh": "ssh", "pbs_tmrsh": "pbs_tmrsh", "pjrsh": "pjrsh"}
    programs = [needs[name] for name in cluster.launchers if name in needs]
    if cluster.starter in starters:
        programs.append(starters[cluster.starter])
    missing = [name for name in dict.fromkeys(programs) if shutil.which(name) is None]
    if missing:
        yield _finding(
            N_("launchers"),
            WARNING,
            N_("not found here: {missing}"),
            remedy=N_("load a module, activate your environment, or name them in the profile's `environment`"),
            missing=", ".join(missing),
        )
    elif programs:
        yield _finding(N_("launchers"), GOOD, N_("{there} found"), there=", ".join(dict.fromkeys(programs)))


def start_on_nodes(
    cluster: "Cluster", options: "Options", runs: Path, admit: "Callable[[Request], None]",
    around: "Sources | None", started: "Callable[[RunDirectory], None]" = lambda run: None,
) -> DoctorFinding:  # fmt: skip
    """Submit a short job that prints its processes' hosts, wait for it, and return what it proved.

    `around`: the files around the folder, whose project, user and event say where jobs run and who pays. `admit` checks
    the job against the team's budget first, and raises to refuse it. `started` is called with its run once it is
    submitted.
    """
    from dataclasses import replace

    from hackathon.jobs.check import check
    from hackathon.jobs.render import render
    from hackathon.jobs.resolve import resolve
    from hackathon.runs import events
    from hackathon.runs.create import create
    from hackathon.runs.source import snapshot
    from hackathon.runs.states import OPEN
    from hackathon.runs.status import status
    from hackathon.runs.submit import submit

    one_node = cluster.starter == "local"
    launcher = options.launcher or trial_launcher(cluster)
    nodes = options.nodes or (None if options.processes else 1 if one_node else 2)
    trial_options = replace(options, nodes=nodes, launcher=launcher, walltime=options.walltime or 300, parameters={})
    request = resolve(_trial(cluster, trial_options, runs, around))
    check(request, cluster, None, runs)
    admit(request)
    run = create(request, render(request, cluster), runs_folder=runs, tags=["doctor"],
                 source=snapshot.Source(runs))  # fmt: skip
    submit(run, scheduler_of(cluster))
    started(run)
    begin = time.monotonic()
    while True:
        state = status([run])[0]
        if state.state not in OPEN or time.monotonic() - begin > LONGEST_START:
            break
        time.sleep(1)
    hosts = events.hosts(run.path, state.attempt)
    values = {"run": run.id, "state": state.state, "hosts": ", ".join(hosts) or "–", "launcher": launcher,
              "nodes": request.nodes, "seconds": f"{time.monotonic() - begin:.0f}", "folder": run.path}  # fmt: skip
    good = state.state == "SUCCEEDED" and len(hosts) == request.nodes
    warnings = [str(event.get("text")) for event in events.job_events(run.path) if event.get("event") == "warned"]
    return _finding(
        N_("start on nodes"),
        GOOD if good else BAD,
        N_("{launcher} ran on {nodes} {nodes:node|nodes} after {seconds} s: {hosts}")
        if good
        else N_("{state} after {seconds} s; {warning}")
        if warnings
        else N_("{state} after {seconds} s; hosts: {hosts}"),
        remedy="" if good else N_("see {folder}/logs"),
        warning=printable(warnings[-1]) if warnings else "",
        **values,
    )


def trial_launcher(cluster: "Cluster") -> str:
    """Return the launcher of the short job: one that the cluster offers and that reaches the other nodes.

    torchrun comes last, since it needs PyTorch on the nodes; `local` is for clusters whose jobs have one node.
    """
    from hackathon.config.cluster import ALL_LAUNCHERS

    offered = list(cluster.launchers or ALL_LAUNCHERS)
    if cluster.starter == "local" and "local" in offered:
        return "local"
    return min(offered, key=lambda name: ("torchrun", "local").index(name) + 1 if name in ("torchrun", "local") else 0)


def _trial(cluster: "Cluster", options: "Options", runs: Path, around: "Sources | None") -> "Sources":
    """Return the sources of the short job: where jobs of the folder run and who pays for them, nothing of what runs."""
    from hackathon.config.project import Project
    from hackathon.jobs.resolve import Sources

    if around is None:
        return Sources(cluster=cluster, options=options, project=Project(name="doctor", command="hostname"), runs=runs)
    own = around.project or around.surrounding or Project(name="doctor")
    place = own.place()
    trial = Project(
        name="doctor", command="hostname", team=own.team, queue=place.queue, group=place.group,
        reservation=place.reservation, memory=own.memory, directives=own.directives,
    )  # fmt: skip
    return Sources(
        cluster=cluster, options=options, environment=around.environment, project=trial, user=around.user,
        event=around.event, event_folder=around.event_folder, team=around.team, runs=runs,
    )  # fmt: skip
