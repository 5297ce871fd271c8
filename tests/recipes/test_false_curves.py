"""Own programs whose curve is false, and a twin whose curve is right: real jobs here, and all ways to show them."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import LocalBackend, Site
from support.installed import needs
from support.paths import TESTS
from support.patience import STRETCH

needs("torch")
pytestmark = [pytest.mark.torch, pytest.mark.timeout(300), pytest.mark.slow]

PROGRAMS = {
    # name: (command, ids of the doubts about two processes)
    "same": ("python alone.py", ["identical-ranks", "no-group"]),
    "seedless": ("python alone.py --seedless", ["no-group"]),
    "together": ("python together.py", []),
}
METRICS = {
    "samples_per_s": {"pattern": "throughput: ([0-9.]+)", "unit": "samples/s", "reduce": "median", "ranks": "sum"}
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Site, dict[str, Any]]]]:
    """Program → its project and the results that `scale --wait` printed; they run at the same time."""
    folder = tmp_path_factory.mktemp("curves")
    backend, made = LocalBackend(folder), {}
    backend.trains = True

    def scale(name: str) -> None:
        site = Site(backend, folder / name, {"HACKATHON_LOCAL_SLOTS": "8"})
        site.write_project(PROGRAMS[name][0], name=name, metrics=METRICS, walltime="900s")
        site.write_profile(launchers=["torchrun" if name == "together" else "local"])
        shutil.copy(TESTS / "recipes/own_code/curves" / PROGRAMS[name][0].split()[1], site.folder)
        words = ("scale", "--force", "--processes", "1,2", "--wait", "--json")
        made[name] = site, json.loads(site.run(*words, seconds=240))

    threads = [threading.Thread(target=scale, args=(name,)) for name in PROGRAMS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(made) == set(PROGRAMS)
    yield made
    backend.stop()


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_way_to_show_it_says_whether_a_curve_is_false(
    studies: dict[str, tuple[Site, dict[str, Any]]], name: str, tmp_path: Path
) -> None:
    site, found = studies[name]
    wanted = PROGRAMS[name][1]
    first, second = found["points"]
    assert (first["status"], second["status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert second["efficiency"] > 0.8  # the curve looks right
    assert first["doubts"] == []
    assert [each["id"] for each in second["doubts"]] == wanted
    marked = bool(wanted)
    table = site.run("results", HACKATHON_LANG="en").decode()
    assert ("⚠ not believable" in table) is marked and ("do not work together" in table) is marked
    assert f",{';'.join(wanted)}," in site.run("results", "--format", "csv").decode()
    run = json.loads(site.run("results", "--json", second["runs"][0]["id"]))
    assert [each["id"] for each in run["doubts"]] == wanted
    places = {}
    for words in ((), ("--doubtful",)):
        place = tmp_path / f"site{len(words)}"
        process = site.start("publish", "--to", str(place), *words, HACKATHON_LANG="en")
        _, said = process.communicate(timeout=STRETCH * 120)
        assert process.returncode == 0, said.decode()
        assert (b"--doubtful" in said) is (marked and not words)
        (path,) = list(place.rglob("study-*.json"))
        places[words] = json.loads(path.read_text())["points"][1], path.with_suffix(".html").read_text()
    held, page = places[()]
    assert (held["value"] is None) is marked and (held["speedup"] is None) is marked
    assert [each["id"] for each in held["doubts"]] == wanted
    assert ("not believable" in page) is marked
    shown, page = places[("--doubtful",)]
    assert shown["value"] == second["value"] and ("not believable" in page) is marked
