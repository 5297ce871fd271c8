"""Forty ways to break a training on two nodes of a real Slurm: part, rank and line are named, and the remedy works.

Every breakage is submitted together with its remedied twin; the twin must succeed, and nothing must be said of it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from support.backends import Run, Site, SlurmBackend
from support.paths import TESTS

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]
TABLE: dict[str, Any] = yaml.safe_load((TESTS / "samples" / "breakages.yaml").read_text())
BREAKAGES: list[dict[str, Any]] = TABLE["breakages"]
PLACES = ("top", "setup", "model", "data", "step", "end")
"""Of which a program may have nothing."""
ENDS = ("SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED")


def program(places: dict[str, Any]) -> str:
    """Return the program with the lines of these places, each indented as its place is."""
    values = {**dict.fromkeys(PLACES, "pass"), "start": "train()", "patience": 180, "group": "", **places}
    text: str = TABLE["program"]
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value) or ("pass" if name in PLACES else ""))
    return text


@dataclass
class Pair:
    """A breakage and its remedied twin, as they were submitted."""

    site: Site
    broken: Run | None
    mended: Run


def submitted(backend: SlurmBackend, folder: Any, one: dict[str, Any]) -> Pair:
    """Submit both from projects of their own; a submission that is refused leaves a run all the same."""
    runs: list[Run | None] = []
    sites = []
    for good in (False, True):
        site = Site(backend, folder / f"{one['name']}-{'good' if good else 'bad'}")
        keys = {"nodes": 2, "processes": 2, "launcher": one.get("launcher", "srun"), "walltime": 900}
        keys |= one.get("keys", {})
        command = one.get("command", "python train.py")
        if good:
            command, keys = one.get("good_command", command), {**keys, **one.get("good_keys", {})}
        site.write_project(command, **keys)
        site.write_profile(
            processes_per_node=1, launchers=["srun", "torchrun"], starter="srun",
            queues={"main": {"nodes": 4}, "nosuch": {"nodes": 4}} | ({} if good else {"main": {"nodes": 9}}),
        )  # fmt: skip
        text = program(one.get("good" if good else "bad", {}))
        (site.folder / "train.py").write_text(one.get("good_only" if good else "only") or text)
        for name, content in one.get("good_files" if good else "files", {}).items():
            (site.folder / name).write_bytes(content.encode())
        sites.append(site)
        if good or one.get("state") != "":
            runs.append(site.submit("--force"))
        else:
            site.run("submit", "--force", code=None)
            runs.append(None)
    assert runs[1] is not None
    return Pair(sites[0], runs[0], runs[1])


@pytest.fixture(scope="module")
def pairs(
    slurm: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, Pair]]:
    """All that are asked for (`-k`), submitted at once."""
    pytest.importorskip("torch")
    backend = SlurmBackend(slurm)
    backend.trains = True
    folder = tmp_path_factory.mktemp("breakages")
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {item.callspec.params["one"]["name"] for item in items if item.module is request.module}
    yield {one["name"]: submitted(backend, folder, one) for one in BREAKAGES if one["name"] in asked}
    backend.stop()


@pytest.mark.parametrize("one", BREAKAGES, ids=lambda one: one["name"])
def test_the_failure_is_named_and_its_remedy_works(one: dict[str, Any], pairs: dict[str, Pair]) -> None:
    pair = pairs[one["name"]]
    if pair.broken is not None:
        ended = pair.site.await_state(pair.broken, *ENDS, seconds=600)
        assert ended["state"] == one.get("state", "FAILED"), pair.broken.log()
    said = json.loads(pair.site.run("diagnose", "--json", *([pair.broken.id] if pair.broken else [])))
    assert said["findings"], said
    first = said["findings"][0]
    assert first["level"] == "root" and first["part"] in one["part"], said["findings"]
    assert first["rule"] == one.get("rule", first["rule"]), said["findings"]
    words = f"{first['message']} {(first['evidence'] or {}).get('text')} {first['advice']}"
    assert one.get("says", "").lower() in words.lower(), first
    if "rank" in one:
        assert first["evidence"]["rank"] == one["rank"], said["findings"]
    assert (first["program"] or "").startswith(one.get("program_line", "")), first
    assert first["advice"], first
    site = Site(pair.site.backend, pair.mended.path.parent.parent)
    state = site.await_state(pair.mended, *ENDS, seconds=600)
    assert state["state"] == "SUCCEEDED", pair.mended.log()
    good = json.loads(site.run("diagnose", "--json", pair.mended.id))
    assert good["findings"] == [], good["findings"]
