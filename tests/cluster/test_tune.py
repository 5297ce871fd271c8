"""`hackathon tune` as processes: two at once, objectives, tokens, on the local scheduler. Kills: test_late_kills.py."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import LocalBackend, Site, until
from support.paths import TESTS
from support.patience import STRETCH
from support.trouble import ask, start
from support.tuned_program import COMMAND, METRICS, PARAMETERS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
FREE = 10.0
"""Seconds in which the place of a killed trial is taken."""
BASE = ("--sampler", "random", "--yes", "--json")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend = LocalBackend(tmp_path)
    made = Site(backend, tmp_path / "tuned", {"HACKATHON_LOCAL_SLOTS": "8"})
    made.write_project(COMMAND, parameters=PARAMETERS, metrics=METRICS)
    (made.folder / "program.py").write_bytes((TESTS / "support" / "tuned_program.py").read_bytes())
    yield made
    backend.stop()


def tuned(site: Site, *words: str, code: int = 0) -> dict[str, Any]:
    said = ask(site, "tune", *BASE, *words, seconds=240)
    assert said.code == code, said
    found: dict[str, Any] = said.json()
    return found


def starts(site: Site) -> Counter[str]:
    """Return how often the program of each run was started."""
    return Counter(path.parent.name for path in (site.folder / "runs").glob("*/started-*"))


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """Return the result without lengths: a moment later the scheduler knows them more exactly."""
    trials = [{**each, "seconds": None, "reason": None} for each in found["trials"]]
    return {**found, "trials": trials, "share_of_all": None}


def study_of(site: Site) -> Path:
    (found,) = (site.folder / "studies").iterdir()
    return found


def test_the_best_is_found_hopeless_ones_are_stopped_and_results_agree(site: Site) -> None:
    words = ("--space", "lr=0.01,0.02,1e-6,1e-7,1e-5,3e-6", "--objective", "accuracy", "-p", "epochs=40")
    words = (*words, "--walltime", "600s")  # time enough to be stopped
    grid = ("--sampler", "grid", "--seed", "34")  # the two good ones come first
    found = tuned(site, *words, *grid, "--concurrent", "2")
    assert found["best"]["settings"] == {"lr": 0.01} and found["best"]["value"] == pytest.approx(0.9675)
    states = {each["settings"]["lr"]: each["state"] for each in found["trials"]}
    # the second best one is stopped, too, where it is so late that the best one has ended before it
    assert {lr for lr, state in states.items() if state == "stopped"} - {0.02} == {1e-5, 3e-6, 1e-6, 1e-7}, states
    assert len(states) == 6 and states[0.01] == "finished" and found["share_of_all"] < 1
    assert all((each["probability"] or 0.0) < 0.02 for each in found["trials"] if each["state"] == "stopped")
    assert found["another_better"] is None and found["tokens"] is None
    again = ask(site, "results", "--json")
    assert again.code == 0 and without_times(again.json()) == without_times(found)
    table = ask(site, "results")
    assert "best: trial" in table.out and "6 trials, " in table.out and "stopped (chance" in table.out
    assert set(starts(site).values()) == {1}
    resumed = ask(site, "scale", "--resume")
    assert resumed.code == 2 and "hackathon tune --resume" in resumed.err


def test_two_tuners_at_once_share_the_trials(site: Site) -> None:
    words = ("--space", "lr=log:1e-3:1e-1", "--objective", "accuracy", "--trials", "10", "--concurrent", "3")
    first = start(site, "tune", *BASE, *words, "--stopper", "none", "-p", "epochs=10")
    until(lambda: (site.folder / "studies").is_dir() and list((site.folder / "studies").glob("[!.]*")), "a study", 60)
    second, third = (start(site, "tune", "--resume", study_of(site).name, "--json") for _ in range(2))
    said = [each.communicate(timeout=STRETCH * 240) for each in (first, second, third)]
    assert [each.returncode for each in (first, second, third)] == [0, 0, 0], said
    told = [json.loads(out) for out, _ in said]
    one, two, three = (without_times(each)["trials"] for each in told)
    assert one == two == three and len(one) == 10
    assert len(starts(site)) == 10 and set(starts(site).values()) == {1}
    assert {each["run"] for each in told[0]["trials"]} == set(starts(site))


def test_time_to_a_value_ends_a_trial_that_has_it_and_those_that_are_slower(site: Site) -> None:
    words = ("--space", "pause=0.1,0.11,30", "--objective", "time-to:accuracy:0.93", "-p", "epochs=6000")
    words = (*words, "--walltime", "1000s")
    found = tuned(site, *words, "--trials", "3", "--concurrent", "3")
    by_pause = {each["settings"]["pause"]: each for each in found["trials"]}
    assert {by_pause[0.1]["state"], by_pause[0.11]["state"]} <= {"finished", "stopped"}
    assert by_pause[30.0]["state"] == "stopped" and by_pause[30.0]["probability"] == 0.0
    assert found["best"]["value"] < STRETCH * 20 and found["objective"]["goal"] == 0.93
    assert all(each["seconds"] < STRETCH * 60 for each in found["trials"])


def test_after_some_time_the_value_is_read_and_the_job_ended(site: Site) -> None:
    words = ("--space", "lr=0.01,0.02", "--objective", "accuracy@20s", "-p", "epochs=5000", "--stopper", "none")
    found = tuned(site, *words, "--concurrent", "2", "--trials", "2")
    assert [each["state"] for each in found["trials"]] == ["finished", "finished"]
    assert found["best"]["settings"] == {"lr": 0.01} and 0.9 < found["best"]["value"] < 0.98
    run = site.folder / "runs" / found["trials"][0]["run"]
    assert json.loads((run / "client" / "trial.json").read_text())["why"] == "time"
    assert json.loads((run / "request.json").read_text())["walltime"] == 320


def test_tokens_are_never_exceeded(site: Site) -> None:
    site.write_profile(rates={"per_node_hour": 60})  # a token is a minute; a trial's walltime is one
    words = ("--space", "lr=log:1e-3:1e-1", "--objective", "accuracy", "-p", "pause=0.02")
    refused = ask(site, "tune", *BASE, *words, "--tokens", "0.5")
    assert refused.code == 2 and "more than the limit" in refused.err and not (site.folder / "studies").exists()
    found = tuned(site, *words, "--tokens", "1.9", "--concurrent", "4", "--trials", "5")
    # two at once could cost 2.0: one after the other, as long as 1.0 is left
    assert 0 < found["tokens"] <= 1.9 and 2 <= len(found["trials"]) <= 5
    assert found["limits"] == {"concurrent": 4, "trials": 5, "tokens": 1.9, "delta": 0.02}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be divided")
def test_inside_an_allocation_trials_have_cores_and_gpus_of_their_own(site: Site) -> None:
    words = ("--space", "lr=log:1e-3:1e-1", "--objective", "accuracy", "--trials", "4", "--concurrent", "2")
    words = (*words, "--stopper", "none", "--inside-allocation", "-p", "epochs=40", "-p", "pause=0.1")
    words = (*words, "--walltime", "600s")
    hold = site.folder / "hold"
    hold.touch()  # no trial ends by itself, or its place would be taken
    site.write_profile(rates={"per_node_hour": 60})
    begun = start(site, "tune", *BASE, *words, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b", HACKATHON_LOCAL_SLOTS="1")
    until(lambda: len(starts(site)) == 2, "two trials run at once", 60)
    shares = {path: json.loads(path.read_text()) for path in (site.folder / "runs").glob("*/started-*")}
    (one, first), (_, second) = shares.items()
    assert {first["CUDA_VISIBLE_DEVICES"], second["CUDA_VISIBLE_DEVICES"]} == {"GPU-a", "GPU-b"}
    assert first["cores"] and second["cores"] and not {*first["cores"]} & {*second["cores"]}
    os.kill(int(one.name.removeprefix("started-")), signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: len(starts(site)) == 3, "the next trial in the place of the killed one", 60)
    assert time.monotonic() - killed < FREE * STRETCH
    (third,) = (path for path in (site.folder / "runs").glob("*/started-*") if path not in shares)
    for name in ("cores", "CUDA_VISIBLE_DEVICES"):
        assert json.loads(third.read_text())[name] == first[name], "the other one still has its own"
    hold.unlink()
    out, err = begun.communicate(timeout=STRETCH * 240)
    assert begun.returncode == 0 and b"of this machine" in err, err
    found = json.loads(out)
    states = {each["run"]: each["state"] for each in found["trials"]}
    assert states.pop(one.parent.name) == "failed" and list(states.values()) == ["finished"] * 3
    assert found["tokens"] is None and set(starts(site).values()) == {1}
    assert without_times(ask(site, "results", "--json").json()) == without_times(found)


def test_of_two_algorithms_the_better_one_goes_on(site: Site) -> None:
    words = ("--space", "lr=0.01,1e-3", "--space", "pause=lin:0.01:0.02", "--objective", "accuracy", "--compare", "lr")
    few = ask(site, "tune", *BASE, *words, "--trials", "9")
    assert few.code == 2 and "at least 10 trials" in few.err
    found = tuned(site, *words, "--trials", "13", "--concurrent", "1", "--stopper", "none")
    compared = found["comparison"]
    assert (compared["name"], compared["decided"], compared["best"]) == ("lr", True, 0.01)
    by_value = {each["value"]: each for each in compared["algorithms"]}
    assert by_value[0.001]["stopped"] and 5 <= by_value[0.001]["trials"] <= 6 and by_value[0.01]["trials"] >= 7
    assert "lr: 0.01 is the best with probability >99.8 %" in ask(site, "results").out


def test_trials_that_all_fail_end_the_tuning_with_the_cause(site: Site) -> None:
    (site.folder / "program.py").write_text("raise SystemExit('no such data')")
    words = ("--space", "lr=log:1e-3:1e-1", "--objective", "accuracy", "--concurrent", "1")
    said = ask(site, "tune", *BASE, *words, seconds=240)
    assert said.code == 1 and "the first 3 trials failed" in said.err and "hackathon diagnose" in said.err
    assert [each["state"] for each in said.json()["trials"]] == ["failed"] * 3


def test_after_ctrl_c_the_jobs_go_on_and_the_way_on_is_told(site: Site) -> None:
    words = ("--space", "lr=0.01,0.02", "--objective", "accuracy", "--trials", "2", "--concurrent", "2")
    words = (*words, "--walltime", "600s")
    hold = site.folder / "hold"
    hold.touch()  # both still run when the command is interrupted
    begun = start(site, "tune", *BASE, *words, "-p", "epochs=60")
    until(lambda: len(starts(site)) == 2, "both trials run", 60)
    begun.send_signal(signal.SIGINT)
    _, err = begun.communicate(timeout=STRETCH * 60)
    hold.unlink()
    study = study_of(site).name
    assert begun.returncode == 130 and f"hackathon tune --resume {study[-8:]}".encode() in err, err
    found = json.loads(site.run("tune", "--resume", "--json"))
    assert {each["state"] for each in found["trials"]} == {"finished"} and set(starts(site).values()) == {1}
