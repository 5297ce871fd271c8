"""Every format that is read from others gives a value or an error that is told: no traceback, in bounded time and room.

A good file is changed in some places: the values that programs think of least, and what no JSON library writes.
"""

import json
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.board.entry import BadEntry, Entry, decode, encode, new_id
from hackathon.config import load, rule_files
from hackathon.config.rule import Rule
from hackathon.diagnosis.examine import diagnose_files, diagnose_run
from hackathon.diagnosis.hangs.hang import find_hang
from hackathon.index.index import Index
from hackathon.index.projects import Bounds, ProjectFolder
from hackathon.index.uses import read_uses
from hackathon.logs.final import final_numbers
from hackathon.logs.metrics import final_texts, series
from hackathon.runs.clean import candidates
from hackathon.runs.crate.archive import RESULT, read_crate
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.runs.study import find_studies
from hackathon.scaling.collect import study_results
from hackathon.schedulers.base import CommandOutput
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.registry import load_cluster
from hackathon.schedulers.slurm.commands import Slurm
from hackathon.text.errors import HackathonError
from hackathon.web.crate.crate import collect
from support.paths import ROOT
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_study

SECONDS, MEGABYTES = 20.0, 400
"""Processor time for one changed file, and room for all of them together."""
FEW = settings(
    max_examples=10, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
DEEP = "[" * 3000 + "]" * 3000
PIECES: tuple[str, ...] = (
    "null", "true", "-1", "0", "1e999", "-Infinity", "NaN", "1" * 400, "9" * 5000, "99999999999", "1.5", '""', '"NaN"',
    '"\\ud800"', '"a\\u0000b"', '"a\\nb\\u001b[2J"', '"²"', '"../../etc"', '"-Wforce"', "[]", "{}", "[[1, 2], [3]]",
    '[1, "x", null, {}]', '{"": null}', '{"a": {"b": []}}', json.dumps("9" * 5000), json.dumps("ü" * 3000), DEEP,
)  # fmt: skip
"""What is put in the place of a value, as JSON has it."""
WHOLE = (b"", b"\0" * 5000, b"null", b"[1]", b'"x"', b"\xff\xfe{", b'{"a":' * 3000, b"9" * 5000, DEEP.encode())
"""What is put in the place of a file."""


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value in a JSON value, the first ones of long lists."""
    yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*above, key))


def changed(draw: Callable[[Any], Any], text: str) -> str:
    """Return JSON with another value in some places."""
    value = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        where, piece = draw(st.sampled_from(list(places(value)))), draw(st.sampled_from(range(len(PIECES))))
        if not where:
            continue
        inside = value
        for key in where[:-1]:
            inside = inside[key]
        inside[where[-1]] = f"@@{piece}@@"
    text = json.dumps(value)
    for number, piece in enumerate(PIECES):
        text = text.replace(f'"@@{number}@@"', piece)
    return text


@st.composite
def files(draw: Callable[[Any], Any], raw: bytes, name: str) -> bytes:
    """Return what may lie in the place of a file."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([*WHOLE, raw[: len(raw) // 2]]))  # type: ignore[no-any-return]
    if name.endswith(".json"):
        return changed(draw, raw.decode()).encode()
    good = raw.decode("utf-8", "replace").splitlines()
    lines = list(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        if name.endswith(".jsonl"):
            lines[at] = changed(draw, good[at])
        else:
            lines[at] = draw(st.sampled_from([*PIECES, ",,,,", "1,gpu,²,²,²,²", "1e999,gpu,0,1e999,nan,1", "\0" * 100]))
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a study and two rich runs."""
    folder = tmp_path_factory.mktemp("good") / "train"
    write_study(folder, [Sample(1, 1200.0), Sample(2, 2300.0)])
    write_rich(folder, 5)
    write_rich(folder, 6, failed=True)
    return folder


@pytest.fixture(scope="module")
def facts() -> list[Rule]:
    """The rules that look at a run's records, in one list for all: making it ready takes a while."""
    return [rule for rule in rule_files.load_rules()[0] if rule.fact]


@pytest.fixture(autouse=True, scope="module")
def room() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES << 10


def told(work: Callable[[], object]) -> None:
    """Do something that may fail as expected, in time."""
    begin = time.thread_time()
    try:
        work()
    except HackathonError as error:
        assert error.message
    assert time.thread_time() - begin < SECONDS


NAMES = (
    "request.json", "final.json", "source.json", "client/created.json", "client/submitted.json", "events/job.jsonl",
    "events/rank-1.jsonl", "metrics/rank-0.jsonl", "telemetry/a017.example.jp.csv", "env/a017.example.jp.json",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(data=st.data())
def test_files_of_a_run(project: Path, facts: list[Rule], tmp_path: Path, name: str, data: st.DataObject) -> None:
    good = sorted((project / "runs").iterdir())[-1]
    run = tmp_path / "train" / "runs" / good.name
    shutil.rmtree(tmp_path / "train", ignore_errors=True)
    shutil.copytree(good, run, symlinks=True)
    raw = (good / name).read_bytes() if (good / name).is_file() else (good / "request.json").read_bytes()
    (run / name).write_bytes(data.draw(files(raw, name)))
    directory = RunDirectory(run)
    found = ProjectFolder(run.parent.parent)
    for over in (True, False):
        told(lambda over=over: final_numbers(run, directory.known(), over=over))  # type: ignore[misc]
    told(lambda: [series(run), final_texts(run)])
    told(directory.request)
    told(lambda: status([directory], ask=False, write=False))
    told(lambda: diagnose_run(directory, rules=facts).findings)
    told(lambda: read_uses([found], Bounds([(found.path, "")]), now=2e9, index=tmp_path / "i" / "u.sqlite3"))
    told(lambda: list(candidates(found.path, failed=True, sources=True)))
    told(lambda: Index([found], tmp_path / "i" / "x.sqlite3").refresh())


@FEW
@given(data=st.data())
@pytest.mark.slow
def test_a_study(project: Path, tmp_path: Path, data: st.DataObject) -> None:
    shutil.rmtree(tmp_path / "train", ignore_errors=True)
    shutil.copytree(project, tmp_path / "train", symlinks=True)
    (file,) = (tmp_path / "train" / "studies").glob("*/study.json")
    file.write_bytes(data.draw(files(file.read_bytes(), "study.json")))
    (study,) = find_studies(tmp_path / "train")
    told(study.points)
    told(lambda: study_results(study, status([RunDirectory(each) for each in (tmp_path / "train/runs").iterdir()],
                                             ask=False, write=False)))  # fmt: skip


@FEW
@given(data=st.data())
def test_a_crate(project: Path, tmp_path: Path, data: st.DataObject) -> None:
    from hackathon.config.event import Publish
    from hackathon.web.masking.mask import Mask

    good = sorted((project / "runs").iterdir())[-2]
    folder = tmp_path / "crate"
    shutil.rmtree(folder, ignore_errors=True)
    contents = collect(good, mask=Mask([], []), publish=Publish()).files
    name = data.draw(st.sampled_from([name for name in sorted(contents) if name.endswith(".json")]))
    for each, raw in contents.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(data.draw(files(raw, each)) if each == name else raw)

    def read() -> None:
        crate = read_crate(str(folder))
        crate.record(RESULT)
        crate.request()
        crate.source()
        crate.scripts()

    told(read)


@FEW
@given(data=st.data())
def test_an_entry_of_the_board(data: st.DataObject) -> None:
    entry = Entry(id=new_id(1000), kind="post", time=1.0, board="b", text="t", sections={"done": "x"})
    try:
        decode(data.draw(files(encode(entry), "entry.json")), f"{entry.id}.json", "b")
    except BadEntry as error:
        assert str(error)


YAML = {
    "project.yaml": (ROOT / "team_projects" / "digits" / "project.yaml", load.load_project),
    "hackathon.yaml": (None, load.load_event),
    "recipe.yaml": (ROOT / "recipes" / "torch-ddp" / "recipe.yaml", load.load_recipe),
    "rule.yaml": (ROOT / "templates" / "rules" / "nccl.yaml", rule_files.load_rule_file),
    "survey.yaml": (next((ROOT / "templates" / "surveys").glob("*.yaml")), load.load_survey),
    "cluster.yaml": (ROOT / "templates" / "clusters" / "reedbush-h.yaml", None),
}
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)
EVENT = "title: T\nteams:\n  - {name: a, group: g, members: [{user: u}]}\nclusters: {laptop: {queue: q}}\n"
ODD = (
    "[" * 5000, "{a: " * 5000, LAUGHS, "- &a [*a]", "9" * 5000, "a: \0", '"\\ud800": x', "? [a]\n: b", "!!python/x y",
    "a: 0x" + "f" * 5000, "a: .inf", "x: " + "y" * 900_000, "<<: {a: b}", "a: 1e999999", "%YAML 9.9\n---\na",
)  # fmt: skip


@pytest.mark.parametrize("name", YAML)
@FEW
@given(data=st.data())
def test_files_that_people_write(tmp_path: Path, name: str, data: st.DataObject) -> None:
    sample, read = YAML[name]
    text = EVENT if sample is None else sample.read_text("utf-8")
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        key = lines[at].partition(":")[0]
        piece = data.draw(st.sampled_from([*PIECES, *ODD]))
        lines[at] = data.draw(st.sampled_from([f"{key}: {piece}", piece, lines[at] + piece, f"{key}:\n    - {piece}"]))
    path = tmp_path / ("laptop.yaml" if name == "cluster.yaml" else name)
    path.write_text("\n".join(lines), "utf-8", "surrogatepass")
    if name == "cluster.yaml":
        place = tmp_path / "templates" / "clusters"
        place.mkdir(parents=True, exist_ok=True)
        path.replace(place / "laptop.yaml")
        told(lambda: load_cluster("laptop", [tmp_path]))
    elif name in ("rule.yaml", "survey.yaml"):
        told(lambda: read(path))  # type: ignore[operator]
    else:
        told(lambda: read(tmp_path))  # type: ignore[operator]


@FEW
@given(data=st.data())
def test_answers_of_accounting(data: st.DataObject) -> None:
    schedulers = ROOT / "hackathon" / "schedulers"
    slurm = (schedulers / "slurm" / "samples" / "bill_sacct.txt").read_bytes()
    slurm = slurm.replace(b"\x1fj.sh", b"\x1froot\x1fj.sh").replace(b"\x1fhk-", b"\x1froot\x1fhk-")
    text = data.draw(files(slurm, "bill.txt")).decode("utf-8", "replace")
    columns = text.replace("|", data.draw(st.sampled_from(["|", "||", "|9999999999999|"])), 3)
    told(lambda: Slurm().parse_accounting([CommandOutput(("sacct",), 0, columns, "")], ["1", "2", "2_2", "15"]))
    told(lambda: Slurm().parse_status([CommandOutput(("sacct",), 0, columns, "")] * 2, ["1", "2"]))
    pbs = (schedulers / "pbs" / "samples" / "qstat_x_f_finished.json").read_bytes()
    text = data.draw(files(pbs, "qstat.json")).decode("utf-8", "replace")
    told(lambda: Pbs().parse_accounting([CommandOutput(("qstat",), 0, text, "")], ["1.pbs", "2.pbs"]))


@pytest.mark.parametrize("digits", ["9" * 5000, "²", "99999999"])
def test_numbers_of_any_length_in_a_log(tmp_path: Path, digits: str) -> None:
    """Ranks and sequence numbers are read out of lines that any program may print."""
    lines = (
        f"[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum={digits}, OpType=ALLREDUCE) ran for",
        f"[PG 0 Rank {digits}] last enqueued NCCL work: {digits}, last completed NCCL work: {digits}",
        f"Stalled ranks:\n{digits}: [tensor]\nx [missing ranks: {digits}]\n[ready ranks: {digits}]",
        f"Root Cause (first observed failure):\n  rank      : {digits} (local_rank: 0)",
        f"= RANK {digits} PID 1 RUNNING AT x\nsrun: error: n1: task {digits}: Killed",
        f"Ranks {digits} failed to pass monitoredBarrier",
    )
    log = tmp_path / "logs" / "rank-0.log"
    log.parent.mkdir()
    log.write_text("\n".join(lines) + "\n")
    told(lambda: diagnose_files([log]))
    log.write_text(
        f"Test set: Accuracy: {digits}/{digits}\n {digits}/{digits} [===] 3s/step\nEpoch 1: 5%|{digits}/{digits} [\n"
    )
    told(lambda: final_numbers(tmp_path, RunDirectory(tmp_path).known(), over=True))


def test_ranks_that_cannot_be_fill_no_memory(tmp_path: Path) -> None:
    (tmp_path / "rank-0.log").write_text("W horovod stall_inspector.cc: stalled [ready ranks: 0, 99999999]\n")
    told(lambda: diagnose_files([tmp_path / "rank-0.log"]))
    assert find_hang([], [], processes=10**11) is None
