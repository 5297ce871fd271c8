"""The recipe preflight: good nodes pass, and every kind of trouble is found and named with its rank and host."""

import ast
import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from typing import Any

import pytest

from support.paths import RECIPES, module_folders
from support.patience import STRETCH
from support.ports import free_port
from support.recipes import copy_recipe

RECIPE = RECIPES / "preflight"
MODULES = ("checks", "facts", "member", "network", "preflight", "report", "steps", "talk", "words")
pytestmark = pytest.mark.timeout(200)


class Place:
    """A run's folder, and ranks started in it by hand as a launcher would."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        (self.run / "metrics").mkdir(parents=True)
        self.port = free_port(20)
        self.program = copy_recipe("preflight", folder / "program")
        self.texts: dict[int, str] = {}

    def __call__(
        self,
        size: int,
        *options: str,
        ranks: list[int] | None = None,
        each: Mapping[int, Mapping[str, str]] | None = None,
        **more: str,
    ) -> dict[int, int]:
        """Run these ranks of `size` and return their exit codes; `each` has variables of single ranks."""
        foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC", "NCCL_", "GLOO_", "PYTHONPATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        processes = {}
        for rank in range(size) if ranks is None else ranks:
            mine = {
                "HK_RUN": str(self.run), "HK_JOB_ID": "7", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port),
                "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size),
            }  # fmt: skip
            processes[rank] = subprocess.Popen(
                [sys.executable, str(self.program / "preflight.py"), *options],
                env={**kept, **mine, **more, **(each or {}).get(rank, {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        try:
            for rank, process in processes.items():
                self.texts[rank] = process.communicate(timeout=STRETCH * 120)[0].decode()
        finally:
            for process in processes.values():
                process.kill()
        return {rank: process.returncode for rank, process in processes.items()}

    @property
    def report(self) -> dict[str, Any]:
        """`preflight.json`."""
        value: dict[str, Any] = json.loads((self.run / "preflight.json").read_text())
        return value

    def states(self) -> dict[str, set[str]]:
        """Return check → the states of its findings."""
        found: dict[str, set[str]] = {}
        for each in self.report["findings"]:
            found.setdefault(each["check"], set()).add(each["state"])
        return found

    def bad(self, check: str) -> dict[str, Any]:
        """Return the one finding of a check, after looking that it says where, what and what to do."""
        (found,) = [each for each in self.report["findings"] if each["check"] == check and each["state"] != "ok"]
        for language in ("en", "ja"):
            assert found["title"][language] and found["text"][language] and found["advice"][language]
        return dict(found)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The recipe's modules, to call their functions."""
    for folder in reversed(module_folders("preflight")):
        monkeypatch.syspath_prepend(folder)
    names = (*MODULES, "hackathon_runtime")
    before = {name: sys.modules.pop(name, None) for name in names}
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture
def spoilt(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return the variables of a rank whose Python runs some lines first: a fault without touching the program."""

    def made(code: str) -> dict[str, str]:
        folder = tmp_path / f"spoilt-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(code)
        return {"PYTHONPATH": str(folder)}

    return made


# ---- good nodes ----
@pytest.mark.parametrize("size", [1, 2, 4])
def test_good_nodes_pass(place: Place, size: int) -> None:
    assert place(size) == dict.fromkeys(range(size), 0), place.texts
    assert "failed" not in set().union(*place.states().values())
    report = place.report
    assert set(place.states()) == {
        "nodes", "ring", "versions", "gpus", "infiniband", "interfaces", "shm", "shared", "clock", "port", "limits",
        "tmp",
    }  # fmt: skip
    assert sorted(report["ranks"]) == [str(rank) for rank in range(size)]
    assert all(fact["rank_facts"]["python"].count(".") == 2 for fact in report["ranks"].values())
    (line,) = [json.loads(text) for text in (place.run / "metrics" / "rank-0.jsonl").read_text().splitlines()]
    assert (line["final"], line["failed"], line["warnings"]) == (True, 0, report["warnings"])
    assert 0 < line["duration_s"] < STRETCH * 60
    assert "0 failed" in place.texts[0] and all(place.texts[rank] == "" for rank in range(1, size))
    assert not list(place.run.glob(".preflight-*")), "what was written to be seen is gone"


def test_it_speaks_japanese(place: Place) -> None:
    assert place(1, HACKATHON_LANG="ja") == {0: 0}
    assert "ノード到達" in place.texts[0] and "失敗 0 件" in place.texts[0]


# ---- faults ----
def test_another_version_on_one_rank(place: Place, tmp_path: Path) -> None:
    (tmp_path / "jax-0.0.1.dist-info").mkdir()
    (tmp_path / "jax-0.0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.0.1\n")
    codes = place(3, each={1: {"PYTHONPATH": str(tmp_path)}})
    assert codes == {0: 1, 1: 0, 2: 0}, "rank 0's exit code is the answer; the others leave in peace"
    found = place.bad("versions")
    assert (found["state"], found["ranks"]) == ("failed", [1])
    assert "jax: 0.0.1 on rank 1" in found["text"]["en"]
    assert place.texts[0].rstrip().splitlines()[-3].startswith("failed: versions: jax")
    assert (place.report["failed"], place.states()["ring"]) == (1, {"ok"})


@pytest.mark.parametrize("torchrun", [False, True])
def test_port_in_use(place: Place, torchrun: bool) -> None:
    """Somebody listens and never says a word; under torchrun that is its own store, and all is well."""
    with socket.create_server(("", place.port)):
        codes = place(2, **({"TORCHELASTIC_USE_AGENT_STORE": "True"} if torchrun else {}))
    if torchrun:
        assert codes == {0: 0, 1: 0} and place.states()["port"] == {"ok"}
        return
    assert codes == {0: 1, 1: 0}
    assert str(place.port) in place.bad("port")["text"]["en"]
    assert place.report["failed"] == 1 and place.states()["ring"] == {"ok"}, "everything else was looked at"


def test_shared_folder_that_can_not_be_written(place: Place) -> None:
    assert place(2, "--shared", "/proc/nobody-writes-here")[0] == 1
    found = [each for each in place.report["findings"] if each["check"] == "shared"]
    assert [(each["key"], each["ranks"]) for each in found] == [("shared_unwritable", [0]), ("shared_unwritable", [1])]


@pytest.mark.slow
def test_a_rank_that_never_comes(place: Place) -> None:
    codes = place(4, "--timeout", "20", ranks=[0, 1, 2], HK_NODELIST="alpha beta", HK_PROCESSES_PER_NODE="2")
    assert codes == {0: 1, 1: 0, 2: 0}
    found = place.bad("nodes")
    assert found["ranks"] == [3] and "rank 3 (beta) did not come within 20 s" in found["text"]["en"]
    assert place.states()["versions"] == {"ok"}, "those that came were looked at"


def test_rank_0_that_never_comes(place: Place) -> None:
    codes = place(3, "--timeout", "3", ranks=[1, 2], HK_NODELIST="alpha beta gamma", HK_PROCESSES_PER_NODE="1")
    assert codes == {1: 1, 2: 1}
    assert "rank 0 (alpha:" in place.bad("nodes")["text"]["en"]
    assert all("rank 0 (alpha:" in text for text in place.texts.values())


def test_a_rank_that_dies_on_the_way(place: Place, spoilt: Callable[[str], dict[str, str]]) -> None:
    codes = place(3, each={2: spoilt("import os\nos.fsync = lambda descriptor: os._exit(9)\n")})
    assert codes == {0: 1, 1: 0, 2: 9}
    assert place.bad("nodes")["ranks"] == [2] and "fell silent" in place.bad("nodes")["text"]["en"]


def test_a_pair_that_does_not_get_through(place: Place, spoilt: Callable[[str], dict[str, str]]) -> None:
    wall = (
        "import os, socket\nreal = socket.create_connection\n"
        "def wall(address, *words, **more):\n"
        "    if not 0 <= address[1] - int(os.environ['MASTER_PORT']) < 20: raise OSError(113, 'No route to host')\n"
        "    return real(address, *words, **more)\n"
        "socket.create_connection = wall\n"
    )
    assert place(4, each={1: spoilt(wall)})[0] == 1
    found = place.bad("ring")
    assert found["ranks"] == [1] and "No route to host" in found["text"]["en"]
    assert "does not reach rank 2" in found["text"]["en"]


@pytest.mark.slow
def test_a_token_that_is_not_passed_on(place: Place) -> None:
    """The test of the ring: in this copy of the program the neighbours are reached, and rank 2 keeps the token."""
    program = place.program / "member.py"
    text, passed = program.read_text(), "            self._next.send(ranks)\n"
    assert text.count(passed) == 1
    program.write_text(text.replace(passed, f"            if self.rank != 2:\n    {passed}"))
    assert place(4) == {0: 1, 1: 0, 2: 0, 3: 0}
    found = place.bad("ring")
    assert (found["key"], found["ranks"]) == ("ring_stuck", [3]), "the first one that it did not come to"


@pytest.mark.parametrize(("seconds", "state"), [(0.3, "ok"), (7, "warning"), (-100, "failed")])
def test_clock_skew(place: Place, spoilt: Callable[[str], dict[str, str]], seconds: float, state: str) -> None:
    shifted = spoilt(f"import time\nreal = time.time\ntime.time = lambda: real() + {seconds}\n")
    codes = place(3, each={1: shifted})
    assert codes[0] == (1 if state == "failed" else 0)
    if state == "ok":
        assert place.states()["clock"] == {"ok"}
        return
    found = place.bad("clock")
    assert found["state"] == state
    text = found["text"]["en"]
    apart, error = float(text.split(" is ")[1].split(" s")[0]), float(text.split("± ")[1].split(" s")[0])
    assert abs(apart - abs(seconds)) <= error + 0.01 and error < 5
    assert text.startswith("rank 1") == (seconds > 0) and "ahead of rank" in text


@pytest.mark.parametrize(("code", "words"), [
    ("import errno\n        raise OSError(errno.ENOENT, 'No such file or directory')", "No such file or directory"),
    ("return os.statvfs_result((4096, 4096, 16, 16, 16, 1, 1, 1, 0, 255))", "0.00 GiB"),
])  # fmt: skip
def test_shared_memory_missing_or_tiny(
    place: Place, spoilt: Callable[[str], dict[str, str]], code: str, words: str
) -> None:
    lines = (
        "import os\nreal = os.statvfs\n"
        f"def statvfs(path):\n    if path == '/dev/shm':\n        {code}\n    return real(path)\nos.statvfs = statvfs\n"
    )
    assert place(2, each={0: spoilt(lines)}) == {0: 1, 1: 0}
    assert place.bad("shm")["ranks"] == [0] and words in place.bad("shm")["text"]["en"]


def test_gpus_are_counted_and_compared(place: Place, tmp_path: Path) -> None:
    """Two nodes made of one: each rank is its node's first, with an nvidia-smi of its own."""
    each = {}
    for rank, gpus in ((0, 2), (1, 1)):
        folder = tmp_path / f"bin{rank}"
        folder.mkdir()
        (folder / "nvidia-smi").write_text("#!/bin/sh\n" + "echo 'NVIDIA H100 80GB HBM3, 550.54.15'\n" * gpus)
        (folder / "nvidia-smi").chmod(0o755)
        each[rank] = {
            "PATH": f"{folder}:{os.environ['PATH']}", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "HK_HOST": f"gpu{rank}",
        }  # fmt: skip
    codes = place(2, "--gpus", "2", each=each)
    assert codes == {0: 1, 1: 0}
    texts = [each["text"]["en"] for each in place.report["findings"] if each["check"] == "gpus"]
    assert texts == [
        "1 × NVIDIA H100 80GB HBM3 on rank 1 (gpu1), elsewhere 2 × NVIDIA H100 80GB HBM3",
        "1 on rank 1 (gpu1), 2 wanted",
    ]


def test_an_interface_that_is_not_there(place: Place) -> None:
    assert place(2, NCCL_SOCKET_IFNAME="nosuch") == {0: 1, 1: 0}
    assert "NCCL_SOCKET_IFNAME=nosuch" in place.bad("interfaces")["text"]["en"]
    assert place(2, NCCL_SOCKET_IFNAME="^docker,nosuch") == {0: 0, 1: 0}


def test_wrong_options_are_told(place: Place) -> None:
    assert place(1, "--gpus", "many") == {0: 2}
    assert "wants auto or a number" in place.texts[0] and "Traceback" not in place.texts[0]


# ---- the pure parts ----
def test_infiniband_of_the_kernel(modules: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for port, state in (("1", "4: ACTIVE\n"), ("2", "1: DOWN\n")):
        folder = tmp_path / "mlx5_0" / "ports" / port
        folder.mkdir(parents=True)
        (folder / "state").write_text(state)
        (folder / "rate").write_text("200 Gb/sec (4X HDR)\n")
        (folder / "link_layer").write_text("InfiniBand\n")
    monkeypatch.setattr(modules.facts, "INFINIBAND", str(tmp_path))
    found = modules.facts.infiniband()
    assert found == [
        {"port": f"mlx5_0:{port}", "state": state, "rate": "200 Gb/sec (4X HDR)", "layer": "InfiniBand"}
        for port, state in (("1", "ACTIVE"), ("2", "DOWN"))
    ]


@pytest.mark.parametrize(
    ("states", "network", "variables", "locked", "keys"),
    [
        (["ACTIVE", "ACTIVE"], "", {}, -1, ["infiniband_ok"]),
        ([None, None], "", {}, -1, ["infiniband_none"]),
        ([None, None], "10 Gbit Ethernet", {}, -1, ["infiniband_none"]),
        ([None, None], "NDR200 x8", {}, -1, ["infiniband_missing"]),
        (["ACTIVE", "DOWN"], "", {}, -1, ["infiniband_missing"]),
        (["ACTIVE", None], "EDR", {}, -1, ["infiniband_missing"]),
        (["ACTIVE", "ACTIVE"], "EDR", {"NCCL_IB_DISABLE": "1"}, -1, ["infiniband_off"]),
        (["ACTIVE", "ACTIVE"], "EDR", {"NCCL_IB_DISABLE": "0"}, 65536, ["infiniband_locked"]),
    ],
)
def test_infiniband_is_judged(
    modules: SimpleNamespace, states: list[str | None], network: str, variables: dict[str, str], locked: int,
    keys: list[str],
) -> None:  # fmt: skip
    report = modules.report.Report({0: "a", 1: "b"})
    ports = [
        [{"port": "mlx5_0:1", "state": state, "rate": "100 Gb/sec", "layer": "InfiniBand"}] if state else []
        for state in states
    ]
    nodes = {rank: {"infiniband": found} for rank, found in enumerate(ports)}
    ranks = {rank: {"variables": variables, "locked_memory": locked} for rank in nodes}
    modules.network.infiniband(report, nodes, network, ranks)
    assert [found["key"] for found in report.findings] == keys
    if keys[0] in ("infiniband_missing", "infiniband_off"):
        assert report.findings[0]["state"] == "warning" and "sockets will be used" in report.findings[0]["text"]["en"]


@pytest.mark.parametrize(
    ("wanted", "exact", "there"),
    [
        ("ib", False, ["ib0", "ib1"]), ("=ib0", False, ["ib0"]), ("^ib,lo", False, ["eth0"]), ("ib0:1", False, ["ib0"]),
        ("ib", True, []), ("eth0,ib1", True, ["eth0", "ib1"]), ("bond", False, []),
    ],
)  # fmt: skip
def test_interfaces_that_a_variable_takes(modules: SimpleNamespace, wanted: str, exact: bool, there: list[str]) -> None:
    assert modules.network.chosen(wanted, ["eth0", "ib0", "ib1", "lo"], exact) == there


def test_texts_have_the_same_places_in_both_languages(modules: SimpleNamespace) -> None:
    words = modules.words
    for key, (english, japanese) in {**words.TEXTS, **words.ADVICE}.items():
        places = [{name for _, name, _, _ in Formatter().parse(form) if name} for form in (english, japanese)]
        assert places[0] == places[1], key
    assert set(words.ADVICE) <= set(words.TEXTS)
    sources = "".join((RECIPE / f"{name}.py").read_text() for name in MODULES if name != "words")
    made = {f"{check}_{kind}" for check in ("shm", "tmp") for kind in ("ok", "bad", "small")}
    assert all(f'"{key}"' in sources or key in made for key in words.TEXTS)


@pytest.mark.parametrize("name", MODULES)
def test_python_3_8_suffices(name: str) -> None:
    pytest.importorskip("vermin")
    path = RECIPE / f"{name}.py"
    argv = [sys.executable, "-c", "import vermin; vermin.main()", "-q", "-t=3.8-", "--violations", str(path)]
    found = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_short_and_need_nothing(name: str) -> None:
    text = (RECIPE / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 200
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    known = {*sys.stdlib_module_names, *MODULES, "hackathon_runtime"}
    assert {str(each).partition(".")[0] for each in imported} <= known, "the standard library only"


@pytest.mark.mpi
def test_plain_mpirun(place: Place) -> None:
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HK_", "SLURM_", "OMPI_", "PMI"))}
    more = {"HK_RUN": str(place.run), "MASTER_PORT": str(place.port), "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    command = ["mpirun", "-np", "3", "--oversubscribe", sys.executable, str(place.program / "preflight.py")]
    done = subprocess.run(command, env={**kept, **more}, capture_output=True, text=True, timeout=STRETCH * 120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(place.report["ranks"]) == ["0", "1", "2"] and place.states()["ring"] == {"ok"}
