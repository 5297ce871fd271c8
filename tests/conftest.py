"""Shared by all tests: an own home, and no skip that nobody knows of in CI."""

import gc
import itertools
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hackathon.text.messages import set_language

# OpenMP threads spin while they wait, and where there are more of them than cores they take the time of those that
# work: beside four other tests on two cores nine small trainings took 327 s, and 7 s with threads that sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# examples have no time limit of their own, nor has making them: on a busy machine they are slow, which says nothing
# about the code
# Forty examples of each property, in CI the same ones in every run: what they find, they find early. `@settings` of a
# test asks for more where its inputs have many shapes.
settings.register_profile(
    "shared-machine", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

pytest.register_assert_rewrite("support")
pytest_plugins = ["support.injected", "support.slurm_lab.fixture", "support.gridengine_lab.fixture", "support.warm"]

HERE = Path(__file__).parent
ALLOWED_SKIPS = HERE / "allowed_skips.txt"
WORKERS_AT_MOST = 16
"""Each has a Slurm, a browser and a Python with torch of its own."""

_NUMBERS = itertools.count()
_MASK = 0o022
"""The umask of all tests: what others may read or write is the subject of many, and of what root owns where others
write nothing is read."""
os.umask(_MASK)
SEED = int(os.environ.get("TESTS_SEED", "0"))
"""What random weights and data of a test begin with; `TESTS_SEED=7 make test` finds tests that hold for some only."""


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the processes that tests start.

    A shell starts what stands before `&` in a script with SIGINT ignored, and every process below inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers `-n auto` starts: two a core for the core, three with slow tests, whose jobs mostly wait.

    At most one for two files. 0, which is this process, for up to three files, whose tests take less than it takes to
    start workers, and where golden files are written. PYTEST_XDIST_AUTO_NUM_WORKERS has priority: xdist reads it when
    this returns None.
    """
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    paths = {config.invocation_params.dir / argument.split("::")[0] for argument in config.args}
    files = {file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else (path,))}
    per_core = 2 if config.option.markexpr == "not slow" else 3
    number = min(WORKERS_AT_MOST, per_core * len(os.sched_getaffinity(0)), len(files) // 2)
    return 0 if number < 2 or os.environ.get("HACKATHON_GOLDEN") == "write" else number


# what takes longest comes first, so that no worker is left alone with a long file at the end
_FOLDERS = ("cluster", "recipes", "faults", "web", "golden", "unit")


@pytest.hookimpl(tryfirst=True)  # xdist's own hook puts the groups into the names of tests: they must be known by then
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under `--dist loadgroup`: a group for each file, for its slow tests on Slurm or with Horovod; one for accounts.

    What a file's fixtures make is made once then. The core's tests on Slurm are one group, for which one worker starts
    one Slurm; slow ones, which wait for it, have one in each worker, so that they do not stand in line. All tests on
    the real Grid Engine share one. What is slow comes after the rest, what needs Horovod after that: it may still be
    compiled. Limits of tests are stretched in any case.
    """
    from support.patience import STRETCH  # not above: what is imported by then has its assertions not rewritten

    for item in items:
        if limit := item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(STRETCH * limit.args[0]), append=False)
    if not getattr(config.option, "loadgroup", False):  # xdist's word to its workers; theirs for `dist` is always "no"
        return
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected, which stays to the end, out of every search for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _group(item: pytest.Item) -> str:
    if item.get_closest_marker("gridengine"):
        return "gridengine"
    if item.get_closest_marker("slurm") and not item.get_closest_marker("slow"):
        return "slurm"
    place = "accounts" if item.path.stem.endswith("_users") else item.path.relative_to(HERE).as_posix()
    marks = "".join(f" {name}" for name in ("slurm", "slow") if item.get_closest_marker(name))
    return place + marks + (" horovod" if _horovod(item) else "")


def _horovod(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None and "horovod" in item.nodeid


def _turn(item: pytest.Item) -> tuple[bool, bool, bool, int]:
    slow, slurm, shared = (item.get_closest_marker(name) is not None for name in ("slow", "slurm", "gridengine"))
    folder = item.path.relative_to(HERE).parts[0]
    rank = _FOLDERS.index(folder) if folder in _FOLDERS else len(_FOLDERS)
    return slow, _horovod(item), not (slurm or shared), rank


@pytest.hookimpl(tryfirst=True)  # before the fixtures, some of which draw
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what starts an MPI where there is none. Weights and data are the same whatever the process ran before.

    Python's own generator is left alone: names and ports come from it, which tests in other processes must not choose.
    """
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(SEED)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(SEED)
    where = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if item.get_closest_marker("mpi") and not shutil.which("mpirun", path=where):
        pytest.skip("no mpirun")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the homes of all tests: `mktemp` looks through all that it made before, for every new one."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(homes: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Give every test its own settings and caches, English messages and no HACKATHON_* of the caller's shell.

    A Slurm that other tests have started before answers only those that are for Slurm.
    """
    os.umask(_MASK)  # whatever an earlier test left
    if request.node.get_closest_marker("slurm") is None and "slurm" not in request.fixturenames:
        monkeypatch.delenv("SLURM_CONF", raising=False)
    home = homes / str(next(_NUMBERS))
    home.mkdir(mode=0o700)
    for name in [name for name in os.environ if name.startswith("HACKATHON_")]:
        if name != "HACKATHON_GOLDEN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    (home / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    set_language(None)
    yield home
    set_language(None)


def _unknown_skips(reporter: pytest.TerminalReporter) -> list[str]:
    known = [line.strip() for line in ALLOWED_SKIPS.read_text().splitlines() if line.strip() and line[0] != "#"]
    skipped = reporter.stats.get("skipped", []) if os.environ.get("CI") else []
    return [
        f"{report.nodeid}: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"
        for report in skipped
        if not any(each in str(report.longrepr) for each in known)
    ]


_BEGAN = time.time()
_ENDS = {False: 0.0, True: 0.0}
"""Slow or not → when the last test of that part ended, in seconds since the epoch."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note when each part of the tests ended, for CI's account."""
    _ENDS["slow" in report.keywords] = time.time()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say when each part ended; name the skips that are not on the list."""
    for slow, ended in _ENDS.items():
        if ended and getattr(terminalreporter.config.option, "dist", "no") == "loadgroup":
            minutes = (ended - _BEGAN) / 60
            terminalreporter.write_line(f"{'slow' if slow else 'core'} part ended after {minutes:.1f} min")
    for line in _unknown_skips(terminalreporter):
        terminalreporter.write_line(f"skip that is not in tests/allowed_skips.txt: {line}", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip must be on the list, so that no test can fall silent."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == 0 and _unknown_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
