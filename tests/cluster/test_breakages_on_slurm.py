"""Forty ways to break a training on two nodes of a real Slurm: part, rank and line are named, and the remedy works.

Every breakage is submitted together with its remedied twin; the twin must succeed, and nothing must be said of it.
Remedies that change nothing but lines of the program are in one twin for each launcher.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
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


KEYS = {"nodes": 2, "processes": 2, "launcher": "srun", "walltime": "900s"}
COMMAND = "python train.py"


def program(*changes: dict[str, Any]) -> str:
    """Return the program with the lines of these places one after another, each indented as its place is."""
    values: dict[str, Any] = {**dict.fromkeys(PLACES, ""), "start": "train()", "patience": 180, "group": ""}
    lines = []
    for places in changes:
        for name, value in places.items():
            values[name] = f"{values[name]}\n{value}".strip() if name in PLACES else value
    for line in TABLE["program"].splitlines():
        before, _, name = line.strip().removesuffix("@").partition("@")
        if not before and name in PLACES:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + each for each in (values[name] or "pass").splitlines()]
        else:
            lines.append(line)
    text = "\n".join([*lines, ""])
    for name in values.keys() - set(PLACES):
        text = text.replace(f"@{name}@", str(values[name]))
    return text


def launcher(one: dict[str, Any]) -> str:
    return str(one.get("launcher", KEYS["launcher"]))


def is_shared(one: dict[str, Any]) -> bool:
    """Return whether the remedy is in the twin of all: it changes lines of the program alone."""
    keys = {**KEYS, **one.get("keys", {}), **one.get("good_keys", {})}
    command = one.get("good_command", one.get("command", COMMAND))
    alone = one.get("good_only") or one.get("good_files") or one.get("alone")
    return not alone and (command, {**keys, "launcher": ""}) == (COMMAND, {**KEYS, "launcher": ""})


@dataclass
class Pair:
    """A breakage and its remedied twin, as they were submitted."""

    site: Site
    broken: Run | None
    mended: tuple[Site, Run] | None


def site_of(backend: SlurmBackend, folder: Any, command: str, keys: dict[str, Any], *, nodes: int = 4) -> Site:
    site = Site(backend, folder)
    site.write_project(command, **keys)
    site.write_profile(
        processes_per_node=1, launchers=["srun", "torchrun"], starter="srun",
        queues={"main": {"nodes": nodes}, "nosuch": {"nodes": 4}},
    )  # fmt: skip
    return site


def submitted(backend: SlurmBackend, folder: Any, one: dict[str, Any]) -> Pair:
    """Submit from projects of their own; a submission that is refused leaves a run all the same."""
    keys, command = {**KEYS, "launcher": launcher(one), **one.get("keys", {})}, one.get("command", COMMAND)
    site = site_of(backend, folder / f"{one['name']}-bad", command, keys, nodes=9)
    (site.folder / "train.py").write_text(one.get("only") or program(one.get("bad", {})))
    for name, content in one.get("files", {}).items():
        (site.folder / name).write_bytes(content.encode())
    broken = None
    if one.get("state") == "":
        site.run("submit", "--force", code=None)
    else:
        broken = site.submit("--force")
    if is_shared(one):
        return Pair(site, broken, None)
    good = site_of(
        backend, folder / f"{one['name']}-good", one.get("good_command", command), {**keys, **one.get("good_keys", {})}
    )
    (good.folder / "train.py").write_text(one.get("good_only") or program(one.get("good", {})))
    for name, content in one.get("good_files", {}).items():
        (good.folder / name).write_bytes(content.encode())
    return Pair(site, broken, (good, good.submit("--force")))


@pytest.fixture(scope="module")
def backend(slurm: Any) -> Iterator[SlurmBackend]:
    pytest.importorskip("torch")
    made = SlurmBackend(slurm)
    made.trains = True
    yield made
    made.stop()


@pytest.fixture(scope="module")
def pairs(
    backend: SlurmBackend, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Pair]:
    """All that are asked for (`-k`), submitted at once."""
    folder = tmp_path_factory.mktemp("breakages")
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {item.callspec.params["one"]["name"] for item in items
             if item.module is request.module and "one" in item.callspec.params}  # fmt: skip
    return {one["name"]: submitted(backend, folder, one) for one in BREAKAGES if one["name"] in asked}


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
    if pair.mended is not None:
        works(*pair.mended)


def works(site: Site, run: Run) -> None:
    state = site.await_state(run, *ENDS, seconds=600)
    assert state["state"] == "SUCCEEDED", run.log()
    good = json.loads(site.run("diagnose", "--json", run.id))
    assert good["findings"] == [], good["findings"]


@pytest.mark.parametrize("launched_by", sorted({launcher(one) for one in BREAKAGES}))
def test_the_remedies_work_together(launched_by: str, backend: SlurmBackend, tmp_path: Path) -> None:
    ones = [one for one in BREAKAGES if is_shared(one) and launcher(one) == launched_by]
    site = site_of(backend, tmp_path / "project", COMMAND, {**KEYS, "launcher": launched_by})
    (site.folder / "train.py").write_text(program(*(one.get("good", {}) for one in ones)))
    works(site, site.submit("--force"))
