"""What a crate gives out names nobody, in fields of any content and in files that can not be masked."""

import hashlib
import json
from pathlib import Path

from hackathon.config.event import Publish
from hackathon.runs.crate.archive import read_crate
from hackathon.web.crate.crate import collect, write_crate
from hackathon.web.masking.mask import Mask
from support.samples.runs import DEFAULT, write_run

MASK = Mask(["tanaka07"], people=["山田 太郎"])
NAMED = "by tanaka07, ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def _run(folder: Path, files: dict[str, bytes]) -> Path:
    run = write_run(folder / "runs", DEFAULT[0])
    for name, content in files.items():
        (run / "source" / name).write_bytes(content)
    source = json.loads((run / "source.json").read_text())
    source["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (run / "source.json").write_text(json.dumps(source))
    return run


def test_binary_files_that_name_somebody_stay_here(tmp_path: Path) -> None:
    files = {
        "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4, "state.bin": b"\0\1" + NAMED.encode(),
        "notes.txt": NAMED.encode("utf-16"), "names.bin": b"\0\1\2" + "山田太郎".encode(), "train.py": b"print(1)\n",
    }  # fmt: skip
    found = collect(_run(tmp_path, files), mask=MASK, publish=Publish(source=True))
    assert sorted(found.left_out) == ["names.bin", "notes.txt", "state.bin"]
    assert found.files["source/picture.png"] == files["picture.png"]
    about = json.loads(found.files["hackathon.json"])["source"]
    assert about["complete"] is False and about["left_out"] == sorted(found.left_out)


def test_no_field_of_a_request_and_no_script_goes_out_unmasked(tmp_path: Path) -> None:
    run = _run(tmp_path, {"train.py": b"print(1)\n"})
    request = json.loads((run / "request.json").read_text())
    for name in ("framework", "scheduler", "launcher", "starter", "mpi", "mode", "signal"):
        request[name] = f"x {NAMED}"
    request |= {"variables": {"HF_TOKEN": "hunter2"}, "command": ["python", "train.py", "--password", "hunter2"]}
    request |= {"parameters": {"password": "hunter2", "lr": 0.1}, "starter": ["tanaka07"]}
    (run / "request.json").write_text(json.dumps(request))
    (run / "job.sh").write_bytes(f"#!/bin/bash\n# {NAMED}\0\n".encode())
    for recipe in ("torch-ddp", ""):
        (run / "request.json").write_text(json.dumps({**request, "recipe": recipe}))
        found = collect(run, mask=MASK, publish=Publish(source=True))
        for name, content in found.files.items():
            text = content.decode()
            assert "tanaka07" not in text and "ghp_" not in text and "hunter2" not in text, name
        assert json.loads(found.files["request.json"])["parameters"]["lr"] == 0.1


def test_words_of_the_toolkit_stay_where_users_are_called_so(tmp_path: Path) -> None:
    found = collect(_run(tmp_path, {}), mask=Mask(["torch", "mpirun", "pbs"]), publish=Publish())
    request = json.loads(found.files["request.json"])
    assert (request["framework"], request["starter"], request["scheduler"]) == ("torch", "mpirun", "pbs")


def test_names_that_no_crate_may_have_are_changed(tmp_path: Path) -> None:
    run = _run(tmp_path, {"train.py": b"print(1)\n"})
    (run / "logs" / "a\nb\\c\r.log").write_text("x")
    target = tmp_path / "a.zip"
    write_crate(run, target, mask=MASK, publish=Publish(source=True, logs=True))
    assert "logs/a-b-c-.log" in read_crate(str(target)).files
