"""Programs as people bring them, from `init` to `diagnose` on two nodes of a real Slurm.

No false curve without a mark, no mark on a right one. The table is `samples/curves.yaml`.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.backends import LONG, Site, SlurmBackend
from support.paths import TESTS

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(1800)]
TABLE: dict[str, Any] = yaml.safe_load((TESTS / "samples" / "curves.yaml").read_text())
PROGRAMS: list[dict[str, Any]] = TABLE["programs"]
AT_ONCE = 6
"""Projects whose commands run at the same time: the jobs wait for each other anyway."""


def text_of(content: str) -> str:
    """Return a file's text with the fragments in the place of their names."""
    for name, fragment in TABLE["fragments"].items():
        content = re.sub(
            rf"^( *){name}$", lambda match, text=fragment: textwrap.indent(text, match[1]), content, flags=re.M
        )
    return content


def go(backend: SlurmBackend, folder: Path, one: dict[str, Any]) -> dict[str, Any]:
    """Return what each command said of a program, in the order in which a participant uses them."""
    site = Site(backend, folder / one["name"])
    for name, content in one["files"].items():
        path = site.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(content))
    site.write_profile(processes_per_node=1, launchers=["srun", "torchrun"], starter="srun", telemetry_seconds=30)
    command = one.get("command", "python train.py")
    made = site.start("init", "--command", command, "--cluster", "lab", HACKATHON_LANG="en")
    said: dict[str, Any] = {"site": site, "init": made.communicate(timeout=LONG)[1].decode()}
    keys: dict[str, Any] = {"walltime": "900s", "launcher": one.get("launcher", "srun")}
    if "path" in one:
        keys["environment"] = [f'export PYTHONPATH="$HK_PROJECT/{one["path"]}"']
    if "metrics" in one:
        keys["metrics"] = one["metrics"]
    written = site.folder / "project.yaml"
    kept = [line for line in written.read_text().splitlines() if not line.startswith(("walltime:", "launcher:"))]
    written.write_text("\n".join(kept) + "\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items()))
    said["check"] = json.loads(site.run("check", "--json", "--processes", "2", code=None))
    said["try"] = json.loads(site.run("try", "--json", "--yes", "--processes", "2", code=None, seconds=900))
    words = ("scale", "--force", "--processes", "1,2", "--wait", "--json")
    said["scale"] = json.loads(site.run(*words, code=None, seconds=900))
    run = said["scale"]["points"][-1]["runs"][0]["id"]
    if any(point["doubts"] for point in said["scale"]["points"]):
        said["results"] = site.run("results", code=None, HACKATHON_LANG="en").decode()
    said["diagnose"] = json.loads(site.run("diagnose", "--json", run, code=None))
    return said


@pytest.fixture(scope="module")
def told(
    slurm: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, "Future[dict[str, Any]]"]]:
    """Program → what each command said, for all that are asked for (`-k`)."""
    pytest.importorskip("torch")
    backend = SlurmBackend(slurm)
    backend.trains = True
    folder = tmp_path_factory.mktemp("curves")
    asked = {
        item.callspec.params["one"]["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec")
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # all end before the first test: the fixtures of tests change the environment that the commands take
        made = {one["name"]: pool.submit(go, backend, folder, one) for one in PROGRAMS if one["name"] in asked}
    yield made
    backend.stop()


def rules(files: list[dict[str, Any]]) -> list[str]:
    """Return the rules of findings, errors with a `!`, each once and sorted."""
    found = {("!" if each["severity"] == "error" else "") + each["rule"] for file in files for each in file["findings"]}
    return sorted(found)


def rules_in(text: str) -> list[str]:
    """Return the rules of findings as a terminal shows them, errors with a `!`."""
    found = re.findall(r":\d+: (error|warning): .*\[([\w-]+)\]$", text, re.MULTILINE)
    return sorted({("!" if severity == "error" else "") + rule for severity, rule in found})


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one["name"])
def test_each_command_says_what_is_true(one: dict[str, Any], told: dict[str, "Future[dict[str, Any]]"]) -> None:
    said = told[one["name"]].result()
    check = sorted(one.get("check", []))
    assert rules_in(said["init"]) == sorted(one.get("init", [])), said["init"]
    assert rules(said["check"]["files"]) == check
    refused = any(rule.startswith("!") for rule in check)
    assert said["check"]["ok"] is not refused, said["check"]
    # what is wrong in the text is not run; what a run shows comes on top
    wanted = check if refused else sorted(one.get("try", check))
    found = [rule for rule in rules(said["try"]["files"]) if rule != "few-steps"]  # they make eight
    assert len(found) == len(wanted) and all(map(re.fullmatch, wanted, found)), found
    assert bool(said["try"]["runs"]) is not refused
    assert said["try"]["ready"] is not any(rule.startswith("!") for rule in wanted)
    first, second = said["scale"]["points"]
    assert [(point["processes"], point["nodes"]) for point in (first, second)] == [(1, 1), (2, 2)]
    assert [point["status"] for point in (first, second)] == one.get("states", ["SUCCEEDED", "SUCCEEDED"]), second
    # eight steps beside the jobs of five other programs: the second point may well be more than 120 % by chance
    by_chance = ("few-steps", "super-linear")
    for point, doubts in ((first, one.get("first", [])), (second, one.get("doubts", []))):
        assert [doubt["id"] for doubt in point["doubts"] if doubt["id"] not in by_chance] == doubts
    findings = said["diagnose"]["findings"]
    if "diagnose" in one:
        first_one = findings[0]
        words = f"{first_one['rule']} {first_one['message']} {(first_one['evidence'] or {}).get('text')}"
        assert first_one["level"] == "root" and one["diagnose"] in words, findings
    else:
        assert findings == []
    the_law(one["curve"], said)


def the_law(truth: "bool | str", said: dict[str, Any]) -> None:
    """No false curve without a mark, no mark on a right one."""
    points = said["scale"]["points"]
    doubts = {doubt["severity"]: doubt["message"] for doubt in points[-1]["doubts"]}
    if truth == "none":
        assert points[-1]["speedup"] is None
    elif truth == "right":
        assert points[-1]["speedup"] is not None and "false" not in doubts
        assert "not believable" not in said.get("results", "")
    else:
        assert doubts and all(message in said["results"] for message in doubts.values()), said.get("results")
        assert ("not believable" in said["results"]) is ("false" in doubts)


def test_there_are_programs_of_each_kind() -> None:
    kinds = [one["curve"] for one in PROGRAMS]
    assert len({one["name"] for one in PROGRAMS}) == len(PROGRAMS)
    assert kinds.count("right") >= 8 and kinds.count(False) >= 8 and kinds.count("none") >= 2
