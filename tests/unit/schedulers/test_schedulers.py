"""Every scheduler: the protocol, the registry, the catalogue."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.schedulers import registry
from hackathon.schedulers.base import CommandOutput, Scheduler, SchedulerError, StatusAnswer, Submission
from hackathon.schedulers.dialect import Dialect
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.pbs.dialect import PbsDialect
from hackathon.schedulers.reports import QueueInfo
from hackathon.schedulers.slurm.dialect import SlurmDialect
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

HOOKS = [name for kind in (Scheduler, Dialect) for name, each in vars(kind).items()
         if not name.startswith("_") and (inspect.isfunction(each) or isinstance(each, property))]  # fmt: skip


@pytest.fixture(params=sorted(registry.BUILT_IN))
def scheduler(request: pytest.FixtureRequest) -> Scheduler:
    return registry.load(request.param)


def test_every_scheduler_keeps_the_contract(scheduler: Scheduler, tmp_path: Path) -> None:
    for kind in (Scheduler, Dialect):
        for name, hook in vars(kind).items():
            if name in HOOKS and inspect.isfunction(hook):
                actual = getattr(type(scheduler if kind is Scheduler else scheduler.dialect), name)
                assert inspect.signature(actual).parameters.keys() == inspect.signature(hook).parameters.keys(), name
    name = "hk-abcdefgh"
    conditions = [each for each in ("ok", "any") if scheduler.supports_after(each)]
    after = (conditions[0], "17") if conditions else None
    submission = Submission(tmp_path / "job.sh", tmp_path, name, tmp_path / "out.txt", after, ("-g", "gi99"))
    argv = scheduler.submit_argv(submission)
    if files := scheduler.dialect.file_names:  # they have the name and the script
        assert set(files) <= set(argv)
    else:
        assert name in argv and any("job.sh" in word for word in argv)
    assert not conditions or any("17" in word for word in argv)
    shell = scheduler.shell(["-q", "debug"], tmp_path / "shell.sh")
    assert shell is None or str(tmp_path / "shell.sh") in shell.argv or not shell.reads_rcfile
    for command in (
        argv,
        *scheduler.status_argv(["1", "2"]),
        *scheduler.find_argv(name),
        *scheduler.accounting_argv(["1"]),
        scheduler.cancel_argv("1"),
        scheduler.queues_argv(),
        *([shell.argv] if shell else []),
    ):
        assert command and all(isinstance(word, str) and "\n" not in word for word in command)
    with pytest.raises(AttributeError):
        scheduler.name = "other"  # frozen
    folder = scheduler.dialect.template_folders()[0]
    templates = {"header.sh.j2", "identity.sh.j2", "hosts.sh.j2"}
    assert templates | {"commands.py", "dialect.py"} <= {path.name for path in folder.iterdir()}


def test_every_hook_is_explained_with_an_example_and_does_nothing_unless_replaced() -> None:
    """`base.py` and `dialect.py` are the pages from which the next scheduler is written."""
    optional = [(kind, name) for kind in (Scheduler, Dialect) for name in HOOKS if name in vars(kind)]
    optional = [each for each in optional if each[1] not in {*Scheduler.__abstractmethods__, "of"}]
    lacking = [name for kind, name in optional if "xample" not in str(vars(kind)[name].__doc__)]
    assert len(optional) > 12 and not lacking
    bare = Bare()
    assert bare.undo_argv(CommandOutput(("true",), 1, "", "")) == [] and bare.dialect.file_names == ()
    assert (bare.supports_after("any"), bare.follow_up_argv([], ["1"]), bare.accounting_argv(["1"])) == (False, [], [])
    assert (bare.can_account("x"), bare.parse_accounting([], []), bare.shell([], Path("x"))) == (True, {}, None)
    assert (bare.environment({"A": "b"}, submission=True), bare.output_names) == ({"A": "b"}, ())
    assert (bare.left_files("17", "hk-x"), bare.parse_left("17: killed", "17")) == ((), None)
    dialect = bare.dialect
    assert (dialect.wants_group, dialect.whole_nodes, dialect.reservation_is_queue) == (False, True, False)
    assert not dialect.mpi_from_job
    assert (
        dialect.reserved_exit_codes == frozenset()
        and not dialect.has_launcher("srun")
        and dialect.has_launcher("mpirun")
    )


class Bare(Scheduler):
    """Only what every scheduler needs."""

    name = "bare"

    def submit_argv(self, submission: Submission) -> list[str]:
        return ["true"]

    def parse_submit(self, answer: CommandOutput) -> str:
        return "1"

    def status_argv(self, ids: list[str]) -> list[list[str]]:
        return [["true"]]

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        return StatusAnswer()

    def cancel_argv(self, job_id: str) -> list[str]:
        return ["true"]

    def parse_cancel(self, answer: CommandOutput) -> bool:
        return True

    def find_argv(self, name: str) -> list[list[str]]:
        return [["true"]]

    def parse_find(self, answers: list[CommandOutput]) -> list[str]:
        return []

    def queues_argv(self) -> list[str]:
        return ["true"]

    def parse_queues(self, answer: CommandOutput) -> list[QueueInfo]:
        return []


def test_dialects_are_made_from_whatever_a_record_has() -> None:
    made = registry.load_dialect("pbs", {"group": "project", "place": "scatter", "gpu_request": 7, "of the future": 1})
    assert made == PbsDialect(group="project", place="scatter")
    assert registry.load("pbs", {"group": "project"}).dialect == PbsDialect(group="project")
    assert registry.load("slurm").dialect == SlurmDialect()
    assert isinstance(registry.load_dialect("local"), Dialect) and registry.dialect_type("nowhere") is None


def test_no_scheduler_takes_a_failure_or_garbage_for_an_answer(scheduler: Scheduler) -> None:
    for text, code in (("", 255), ("<html>502</html>", 0), ("\udcff\udcfe", 0), ("<html>502</html>", 1)):
        answers = [CommandOutput(tuple(argv), code, text, "") for argv in scheduler.status_argv(["1"])]
        with pytest.raises(SchedulerError) as caught:
            scheduler.parse_status(answers, ["1"])
        assert caught.value.message.encode("utf-8")
        with pytest.raises(SchedulerError):
            scheduler.parse_submit(CommandOutput(("submit",), code, text, ""))
        with pytest.raises(SchedulerError):
            scheduler.parse_find([CommandOutput(tuple(argv), code, text, "") for argv in scheduler.find_argv("hk-x")])


def test_unknown_name_offers_near_ones() -> None:
    with pytest.raises(RequestError) as caught:
        registry.load("slrum")
    assert "slurm" in caught.value.message and caught.value.exit_code == 2
    with pytest.raises(RequestError, match=", ".join(sorted(registry.BUILT_IN))):
        registry.load("xyz")


@pytest.fixture
def plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution with a good and a broken scheduler."""
    (tmp_path / "odd_plug_in.py").write_text(
        "from hackathon.schedulers.slurm.commands import Slurm\n\n\nclass Odd(Slurm):\n    name = 'odd'\n"
    )
    (tmp_path / "misnamed_plug_in.py").write_text("from hackathon.schedulers.slurm.commands import Slurm\n")
    (tmp_path / "broken_plug_in.py").write_text("raise RuntimeError('licence has expired')\n")
    info = tmp_path / "plug_in-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[hackathon.schedulers]\nodd = odd_plug_in:Odd\nbroken = broken_plug_in:Broken\n"
        "misnamed = misnamed_plug_in:Slurm\nnothing = misnamed_plug_in:__name__\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield


@pytest.mark.usefixtures("plug_ins")
def test_plug_ins_are_found_and_a_broken_one_hides_nothing() -> None:
    assert {"odd", "broken", "pbs", "slurm", "local"} <= set(registry.names())
    assert registry.load("odd").cancel_argv("7")[-1] == "7"
    assert registry.load("pbs").name == "pbs"
    assert registry.load_dialect("odd", {"group": "account"}) == SlurmDialect(group="account")
    assert registry.dialect_type("odd") is SlurmDialect and registry.dialect_type("broken") is None
    problems = registry.problems()
    assert "licence has expired" in problems["broken"] and "odd" not in problems
    assert "'slurm'" in problems["misnamed"] and "nothing" in problems
    with pytest.raises(RequestError, match="licence has expired"):
        registry.load("broken")


def test_a_plug_in_names_a_message_that_schedulers_share() -> None:
    for key, shared in FAILURES.items():
        error = SchedulerError(f"schedulers.{key}", transient=False, command="kq", code=1, words="no")
        assert shared == error.id == f"schedulers.{key}"
        assert error.message == _(shared, command="kq", code=1, words="no") != error.id
