"""The cache of captured graphs: what makes an entry stale, and whose entries count. The child is replaced by a list."""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hackathon.parallel.source import graphs
from hackathon.parallel.source.child import users_python
from hackathon.parallel.source.graphs import KEPT, digest, model_graph, split_target, stamp
from hackathon.text.errors import RequestError

GRAPH = {
    "operators": [{"name": "a", "forward": 1.0, "backward": 2.0, "parameters": 3, "saved": 4, "workspace": 5}],
    "edges": [],
}


class Child:
    """Stands for the process that captures: counts its calls, and says what it read."""

    def __init__(self, folder: Path) -> None:
        self.meanwhile: Callable[[], object] = list
        """What happens while it measures."""
        self.asked: list[Mapping[str, Any]] = []
        self.files = [folder / "model.py", folder / "layers.py"]
        self.packages = [folder / "package.py"]
        self.variables = ["DEPTH", "WIDTH"]
        for each in (*self.files, *self.packages):
            each.write_text("1\n")

    def __call__(self, python: str, request: Mapping[str, Any], folder: Path) -> tuple[Any, dict[str, Any]]:
        self.asked.append(request)
        self.meanwhile()
        told = {"device": None, "number": len(self.asked)}
        return GRAPH, {"told": told, "files": [str(each) for each in self.files],
                       "packages": [str(each) for each in self.packages], "variables": self.variables}  # fmt: skip


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Child:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    made = Child(tmp_path)
    monkeypatch.setattr(graphs, "run_child", made)
    return made


def number(*, again: bool = False, python: str = "python", **options: Any) -> int:
    """Return the number of the child's call whose graph is used."""
    graph, told, _ = model_graph("model.py:build", python, options, again=again)
    assert [each.name for each in graph.operators] == ["a"]
    return int(told["number"])


def test_an_entry_counts_until_a_file_a_package_or_an_option_changes(child: Child) -> None:
    assert number() == number() == 1 and len(child.asked) == 1
    assert child.asked[0]["path"] == str(child.files[0].resolve()) and child.asked[0]["function"] == "build"
    assert number(samples=4) == 2 and number() == 1 and number(samples=4) == 2
    assert number(python="other") == 3
    assert number(again=True) == 4 and number() == 4
    child.files[1].write_text("2\n")
    assert number() == 5 == number()
    state = child.packages[0].stat()
    os.utime(child.packages[0], ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))
    assert number() == 6 == number()
    child.files[1].unlink()
    child.files.pop()
    assert number() == 7 == number()
    child.files[0].touch()  # the same bytes
    assert number() == 7


def test_an_entry_counts_while_variables_files_and_the_folder_are_those_that_were_read(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEPTH", raising=False)
    child.files.append(tmp_path / "settings.json")  # the program looked for it, and there was none
    assert number() == 1 == number()
    monkeypatch.setenv("OTHER", "1")
    assert number() == 1
    monkeypatch.setenv("DEPTH", "40")
    assert number() == 2 == number()
    monkeypatch.setenv("DEPTH", "")
    assert number() == 3 == number()
    child.files[-1].write_text("{}")
    assert number() == 4 == number()
    child.variables.append("")  # it listed the names of all variables
    monkeypatch.setenv("DEPTH", "5")
    assert number() == 5 == number()
    monkeypatch.setenv("OTHER_STILL", "1")
    assert number() == 6 == number()
    monkeypatch.setenv("PYTHON_SECRET", "k3y")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # relative names mean other files there
    assert int(model_graph(f"{tmp_path}/model.py:build", "python", {})[1]["number"]) == 7
    kept = "".join(each.read_text() for each in (tmp_path / "cache" / "hackathon" / "graphs").iterdir())
    assert "DEPTH" in kept and "k3y" not in kept


def test_a_graph_of_a_file_that_changed_meanwhile_is_not_kept(child: Child) -> None:
    def edited() -> None:
        time.sleep(0.05)  # the clock of files is coarse; a real child starts no faster
        child.files[1].write_text("2\n")
        os.utime(child.files[1], (1, 1))  # as rsync and tar leave it

    child.meanwhile = edited
    assert number() == 1 and number() == 2
    child.meanwhile = list
    assert number() == 3 == number()


def test_an_entry_that_others_can_write_or_that_is_no_entry_is_not_used(child: Child, tmp_path: Path) -> None:
    assert number() == 1
    (file,) = (tmp_path / "cache" / "hackathon" / "graphs").iterdir()
    file.chmod(0o666)
    assert number() == 2 == number()
    good = file.read_text()
    for text in ("", "[]", "{", "[" * 100_000, json.dumps({"graph": GRAPH}), '{"files": 1}'):
        file.write_text(text)
        before = len(child.asked)
        assert number() == before + 1
    other = tmp_path / "other.json"
    other.write_text(good)
    file.unlink()
    file.symlink_to(other)
    before = len(child.asked)
    assert number() == before + 1


def test_a_folder_that_others_can_enter_is_refused(child: Child, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "hackathon" / "graphs"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    with pytest.raises(RequestError) as refused:
        number()
    assert refused.value.id == "capture.no_cache" and child.asked == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")
def test_code_of_another_account_runs_with_trust_alone(child: Child) -> None:
    os.chown(child.files[0], 12345, 12345)
    with pytest.raises(RequestError) as refused:
        number()
    assert refused.value.id == "capture.foreign" and child.asked == []
    assert model_graph("model.py:build", "python", {}, trust=True)[1]["number"] == 1


def test_old_entries_go(child: Child, tmp_path: Path) -> None:
    for samples in range(KEPT + 3):
        assert number(samples=samples) == samples + 1
    assert len(list((tmp_path / "cache" / "hackathon" / "graphs").iterdir())) == KEPT
    assert number(samples=KEPT + 2) == KEPT + 3


def test_targets_and_signs(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("x")
    path, function = split_target(f"{tmp_path}/model.py:Net.build")
    assert (path, function) == (tmp_path / "model.py", "Net.build")
    for wrong in ("model.py", ":build", "model.py:", f"{tmp_path}/model.py:a-b", f"{tmp_path}/none.py:build",
                  f"{tmp_path}:build"):  # fmt: skip
        with pytest.raises(RequestError):
            split_target(wrong)
    assert digest(tmp_path / "none") is None and stamp(tmp_path / "none") is None and digest(tmp_path) is None
    os.mkfifo(tmp_path / "pipe")
    assert digest(tmp_path / "pipe") is None


def test_the_python_of_the_active_environment_is_taken(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("")
    python.chmod(0o755)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        assert users_python({name: str(tmp_path)}) == str(python)
    assert users_python({"VIRTUAL_ENV": str(tmp_path / "none")}) == users_python({}) != str(python)
