"""The node's own disk is too small for the data: the job says so and reads from the shared file system."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.backends import LocalBackend, Site

PROGRAM = """
import os, pathlib
print("READ", os.environ["HK_DATA"], len((pathlib.Path(os.environ["HK_DATA"]) / "big").read_bytes()))
"""


@pytest.mark.slow
def test_no_room_on_the_node(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True)
    if done.returncode:
        pytest.skip("a small tmpfs can not be mounted here")
    (tmp_path / "big").write_bytes(bytes(1_000_000))
    site = Site(LocalBackend(tmp_path), tmp_path / "project")
    try:
        wanted = [{"name": "big", "url": f"file://{tmp_path}/big", "stage": True}]
        site.write_project("python read.py", data=wanted, processes=2, walltime="600s")
        site.write_profile(scratch=str(disk))
        (site.folder / "read.py").write_text(PROGRAM)
        site.run("data", "fetch")
        run = site.submit()
        site.await_state(run, "SUCCEEDED")
        for rank in (0, 1):
            log = (run.path / "logs" / f"rank-{rank}.log").read_text()
            assert f"READ {site.folder}/data 1000000" in log and "shared file system" in log
        warned = [
            json.loads(line)
            for path in (run.path / "events").glob("rank-*.jsonl")
            for line in path.read_text().splitlines()
            if '"warned"' in line
        ]
        # a rank that begins after another has ended finds no trace of it, and tries again
        assert {event["about"] for event in warned} == {"data"}
        assert not list(disk.glob("hackathon-data-*"))
    finally:
        site.backend.stop()
        subprocess.run(["umount", "-l", disk], check=True)
