"""Advice with its expected gain and the command to type, and whether `compare` finds that it came true."""

import json
import random
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run as hackathon
from hackathon.config.load import load_recipe
from hackathon.profiling.advice import Advice
from hackathon.profiling.gains import TUNED, Attempt, GainEvidence, TunedOption, attempts, expected_of
from hackathon.profiling.outcomes import Change, outcomes
from hackathon.profiling.shares import RunShares, StepShares
from hackathon.profiling.switches import SWITCHES, value_for
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.compare import difference, saved
from hackathon.scaling.evidence import evidence_of
from hackathon.text.files import write_json
from support.planted_steps import FAULTS, Plan, Step, exposed_communication, healthy, plant, slow_loader, straggler
from support.recorded_run import RecordedRun
from support.samples.runs import Sample, write_study

TUNED_RECIPE = {name: each.default for name, each in load_recipe("torch-ddp-tuned")[0].parameters.items()}
Told = Callable[..., tuple[int, dict[str, Any]]]


def jitter(plan: Plan, seconds: float) -> Plan:
    """Return the plan with some more seconds of computing in each step: what repeats differ by."""

    def jittered(rank: int, step: int, processes: int, strength: float) -> Step:
        each = plan(rank, step, processes, strength)
        return replace(each, compute=each.compute + seconds)

    return jittered


class Project:
    """Runs in the current folder, made from planted steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"
        self.count = 0

    def identifier(self) -> str:
        self.count += 1
        return f"20260101-{self.count:06d}-own-2p-{'abcdefghijklmnopqrstuvwxyz'[self.count]}aaaaaaa"

    def long(self) -> str:
        """Return an id of any number of runs."""
        self.count += 1
        return f"20260101-{self.count:06d}-own-1p-aaaaaaaa"

    def runs(self, plan: Plan, strength: float, repeats: int = 3, processes: int = 2, **record: Any) -> str:
        """Make some repeats, and return their ids as `compare` takes them."""
        made = []
        for number in range(repeats):
            run = RecordedRun(self.folder / self.identifier(), processes, **record)
            plant(run.path, jitter(plan, 0.001 * number), processes, strength)
            made.append(run.path.name)
        return ",".join(made)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Project(tmp_path)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def call(*words: str) -> tuple[int, dict[str, Any]]:
        code = hackathon([*words, "--json"])
        out = capsys.readouterr()
        return code, json.loads(out.out) if out.out.strip() else {"error": out.err}

    return call


RECIPE = {"name": "torch-ddp-tuned", "recipe": "torch-ddp-tuned", "parameters": TUNED_RECIPE, "threads": 8}


def test_a_slow_loader_gets_its_switch_and_a_run_without_it_came_true(project: Project, told: Told) -> None:
    slow = project.runs(slow_loader, 0.1, **RECIPE)
    code, found = told("results", slow.split(",")[0], "--advice")
    (advice,) = found["points"][0]["advice"]
    assert code == 0 and advice["id"] == "slow-loader" and advice["settings"] == {"workers": 4}
    assert advice["expected"]["bound"] and advice["expected"]["gain"] == pytest.approx(0.104 / 0.2, abs=0.03)
    assert shlex.split(advice["command"]) == [
        "hackathon", "submit", "torch-ddp-tuned", "--processes", "2", "-p", "workers=4", "--repeat", "3"
    ]  # fmt: skip
    assert advice["confirm_command"].startswith(f"hackathon compare {slow.split(',')[0][-8:]} ")

    faster = project.runs(healthy, 0.0, **{**RECIPE, "parameters": {**TUNED_RECIPE, "workers": 4, "epochs": 3}})
    code, found = told("compare", slow, faster)
    (outcome,) = found["points"][0]["tried"]
    assert code == 0 and outcome["verdict"] == "came-true" and outcome["id"] == "slow-loader"
    assert outcome["changed"] == [{"name": "workers", "before": "0", "after": "4"}] and outcome["other_changes"] == []
    assert outcome["measured"]["gain"] == pytest.approx(0.5, abs=0.03) and not outcome["beyond_expected"]
    assert outcome["measured"]["low"] < outcome["measured"]["gain"] < outcome["measured"]["high"]
    assert outcome["expected"]["gain"] == pytest.approx(advice["expected"]["gain"], abs=0.01)
    assert outcome["part_share"]["before"] > 0.4 and outcome["part_share"]["after"] < 0.1


def test_a_rerun_that_changes_nothing_is_inside_the_noise(project: Project, told: Told) -> None:
    slow = project.runs(slow_loader, 0.05, **RECIPE)
    same = project.runs(slow_loader, 0.05, **{**RECIPE, "parameters": {**TUNED_RECIPE, "workers": 2}})
    nothing = project.runs(slow_loader, 0.05, **RECIPE)
    for other, changed in ((same, ["workers"]), (nothing, [])):
        code, found = told("compare", slow, other)
        (outcome,) = found["points"][0]["tried"]
        assert code == 0 and outcome["verdict"] == "noise" and outcome["reason"] == "noise"
        assert [each["name"] for each in outcome["changed"]] == changed


def test_single_runs_tell_that_nobody_knows(project: Project, told: Told) -> None:
    slow, fast = (project.runs(plan, 0.1, 1, **RECIPE) for plan in (slow_loader, healthy))
    (outcome,) = told("compare", slow, fast)[1]["points"][0]["tried"]
    assert outcome["verdict"] == "unknown" and outcome["reason"] == "once"


def test_a_slower_rerun_and_a_faster_one_by_something_else_did_not_come_true(project: Project, told: Told) -> None:
    slow = project.runs(slow_loader, 0.05)
    slower = project.runs(slow_loader, 0.1)
    (outcome,) = told("compare", slow, slower)[1]["points"][0]["tried"]
    assert outcome["verdict"] == "not" and outcome["reason"] == "slower"

    def computes_less(rank: int, step: int, processes: int, strength: float) -> Step:
        return replace(slow_loader(rank, step, processes, strength), compute=0.03)

    (outcome,) = told("compare", slow, project.runs(computes_less, 0.05))[1]["points"][0]["tried"]
    assert outcome["verdict"] == "not" and outcome["reason"] == "share" and outcome["measured"]["gain"] > 0.2


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_healthy_runs_have_no_advice_and_nothing_came_true(project: Project, told: Told, processes: int) -> None:
    one, other = (project.runs(healthy, 0.0, processes=processes, **RECIPE) for _ in range(2))
    for name in (one, other):
        assert told("results", name.split(",")[0], "--advice")[1]["points"][0]["advice"] == []
    faster = project.runs(lambda *_: Step(compute=0.02), 0.0, processes=processes, **RECIPE)
    for new in (other, faster):
        assert told("compare", one, new)[1]["points"][0]["tried"] == []


def test_communication_names_only_what_a_program_has(project: Project, told: Told) -> None:
    def advice(**record: Any) -> list[dict[str, Any]]:
        run = project.runs(exposed_communication, 0.1, 1, **record)
        found = told("results", run, "--advice")[1]["points"][0]["advice"]
        assert isinstance(found, list)
        return found

    assert [each["settings"] for each in advice(**RECIPE, gpus_per_node=1)] == [{"hook": "bf16"}, {"accumulate": 2}]
    both = advice(**RECIPE)  # without GPUs gradients travel by Gloo, on which the recipes gather bf16
    assert [each["settings"] for each in both] == [{"hook": "fp16"}, {"accumulate": 2}]
    for each in both:
        assert each["expected"]["gain"] == pytest.approx(0.11 / 2 / 0.2, abs=0.02) and each["expected"]["bound"]
    plain = {name: each.default for name, each in load_recipe("torch-ddp")[0].parameters.items()}
    (hook,) = advice(name="torch-ddp", recipe="torch-ddp", parameters=plain)
    assert hook["settings"] == {"hook": "fp16"} and hook["command"]
    (alone,) = advice(name="torch-ddp", recipe="torch-ddp", parameters={**plain, "hook": "fp16"})
    assert alone["settings"] == {} and alone["command"] is None and alone["lines"] is None
    (own,) = advice()
    assert "register_comm_hook(None, fp16_" in own["lines"] and "bf16" not in own["lines"] and own["command"] is None
    (own,) = advice(gpus_per_node=1)
    assert "register_comm_hook(None, bf16_" in own["lines"]
    on = {**RECIPE, "parameters": {**TUNED_RECIPE, "hook": "powersgd"}}
    assert [each["settings"] for each in advice(**on)] == [{"accumulate": 2}]
    # a parameter of a program of one's own takes any number, and nobody knows what a word means
    (mine,) = advice(parameters={"accumulate": 1, "hook": "none"})
    assert mine["settings"] == {"accumulate": 2}


def test_a_switch_is_named_only_where_it_acts(project: Project, told: Told) -> None:
    declared = {name: each.default for name, each in load_recipe("chainermn-mnist")[0].parameters.items()}
    recipe = {"name": "chainermn-mnist", "recipe": "chainermn-mnist", "framework": "chainer", "threads": 8}

    def tried(plan: Plan, **parameters: Any) -> list[dict[str, Any]]:
        run = project.runs(plan, 0.1, 1, **recipe, parameters={**declared, **parameters})
        return [each["settings"] for each in told("results", run, "--advice")[1]["points"][0]["advice"]]

    # naive has neither, and ends at once when it is told to
    assert tried(exposed_communication) == [{}]
    on_gpus = tried(exposed_communication, communicator="pure_nccl")
    assert {"allreduce_fp16": True} in on_gpus and {"double_buffering": True} in on_gpus and len(on_gpus) == 2
    # a serial iterator has no workers
    assert tried(slow_loader) == [{"iterator": "multiprocess"}]
    assert tried(slow_loader, iterator="multithread") == [{"workers": 4}]


def test_a_measured_network_narrows_what_half_the_bytes_save(project: Project, told: Told, tmp_path: Path) -> None:
    transfer = 25 * 2**20 / 1e9  # a bucket by the bandwidth below
    fits = {"large": {"alpha_us": transfer * 1e6, "beta_gb_s": 1.0}}
    file = tmp_path / "config" / "hackathon" / "measured" / "laptop.json"
    file.parent.mkdir(parents=True)
    entry = {"nodes": 1, "processes": 2, "hosts": 1, "operations": {"all-reduce": {"fits": fits}}}
    write_json(file, {"schema_version": 1, "cluster": "laptop", "measured": [entry]})
    run = project.runs(exposed_communication, 0.1, 1, **RECIPE)
    accumulate, hook = told("results", run, "--advice")[1]["points"][0]["advice"]
    assert hook["settings"] == {"hook": "fp16"} and hook["expected"]["basis"] == "network"
    assert hook["expected"]["gain"] == pytest.approx(accumulate["expected"]["gain"] / 2, abs=1e-6)


def test_a_table_of_speedup_gives_its_measured_gain(project: Project, told: Told) -> None:
    def table(*options: dict[str, Any], **record: Any) -> str:
        run = RecordedRun(project.folder / project.identifier(), 1, tags=["speedup"], **{**RECIPE, **record})
        (run.path / "client").mkdir()
        write_json(run.path / "client/speedup.json", {"options": list(options)})
        return run.path.name

    def row(settings: dict[str, Any], ratio: float, verdict: str = "faster", kind: str = "precision") -> dict[str, Any]:
        return {
            "settings": settings, "ratio": ratio, "low": ratio - 0.05, "high": ratio + 0.05, "verdict": verdict,
            "wins": verdict == "faster", "kind": kind,
        }  # fmt: skip

    def advice(run: str) -> list[dict[str, Any]]:
        found = told("results", run, "--advice")[1]["points"][0]["advice"]
        assert isinstance(found, list)
        return found

    before = project.runs(healthy, 0.0, processes=1, **RECIPE)
    assert advice(before.split(",")[0]) == []
    table(row({"amp": "bf16"}, 1.25), row({"compile": True}, 1.0, "none"), row({"batch_size": 128}, 2.0, kind="batch"),
          {"ratio": "x"}, {"settings": {"amp": "fp16"}, "ratio": -1})  # fmt: skip
    (found,) = advice(before.split(",")[0])
    assert found["id"] == TUNED and found["settings"] == {"amp": "bf16"} and not found["expected"]["bound"]
    assert found["expected"]["gain"] == pytest.approx(0.2)
    assert found["expected"]["low"] == pytest.approx(1 - 1 / 1.2, rel=1e-4)
    # of another program, or with other parameters, it says nothing
    other = project.runs(healthy, 0.0, 1, 1, **{**RECIPE, "parameters": {**TUNED_RECIPE, "batch_size": 32}})
    assert advice(other) == []
    after = project.runs(lambda *_: Step(compute=0.06), 0.0, processes=1,
                         **{**RECIPE, "parameters": {**TUNED_RECIPE, "amp": "bf16"}})  # fmt: skip
    assert advice(after.split(",")[0]) == []
    (outcome,) = told("compare", before, after)[1]["points"][0]["tried"]
    assert outcome["id"] == TUNED and outcome["verdict"] == "came-true"
    # a table that was measured after the new runs told nobody what to do
    late = project.runs(slow_loader, 0.1, processes=1, **RECIPE)
    mended = project.runs(healthy, 0.0, processes=1, **{**RECIPE, "parameters": {**TUNED_RECIPE, "workers": 2}})
    table(row({"workers": 2}, 1.5, kind="loader"), row({"workers": 4}, 1.1, "none", kind="loader"))
    (outcome,) = told("compare", late, mended)[1]["points"][0]["tried"]
    assert outcome["expected"]["basis"] == "share"
    # workers that were measured are offered as measured, and what did not help is not
    (found,) = advice(late.split(",")[0])
    assert found["settings"] == {"workers": 2} and found["expected"]["basis"] == "speedup"
    again = project.runs(healthy, 0.0, processes=1, **{**RECIPE, "parameters": {**TUNED_RECIPE, "workers": 2}})
    (outcome,) = told("compare", late, again)[1]["points"][0]["tried"]
    assert outcome["expected"] == found["expected"] and outcome["verdict"] == "came-true"


def test_what_was_measured_without_a_gain_is_not_offered_and_too_few_rounds_say_nothing() -> None:
    advice = Advice("slow-loader", "data", 0.5)

    def offered(*verdicts: str) -> Attempt:
        rows = tuple(
            TunedOption({"workers": 2 + number}, 1.9, None, None, verdict, verdict == "faster", "run")
            for number, verdict in enumerate(verdicts)
        )
        evidence = GainEvidence(parameters={"workers": 0}, takes=lambda *_: True, tuned=rows)
        (found,) = attempts([advice], None, evidence)
        return found

    assert offered("few").settings == {"workers": 4} and offered("few").expected.basis == "share"
    for verdict in ("none", "slower", "failed"):
        assert offered(verdict).settings == {} and offered(verdict).ruled_out == ("workers=2",)
    assert offered("none", "faster").settings == {"workers": 3}


def test_nothing_is_advised_twice_and_the_text_reads(
    project: Project, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    run = project.runs(straggler, 0.1)
    for language, words in (("en", ("rank 1", "expected gain: at most")), ("ja", ("ランク 1", "最大"))):
        assert hackathon(["results", run.split(",")[0], "--advice", "--lang", language]) == 0
        out = capsys.readouterr().out
        assert all(word in out for word in words) and "{" not in out, out
        assert hackathon(["compare", run, project.runs(healthy, 0.0), "--lang", language]) == 0
        out = capsys.readouterr().out
        assert "{" not in out and ("came true" in out or "期待どおり" in out), out
    assert hackathon(["results", run.split(",")[0], "--advice", "--format", "csv"]) == 2
    capsys.readouterr()


def test_a_study_that_loses_speed_untold_is_pointed_at_the_profile() -> None:
    bad = GainEvidence(efficiency=0.6, base=1, processes=4)
    (found,) = attempts([], None, bad)
    assert found.id == "poor-scaling" and found.expected.gain == pytest.approx(0.4)
    assert attempts([], None, replace(bad, efficiency=0.8)) == []
    assert attempts([], None, replace(bad, processes=1)) == []
    told = StepShares(0, 20, 0.1, communication=0.0, waiting=0.0)
    assert attempts([], told, bad) == []  # the shares say that it is not communication


def test_each_point_of_a_study_has_a_list_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path / "train", [Sample(1, 100.0), Sample(2, 190.0), Sample(4, 240.0)]).id
    monkeypatch.chdir(tmp_path / "train")
    code, found = told("results", study, "--advice", "--no-ask")
    assert code == 0 and [point["processes"] for point in found["points"]] == [1, 2, 4]
    assert [[each["id"] for each in point["advice"]] for point in found["points"]] == [[], [], ["poor-scaling"]]
    (lost,) = found["points"][2]["advice"]
    assert lost["expected"]["gain"] == pytest.approx(0.4) and "hackathon profile" in lost["message"]
    assert lost["command"] is None
    assert hackathon(["results", study, "--advice", "--no-ask"]) == 0
    assert "at most 40 %" in capsys.readouterr().out
    failed = write_study(tmp_path / "bad", [Sample(2, None, "FAILED", exit_code=1)]).id
    monkeypatch.chdir(tmp_path / "bad")
    assert hackathon(["results", failed, "--advice", "--no-ask"]) == 2
    assert "none of its runs has succeeded" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", ["/somewhere/torch-ddp-tuned", "../torch-ddp-tuned", "no-such-recipe", "\x00"])
def test_a_record_that_names_no_shipped_recipe_gets_no_switch(project: Project, told: Told, recipe: str) -> None:
    run = project.runs(slow_loader, 0.1, 1, **{**RECIPE, "recipe": recipe})
    (advice,) = told("results", run, "--advice")[1]["points"][0]["advice"]
    assert advice["settings"] == {} and advice["command"] is None and advice["lines"] is None


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["options", "settings", "ratio", "low", "wins", "kind", "amp"]), inner)
        ),
        max_leaves=10,
    ),
    parameters=st.dictionaries(st.text(max_size=5) | st.just("workers"), st.none() | st.integers() | st.text()),
)
def test_whatever_stands_in_tables_and_records_is_data(project: Project, rows: Any, parameters: dict[str, Any]) -> None:
    table = RecordedRun(project.folder.parent / "random" / f"{random.random()}" / project.long(), 1, tags=["speedup"])
    (table.path / "client").mkdir()
    write_json(table.path / "client/speedup.json", {"options": rows} if not isinstance(rows, dict) else rows)
    run = RecordedRun(table.path.parent / project.long(), 1, parameters=parameters)
    evidence = evidence_of(RunDirectory(run.path))
    made = attempts([Advice("slow-loader", "data", 0.5)], None, evidence)
    json.dumps([each.to_json() for each in made], allow_nan=False)


scalars = st.one_of(st.booleans(), st.integers(-3, 100), st.floats(allow_nan=False), st.text(max_size=4))


@given(
    gain=st.floats(0.1, 1.0),
    fault=st.sampled_from(sorted(FAULTS)),
    parameters=st.dictionaries(st.sampled_from([each.parameter for each in SWITCHES]), scalars),
    network=st.none() | st.tuples(st.floats(0, 1), st.floats(1, 1e12)),
    ratio=st.floats(0.5, 100),
    processes=st.integers(1, 8),
)
def test_no_gain_is_more_than_its_part(
    gain: float, fault: str, parameters: dict[str, Any], network: Any, ratio: float, processes: int
) -> None:
    advice = Advice(fault, "data", gain, 0 if fault == "straggler" else None, {"rank": "0", "cause": "data"})
    rows = tuple(TunedOption({name: 4}, ratio, None, None, "faster", ratio > 1, "r") for name in parameters)
    evidence = GainEvidence("torch", False, parameters, lambda *_: True, 4, rows, network, processes=processes)
    made = attempts([advice], None, evidence)
    about = [each for each in made if each.id == fault]
    assert about and all(0 <= each.expected.gain <= gain + 1e-9 for each in about)
    assert all(set(each.settings) <= set(parameters) for each in made)
    assert [each.expected.gain for each in made] == sorted((each.expected.gain for each in made), reverse=True)
    assert 0 <= expected_of(advice, list(parameters), evidence).gain <= gain + 1e-9


def test_more_workers_than_threads_are_not_advised() -> None:
    workers = next(each for each in SWITCHES if each.parameter == "workers")
    assert [value_for(workers, now, threads) for now, threads in ((0, 0), (0, 1), (0, 3), (2, 2), (4, 64))] == [
        4, 2, 3, None, None
    ]  # fmt: skip


def test_false_claims_are_rare_where_nothing_changed() -> None:
    """Of 400 pairs of three repeats each with 2 % noise: by the share none, by speed alone some 2 %."""
    draw = random.Random(20261125)

    def shares(data: float) -> RunShares:
        step = StepShares(0, 50, 0.1, 0.1 * data, 0.0, 0.1 * (1 - data), 0.0, 0.0, 0.0)
        return RunShares(1, (step,))

    evidence = GainEvidence(
        parameters={"amp": "none"}, tuned=(TunedOption({"amp": "bf16"}, 1.3, 1.2, 1.4, "faster", True, "r"),)
    )
    came_true = {"data": 0, "": 0}
    for _ in range(400):
        old, new = ([100 * draw.gauss(1, 0.02) for _ in range(3)] for _ in range(2))
        sides = [[shares(0.4 + draw.gauss(0, 0.01)) for _ in range(3)] for _ in range(2)]
        measured = saved(difference("samples_per_s", "samples/s", old, new, 0.05))
        for each in outcomes(sides[0], sides[1], evidence, measured, [Change("amp", "none", "bf16")]):
            came_true[each.part] += each.verdict == "came-true"
    assert came_true["data"] == 0 and came_true[""] <= 0.05 * 400, came_true
