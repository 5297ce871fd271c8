"""`horovodrun --mpi` speaks to Open MPI 4 alone: another mpirun is told before anything is started."""

from pathlib import Path

import pytest

from support.backends import LocalBackend, Site


@pytest.mark.slow
@pytest.mark.parametrize("says", ["mpirun (Open MPI) 5.0.8", "HYDRA build details:", "mpirun (Open MPI) 2.1.2"])
def test_another_mpi_is_told(tmp_path: Path, says: str) -> None:
    for name in ("mpirun", "horovodrun"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "{says}"\ntouch {tmp_path}/called-{name}\n')
        program.chmod(0o755)
    backend = LocalBackend(tmp_path)
    backend.extra = {"environment": [f'PATH="{tmp_path}/bin:$PATH"']}
    site = Site(backend, tmp_path / "project")
    site.write_project("python program.py ranks")
    site.write_profile(launchers=["horovodrun-mpi"])
    run = site.submit("--processes", "2")
    assert run.await_end()["exit_code"] == 78
    assert f"horovodrun --mpi needs Open MPI 4, but mpirun says: {says}" in run.log("job")
    assert (tmp_path / "called-mpirun").exists() and not (tmp_path / "called-horovodrun").exists()
    backend.stop()
