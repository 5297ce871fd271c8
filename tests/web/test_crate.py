"""A run's crate: what is in it, that it says nothing it must not, that equal runs give equal bytes, and bad crates."""

import io
import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Publish
from hackathon.jobs.request import Request
from hackathon.jobs.script import SCRIPTS, JobScript
from hackathon.runs.crate.archive import LIST, METADATA, Crate, is_crate, read_crate
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from hackathon.web.crate.crate import write_crate
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.names import named
from support.recipes import copy_recipe
from support.samples.runs import HOSTS, USER, Sample, write_run

OPEN = Publish(source=True)
GROUP = "pz0425"


def _request(folder: Path, **changes: Any) -> Request:
    values: dict[str, Any] = {
        "name": "digits", "recipe": None, "framework": "torch", "cluster": "reedbush-h", "scheduler": "pbs",
        "queue": "h-debug", "group": GROUP, "reservation": None, "nodes": 1, "processes": 2, "processes_per_node": 2,
        "threads": 1, "gpus_per_node": 2, "walltime": 600, "launcher": "torchrun", "starter": "mpirun",
        "mpi": "openmpi", "command": ("python", "train.py", "--epochs", "1"), "parameters": {"epochs": 1},
        "source": str(folder), "team": "aurora",
    }  # fmt: skip
    return Request(**{**values, **changes})


def _run(folder: Path, **changes: Any) -> Path:
    """Return a run of a small program whose owner is `tanaka07`, ended with success."""
    project = folder / USER / "digits"
    (project / "lib").mkdir(parents=True)
    (project / "train.py").write_text(f"DATA = '/lustre/{GROUP}/{USER}/data'  # on {HOSTS[0]}, paid by {GROUP}\n")
    (project / "lib" / "go.sh").write_text("#!/bin/sh\nexit 0\n")
    (project / "lib" / "go.sh").chmod(0o755)
    (project / "weights.bin").write_bytes(b"\0\1\xff" * 9)
    (project / "note.txt").write_bytes("東北 ".encode("shift-jis") + USER.encode() + b"\n")
    (project / f"of-{USER}.txt").write_bytes(b"mine\r\n\x0c\x1b[1m\n")
    (project / "alias.py").symlink_to("train.py")
    run = create(
        _request(project, **changes),
        JobScript(
            f"#!/bin/bash\n#PBS -W group_list={GROUP}\ncd /lustre/{GROUP}/{USER}\n. ./hackathon.sh\n",
            "#!/bin/bash\nexec true\n",
            f"hk_run() {{ cd /lustre/{GROUP}/{USER}; }}\n",
        ),
        runs_folder=project / "runs",
        note=f"a try of {USER}",
    )
    _end(run)
    return run.path


def _end(run: RunDirectory) -> None:
    for name in ("events", "metrics", "env"):
        (run.path / name).mkdir()
    head = {"attempt": 1, "host": HOSTS[0]}
    run.write_client("created", {"t": 1e9, "user": USER, "host": "login02.example.jp"})
    events = [{"t": 1e9 + 10, "event": "started", **head, "job_id": "5"},
              {"t": 1e9 + 40, "event": "ended", **head, "exit_code": 0, "signal": None}]  # fmt: skip
    (run.path / "events" / "job.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    final = {"t": 1, "attempt": 1, "final": True, "samples_per_s": 900.5, "accuracy": 0.97, "odd": "NaN",
             "weights": "sha256:00ff"}  # fmt: skip
    (run.path / "metrics" / "rank-0.jsonl").write_text(json.dumps(final) + "\n")
    for host in HOSTS[:2]:
        facts = {"host": host, "kernel": f"Linux {host}", "python": "3.11.2 (main)", "packages": {"torch": "2.0"},
                 "executable": f"/home/{USER}/bin/python"}  # fmt: skip
        (run.path / "env" / f"{host}.json").write_text(json.dumps(facts))


def _write(run: Path, target: Path, publish: Publish = OPEN) -> Path:
    found = named(run)
    write_crate(run, target, mask=Mask(found.users, found.hosts), publish=publish)
    return target


def _names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return _run(tmp_path)


@pytest.fixture
def crate(run: Path, tmp_path: Path) -> Path:
    return _write(run, tmp_path / "crate.zip")


# ---- what is in it ----
def test_rocrate_reads_it(crate: Path, run: Path) -> None:
    library = pytest.importorskip("rocrate.rocrate")
    read = library.ROCrate(crate)
    root = read.root_dataset
    assert root["conformsTo"].id == "https://w3id.org/ro/wfrun/process/0.5"
    (action,) = read.get_by_type("CreateAction")
    assert root["mentions"] == action and run.name in action.id
    assert (action["startTime"], action["endTime"]) == ("2001-09-09T01:46:50Z", "2001-09-09T01:47:20Z")
    assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert action["description"] == "python train.py --epochs 1"
    software = {each["name"]: each.get("softwareVersion") for each in action["instrument"]}
    assert software.keys() == {"hackathon", "Python", "PyTorch"}
    assert (software["Python"], software["PyTorch"]) == ("3.11.2", "2.0")
    assert {each.id for each in action["object"]} >= {*SCRIPTS, "request.json", "source/train.py"}
    results = {each["name"]: each.get("value") for each in action["result"]}
    assert results["weights"] == "sha256:00ff" and results["accuracy"] == 0.97 and "result.json" in results
    assert {each.id for each in read.data_entities} == {
        name.replace(" ", "%20") for name in _names(crate) if name != METADATA
    }
    program = read.get("source/train.py")
    assert set(program.type) == {"File", "SoftwareSourceCode"}
    assert {each["name"] for each in read.get_by_type("PropertyValue")} >= {"epochs", "samples_per_s"}


def test_it_comes_back_whole(crate: Path, run: Path) -> None:
    read = read_crate(str(crate))
    source = read.source()
    assert read.run == run.name and not read.changed and len(read.digest) == 64
    assert read.about_source["digest_as_run"] == json.loads((run / "source.json").read_text())["digest"]
    assert read.about_source["digest"] == source.digest != read.about_source["digest_as_run"]
    assert source.files["lib/go.sh"].executable and not source.files["train.py"].executable
    assert source.links == {"alias.py": "train.py"}
    assert source.files["weights.bin"].content == (run / "source" / "weights.bin").read_bytes()
    request = read.request()
    assert (request.command, request.processes) == (("python", "train.py", "--epochs", "1"), 2)
    result = read.record("result.json")
    assert result["metrics"]["odd"] == "nan" and result["metrics"]["samples_per_s"] == 900.5
    assert result["texts"] == {"weights": "sha256:00ff"} and result["state"] == "SUCCEEDED" and result["seconds"] == 30


def test_equal_runs_give_equal_bytes(crate: Path, run: Path, tmp_path: Path) -> None:
    os.utime(run / "source" / "train.py", (1, 1))
    assert _write(run, tmp_path / "again.zip").read_bytes() == crate.read_bytes()


def test_nobody_is_named(crate: Path) -> None:
    for name, content in _contents(crate).items():
        assert USER not in name
        for word in (USER, GROUP, "login02", *(host.split(".")[0] for host in HOSTS)):
            # whole words only: four letters of a host's name stand by chance in a SHA-256
            assert not re.search(rb"(?<![0-9A-Za-z])%s(?![0-9A-Za-z])" % word.encode(), content), (name, word)


def test_only_the_group_that_pays_is_a_group(run: Path) -> None:
    record = json.loads((run / "request.json").read_text())
    (run / "request.json").write_text(json.dumps({**record, "origins": {"group": "project.yaml"}}))
    assert named(run).groups == (GROUP,)


def test_what_masking_changed_is_told(crate: Path) -> None:
    about = read_crate(str(crate)).about_source
    assert about["masked"] == ["note.txt", "of-user.txt", "train.py"]
    assert about["complete"] and not about["left_out"] and not about["altered"]
    assert _contents(crate)["source/note.txt"] == "東北 ".encode("shift-jis") + b"user\n"
    assert _contents(crate)["source/of-user.txt"] == b"mine\r\n\x0c\x1b[1m\n"


def test_hosts_that_are_equal_are_told_once(crate: Path) -> None:
    assert [name for name in _names(crate) if name.startswith("env/")] == ["env/host-1.json"]


def test_logs_go_out_only_when_they_may(run: Path, tmp_path: Path) -> None:
    (run / "logs" / "rank-0.log").write_text(f"{USER} on {HOSTS[0]}\n" * 100_000)
    assert not [name for name in _names(_write(run, tmp_path / "a.zip")) if name.startswith("logs/")]
    logs = _contents(_write(run, tmp_path / "b.zip", Publish(source=True, logs=True)))["logs/rank-0.log"]
    assert len(logs) < 1_000_000 and b"user on host-1\n" in logs and USER.encode() not in logs[100:]


def test_a_team_keeps_its_program_and_its_name(run: Path, tmp_path: Path) -> None:
    path = _write(run, tmp_path / "a.zip", Publish(teams=False))
    assert not [name for name in _names(path) if name.startswith("source/") and "runtime" not in name]
    read = read_crate(str(path))
    assert "train.py" in read.about_source["left_out"] and read.record("request.json")["team"] is None
    with pytest.raises(RequestError, match="without its program") as caught:
        read.source()
    assert "train.py" in str(caught.value) and b"aurora" not in b"".join(_contents(path).values())


def test_a_recipe_of_the_toolkit_always_goes_out_as_it_is(tmp_path: Path) -> None:
    folder = copy_recipe("torch-ddp", tmp_path / "torch-ddp")
    run = create(_request(folder, recipe="torch-ddp"), JobScript("#!/bin/bash\n", ""), runs_folder=tmp_path / "runs")
    target = tmp_path / "a.zip"
    # a user whose name is a word of the program
    write_crate(run.path, target, mask=Mask(["train", "torch"], []), publish=Publish())
    read = read_crate(str(target))
    about = read.about_source
    assert about["complete"] and not about["masked"] and about["digest"] == about["digest_as_run"]
    assert read.request().command == run.request().command and read.request().recipe == "torch-ddp"


def test_files_that_the_job_changed_or_lost_are_told(run: Path, tmp_path: Path) -> None:
    (run / "source" / "lib" / "go.sh").write_text("other\n")
    (run / "source" / "weights.bin").unlink()
    about = read_crate(str(_write(run, tmp_path / "a.zip"))).about_source
    assert about["altered"] == ["lib/go.sh"] and about["left_out"] == ["weights.bin"] and about["complete"] is False


def test_links_and_pipes_in_a_run_lead_nowhere(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "go.sh").write_text("the secret\n")
    shutil.rmtree(run / "source" / "lib")
    (run / "source" / "lib").symlink_to(secret)
    (run / "job.sh").unlink()
    (run / "job.sh").symlink_to(secret / "go.sh")
    for name in ("hackathon.sh", "rank.sh"):
        (run / name).unlink()
        os.mkfifo(run / name)
    path = _write(run, tmp_path / "a.zip")
    assert b"the secret" not in b"".join(_contents(path).values())
    assert set(SCRIPTS).isdisjoint(_names(path))


def test_a_failed_run_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path, Sample(2, None, "FAILED", "rank 1 ended with exit code 1", exit_code=1))
    graph = json.loads(_contents(_write(run, tmp_path / "a.zip"))[METADATA])["@graph"]
    action = next(each for each in graph if each["@type"] == "CreateAction")
    assert action["actionStatus"] == {"@id": "http://schema.org/FailedActionStatus"}
    assert "rank 1 ended" in action["error"]


def test_a_folder_without_a_request_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        _write(tmp_path, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


# ---- crates from elsewhere ----
def _contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pack(path: Path, contents: dict[str, bytes], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(prefix + name, content)
    return path


def _refused(path: Path | str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_crate(str(path)).source()
    assert caught.value.message and caught.value.exit_code == 2
    return caught.value


def test_a_folder_and_a_packed_folder_are_read_too(crate: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(crate) as archive:
        archive.extractall(folder)  # this forgets which files are executable
    packed = _pack(tmp_path / "packed.zip", _contents(crate), "crate-1/")
    first: Crate = read_crate(str(crate))
    for other in (folder, packed):
        read = read_crate(str(other))
        assert read.files == first.files and read.source().files == first.source().files
        assert is_crate(str(other))
    assert read_crate(str(folder)).digest != first.digest


def test_an_edited_crate_says_which_files(crate: Path, tmp_path: Path) -> None:
    contents = {**_contents(crate), "source/train.py": b"print(2)\n"}
    read = read_crate(str(_pack(tmp_path / "edited.zip", contents)))
    assert read.changed == ("source/train.py",) and read.source().files["train.py"].content == b"print(2)\n"


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "a/../../b", "a\\..\\b", "C:/x", "a//b", "./a", "x" * 2000, "a\nb"]
)
def test_names_that_lead_outside(crate: Path, tmp_path: Path, name: str) -> None:
    error = _refused(_pack(tmp_path / "bad.zip", {**_contents(crate), name: b"x"}))
    assert error.id == "crate.outside"
    contents = _contents(crate)
    listed = json.loads(contents[LIST])
    listed["files"][name] = "00"
    assert _refused(_pack(tmp_path / "bad2.zip", {**contents, LIST: json.dumps(listed).encode()})).id == "crate.outside"


@pytest.mark.parametrize("name", ["source/.git/config", "source/lib/.GIT/hooks/pre-commit", ".git"])
def test_a_crate_brings_no_repository(crate: Path, tmp_path: Path, name: str) -> None:
    error = _refused(_pack(tmp_path / "bad.zip", {**_contents(crate), name: b"x"}))
    assert error.id == "crate.repository" and name in error.message


@pytest.mark.parametrize(
    ("name", "target"),
    [("alias.py", "/etc/passwd"), ("alias.py", "../../x"), ("lib/a", "../.."), ("lib/a", "go.sh/../../../x"),
     ("train.py", "x"), ("a", ""), ("../a", "b")],
)  # fmt: skip
def test_links_that_lead_outside(crate: Path, tmp_path: Path, name: str, target: str) -> None:
    contents = _contents(crate)
    record = json.loads(contents["source.json"])
    record["links"] = {name: target}
    bad = _pack(tmp_path / "bad.zip", {**contents, "source.json": json.dumps(record).encode()})
    assert _refused(bad).id in ("crate.link", "crate.outside")


def test_a_file_behind_a_link(crate: Path, tmp_path: Path) -> None:
    contents = _contents(crate)
    record = json.loads(contents["source.json"])
    record["links"] = {"lib": "."}
    bad = _pack(tmp_path / "bad.zip", {**contents, "source.json": json.dumps(record).encode()})
    assert _refused(bad).id == "crate.link"


def test_a_link_in_an_archive_and_in_a_folder(crate: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(crate) as archive:
        archive.extractall(folder)
    entry = zipfile.ZipInfo("source/evil")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(crate, "a") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert _refused(crate).id == "crate.link"
    (folder / "job.sh").unlink()
    (folder / "job.sh").symlink_to("/etc/passwd")
    assert _refused(folder).id == "crate.link"
    (folder / "job.sh").unlink()
    os.mkfifo(folder / "job.sh")
    assert _refused(folder).id == "crate.unreadable"


def test_a_bomb_and_too_much(crate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = _contents(crate)
    listed = json.loads(contents[LIST])
    bombs = {f"source/{number}": bytes(2_000_000) for number in range(4)}
    listed["files"] |= dict.fromkeys(bombs, "00")
    contents[LIST] = json.dumps(listed).encode()
    bad = _pack(tmp_path / "bad.zip", {**contents, **bombs})
    assert bad.stat().st_size < 50_000
    monkeypatch.setattr("hackathon.runs.crate.archive.TOTAL_LIMIT", 5_000_000)
    assert _refused(bad).id == "crate.too_big"
    monkeypatch.setattr("hackathon.runs.crate.archive.SIZE_LIMIT", 1_000_000)
    assert _refused(bad).id == "crate.too_big"
    monkeypatch.setattr("hackathon.runs.crate.archive.ARCHIVE_LIMIT", 100)
    assert _refused(bad).id == "crate.too_big"
    monkeypatch.undo()
    monkeypatch.setattr("hackathon.runs.crate.archive.ENTRIES_LIMIT", 5)
    assert _refused(crate).id == "crate.too_many"


def test_files_that_are_missing_or_broken(crate: Path, tmp_path: Path) -> None:
    contents = _contents(crate)
    less = {name: content for name, content in contents.items() if name != "source/train.py"}
    error = _refused(_pack(tmp_path / "a.zip", less))
    assert error.id == "crate.missing" and "source/train.py" in error.message
    for name in (METADATA, LIST, "source.json"):
        for content in (b"", b"[]", b"{", b"[" * 100_000):
            assert _refused(_pack(tmp_path / "b.zip", {**contents, name: content})).id == "crate.broken_file"
    assert _refused(_pack(tmp_path / "c.zip", {**contents, METADATA: b"{}"})).id == "crate.bad_metadata"
    assert _refused(_pack(tmp_path / "d.zip", {**contents, LIST: b"{}"})).id == "crate.other_version"
    listed = {**json.loads(contents[LIST]), "source": {"complete": False, "left_out": 7}}
    assert _refused(_pack(tmp_path / "e.zip", {**contents, LIST: json.dumps(listed).encode()})).id == "crate.no_source"
    raw = crate.read_bytes()
    for number, cut in enumerate((raw[: len(raw) // 2], b"", b"no zip", raw[:-30])):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(cut)
        assert _refused(path).id == "crate.no_zip"
    damaged = bytearray(raw)
    damaged[100:400] = bytes(300)
    (tmp_path / "damaged.zip").write_bytes(damaged)
    assert _refused(tmp_path / "damaged.zip").id == "crate.no_zip"


@pytest.mark.parametrize(
    ("field", "value"),
    [("processes", "4; rm -rf ~"), ("processes", 0), ("nodes", True), ("walltime", -1), ("walltime", 1e400),
     ("name", "../../x"), ("name", ""), ("name", ".x"), ("name", "a\x1b[0m"), ("recipe", "/tmp/evil"),
     ("cluster", "../x"),
     ("command", []), ("command", "python train.py"), ("command", [1]), ("environment", [None]), ("environment", "ls"),
     ("variables", {"A B": "1"}), ("variables", {"A": 1}), ("variables", []), ("parameters", {"a": []}),
     ("data", [{"name": "../x"}]), ("data", [1]), ("launcher", "sh"), ("signal", "KILL"), ("origins", {"a": 1}),
     ("metrics", {"a": 1}), ("check", 5), ("mode", "odd"), ("team", 5), ("in_place", "no"), ("threads", None)],
)  # fmt: skip
def test_requests_that_no_toolkit_wrote(crate: Path, tmp_path: Path, field: str, value: object) -> None:
    contents = _contents(crate)
    record = {**json.loads(contents["request.json"]), field: value}
    bad = read_crate(str(_pack(tmp_path / "bad.zip", {**contents, "request.json": json.dumps(record).encode()})))
    with pytest.raises(RequestError) as caught:
        bad.request()
    assert caught.value.id in ("crate.wrong_field", "crate.broken_file")
    if caught.value.id == "crate.wrong_field":
        assert f"`{field}`" in caught.value.message


def test_two_files_of_one_name(crate: Path) -> None:
    with zipfile.ZipFile(crate, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("job.sh", "other")
    assert _refused(crate).id == "crate.twice"


def test_what_is_no_crate(tmp_path: Path) -> None:
    assert _refused(tmp_path / "nothing.zip").id == "crate.unreadable"
    assert _refused(tmp_path).id == "crate.no_crate"
    assert _refused(_pack(tmp_path / "a.zip", {"readme.txt": b"x"})).id == "crate.no_crate"
    error = _refused("https://example.org/crate.zip")
    assert error.id == "crate.address" and error.hint and "curl" in error.hint
    os.mkfifo(tmp_path / "pipe.zip")
    assert _refused(tmp_path / "pipe.zip").id == "crate.no_crate"


def test_a_crate_of_another_program(tmp_path: Path) -> None:
    library = pytest.importorskip("rocrate.rocrate")
    other = library.ROCrate()
    other.root_dataset["conformsTo"] = {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"}
    other.write(tmp_path / "other")
    error = _refused(tmp_path / "other")
    assert error.id == "crate.foreign" and "workflow-ro-crate/1.0" in error.message


def test_an_encrypted_archive(crate: Path, tmp_path: Path) -> None:
    raw = bytearray(crate.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as archive:
        for entry in archive.infolist():
            raw[entry.header_offset + 6] |= 1
    at = 0
    while (at := raw.find(b"PK\1\2", at)) >= 0:
        raw[at + 8] |= 1
        at += 4
    (tmp_path / "locked.zip").write_bytes(raw)
    assert _refused(tmp_path / "locked.zip").id == "crate.no_zip"


def test_a_name_in_an_archive_that_is_no_text(crate: Path, tmp_path: Path) -> None:
    raw = bytearray(crate.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith((METADATA, LIST)):
                raw[entry.header_offset + 30] = 0xFF
                raw[entry.header_offset + 7] |= 8  # the name is UTF-8
    (tmp_path / "odd.zip").write_bytes(raw)
    assert _refused(tmp_path / "odd.zip").id == "crate.no_zip"
