"""Whom and what a run directory names, whatever its files hold."""

import json
import os
from pathlib import Path

from hackathon.web.masking.names import Named, named


def test_users_hosts_and_groups_are_found_wherever_a_run_names_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for folder in ("client", "env", "events", "telemetry"):
        (run / folder).mkdir(parents=True)
    (run / "request.json").write_text(json.dumps({"group": "gz00", "origins": {"group": "project"}}))
    (run / "client/submitted.json").write_text(json.dumps({"user": "u1", "host": "login1", "job_id": "7.pbs1"}))
    (run / "env/a001.json").write_text("{}")
    (run / "events/job.jsonl").write_text('{"host": "a002"}\n{"host": "a0')
    (run / "telemetry/a003.csv").write_text("")
    assert named(run) == Named(("u1",), ("a001", "a002", "a003", "login1", "pbs1"), ("gz00",))


def test_files_that_are_no_records_name_nobody(tmp_path: Path) -> None:
    for number, text in enumerate(("[" * 200_000, '{"group": 7}', "[1]", "\udc80")):
        run = tmp_path / str(number)
        (run / "client").mkdir(parents=True)
        (run / "request.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        os.mkfifo(run / "client" / "submitted.json")
        assert named(run) == Named()
