"""What the guards against other people's files cost: `index`, `status`, `render` and `diagnose` with and without them.

    python tests/bench/bench_guards.py [--rounds N] [--runs N] [--log MB]

Each round runs every command twice, in changing order, each in a process of its own: once as it is, and once with the
guards taken away in that process. These are the walk part by part with its looks at descriptors (a plain open(2), stat
and listing by name takes its place), and the sandbox of job templates (Jinja's own environment and loader take its
place). Prints seconds of processor time and the median of the rounds' ratios with the lowest and the highest, beside
those of two runs of the same command as it is: that is the noise.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
_WITHOUT = """
import os
from hackathon.access import beneath, guarded_folder
from hackathon.jobs.templates import sandbox
import jinja2
def looked_at(self, name, flags):
    descriptor = os.open(f"{self.root}/{name}", flags & ~os.O_NOFOLLOW)
    return descriptor, os.fstat(descriptor)
def stat(self, name, *, links=True):
    return os.stat(f"{self.root}/{name}", follow_symlinks=links)
class Plain(jinja2.Environment):
    def __init__(self, loader, cache):
        super().__init__(
            loader=loader, undefined=jinja2.StrictUndefined, comment_start_string="<#", comment_end_string="#>",
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
            bytecode_cache=sandbox.private_cache(cache, sandbox._VERSION),
        )
if guards == "without":
    beneath.Beneath.looked_at = looked_at
    guarded_folder.GuardedFolder.stat = stat
    sandbox.TemplateSandbox = Plain
"""
_COMMAND = """
from hackathon.cli.main import main
main()
"""
_INDEX = """
from hackathon.index.index import Index
from hackathon.index.projects import find_projects
from pathlib import Path
projects, _ = find_projects(Path("event").absolute(), None, [])
index = Index(list(projects), Path(kept) / "index.sqlite3")
index.refresh()
while index.pending:
    index.refresh()
"""


def seconds(code: str, arguments: list[str], folder: Path, guards: str) -> float:
    """Return the processor time of one run of a command, or of code."""
    with tempfile.TemporaryDirectory(prefix="bench-guards-") as kept:
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HACKATHON_LANG": "en"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        whole = f"guards = {guards!r}\nkept = {kept!r}\n{_WITHOUT}\n{code}"
        argv = [sys.executable, "-c", whole, *arguments]
        with subprocess.Popen(
            argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdout is not None
            told = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, told.decode()[-2000:]
        return used.ru_utime + used.ru_stime


def _runs(project: Path, count: int, state: str = "SUCCEEDED", code: int = 0) -> None:
    """Write a project with sealed runs, as bench_status does."""
    from hackathon.text.files import write_json

    project.mkdir()
    (project / "project.yaml").write_text("name: many\ncommand: 'true'\n")
    for number in range(count):
        run = project / "runs" / f"20260101-{number // 60:04d}{number % 60:02d}-many-1p-{number:08d}"
        (run / "client").mkdir(parents=True)
        write_json(run / "request.json", {"name": "many", "scheduler": "slurm", "cluster": "slurm", "processes": 1})
        write_json(run / "client" / "created.json", {"t": 1.0})
        write_json(run / "client" / "submitted.json", {"t": 2.0, "job_id": str(number)})
        final = {"state": state, "job_id": str(number), "exit_code": code, "t_ended": 3.0, "sealed": 4.0}
        write_json(run / "final.json", final)


def _failed(project: Path, size: int) -> None:
    """Write a project with one failed run whose log has `size` MB."""
    from bench_diagnosis import write_log

    _runs(project, 1, "FAILED", 1)
    run = next((project / "runs").iterdir())
    (run / "logs").mkdir()
    write_log(run / "logs" / "rank-0.log", size * 1_000_000)


def main() -> None:
    """Make what is read, measure and print."""
    from bench_index import write

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--log", type=int, default=100, help="MB of the diagnosed log")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-guards-") as place:
        base = Path(place)
        write(base / "event", asked.runs)
        _runs(base / "many", asked.runs)
        _failed(base / "failed", asked.log)
        own = base / "own"
        shutil.copytree(base / "many", own, ignore=shutil.ignore_patterns("runs"))
        (own / "templates" / "jobs").mkdir(parents=True)
        (own / "templates" / "jobs" / "job.sh.j2").write_text('{% extends "shipped/job.sh.j2" %}\n')
        render = ["render", "--cluster", "slurm", "--processes", "2"]
        measured = {
            f"index of {asked.runs} runs, cold": (_INDEX, [], base),
            f"status of {asked.runs} runs": (_COMMAND, ["status", "--all"], base / "many"),
            "render": (_COMMAND, render, base / "many"),
            "render in a folder with templates": (_COMMAND, render, own),
            f"diagnose of {asked.log} MB": (_COMMAND, ["diagnose"], base / "failed"),
        }
        print(f"{'':40} {'with':>7} {'without':>8}   with ÷ without            same twice")
        for name, (code, arguments, folder) in measured.items():
            pairs, noise = [], []
            seconds(code, arguments, folder, "with")  # fills caches
            seconds(code, arguments, folder, "without")
            for number in range(asked.rounds):
                order = ["with", "without", "with"] if number % 2 else ["with", "with", "without"]
                found: dict[str, list[float]] = {"with": [], "without": []}
                for guards in order:
                    found[guards].append(seconds(code, arguments, folder, guards))
                pairs.append((statistics.mean(found["with"]), found["without"][0]))
                noise.append(found["with"][0] / found["with"][1])
            ratios = sorted(one / other for one, other in pairs)
            print(
                f"{name:40} {statistics.median(one for one, _ in pairs):6.2f}s "
                f"{statistics.median(other for _, other in pairs):7.2f}s   "
                f"{statistics.median(ratios):.3f} ({ratios[0]:.2f} … {ratios[-1]:.2f})    "
                f"{statistics.median(noise):.3f} ({min(noise):.2f} … {max(noise):.2f})",
                flush=True,
            )


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.path.insert(0, str(HERE.parent))
    main()
