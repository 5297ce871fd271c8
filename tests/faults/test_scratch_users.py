"""What somebody else has put where jobs keep temporary files, caches and staged data: nothing of it is used."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from support.backends import LocalBackend, Run, Site

PROGRAM = """
import os, pathlib
for name in ("TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH"):
    print(name, os.environ.get(name))
folder = pathlib.Path(os.environ["TMPDIR"])
(folder / "probe").touch()
print("MODE", oct(folder.parent.stat().st_mode & 0o777), folder.parent.stat().st_uid)
if "HK_DATA" in os.environ:
    print("READ", (pathlib.Path(os.environ["HK_DATA"]) / "big").read_text())
"""
STRANGER = 64002


def _strangers(place: Path) -> None:
    place.mkdir()
    os.chown(place, STRANGER, STRANGER)


def _open(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def _link(place: Path) -> None:
    target = place.with_name("theirs")
    _strangers(target)
    place.symlink_to(target)


def _own(place: Path) -> None:
    place.mkdir(mode=0o700)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder for another user")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o1777)
    made = Site(LocalBackend(tmp_path), tmp_path / "project")
    made.write_project("python show.py", processes=2, walltime="600s")
    made.write_profile(scratch=str(scratch))
    (made.folder / "show.py").write_text(PROGRAM)
    return made


def _logs(site: Site, run: Run) -> list[str]:
    site.await_state(run, "SUCCEEDED")
    return [(run.path / "logs" / f"rank-{rank}.log").read_text() for rank in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "taken"), [(_strangers, False), (_open, False), (_link, False), (_own, True)])
def test_caches_lie_in_a_folder_of_the_users_alone(site: Site, make: Callable[[Path], None], taken: bool) -> None:
    scratch = site.folder.parent / "scratch"
    usual = scratch / f"hackathon-jobs-{os.geteuid()}"
    make(usual)
    before = sorted(scratch.rglob("*"))
    try:
        logs = _logs(site, site.submit())
    finally:
        site.backend.stop()
    for log in logs:
        assert f"MODE 0o700 {os.geteuid()}" in log
        assert (f"{usual}/" in log) is taken
        places = [line.split()[1] for line in log.splitlines() if line.startswith(("TMPDIR", "TRITON", "CUDA"))]
        assert len(places) == 3 and all(place.startswith(f"{scratch}/hackathon-") for place in places)
    # said once, not by each rank
    assert sum("takes its place" in log for log in logs) == (0 if taken else 1)
    left = [path for path in scratch.rglob("*") if path not in before and path != usual]
    assert left == []
    if taken:
        assert stat.S_IMODE(usual.stat().st_mode) == 0o700


@pytest.mark.slow
def test_data_that_somebody_else_staged_are_not_read(site: Site, tmp_path: Path) -> None:
    (tmp_path / "big").write_text("good")
    data = [{"name": "big", "url": f"file://{tmp_path}/big", "stage": True}]
    site.write_project("python show.py", data=data, walltime="600s")
    site.write_profile(scratch=str(tmp_path / "scratch"))
    site.run("data", "fetch")
    try:
        first = site.submit()
        site.await_state(first, "SUCCEEDED")
        number, _, host = first.job_id.partition(".")
        # names of jobs are no secret: the next one's number is the next one
        name = f"hackathon-data-{os.geteuid()}-{int(number) + 1}.{host}-1-{os.uname().nodename}"
        place = tmp_path / "scratch" / name
        (place / "data").mkdir(parents=True)
        (place / "data" / "big").write_text("evil")
        (place / "complete").touch()
        (place / "lock").touch()
        for path in (place, *place.rglob("*")):
            os.chown(path, STRANGER, STRANGER)
        run = site.submit()
        assert run.job_id.startswith(f"{int(number) + 1}.")
        site.await_state(run, "SUCCEEDED")
    finally:
        site.backend.stop()
    log = (run.path / "logs" / "rank-0.log").read_text()
    assert "READ good" in log and "shared file system" in log
    assert (place / "data" / "big").read_text() == "evil"
