"""What is tried in a program, what is not and why, and how the winners come into project.yaml."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.load import load_project
from hackathon.jobs.request import Options
from hackathon.jobs.sources import gather
from hackathon.text.errors import RequestError
from hackathon.tuning.batches import MARK, batch_measurement
from hackathon.tuning.driver import PROGRAM, TASK
from hackathon.tuning.measurement import SingleProcess
from hackathon.tuning.options import NotTried, Option, asked_for, options_for
from hackathon.tuning.project_changes import changed, write

PROJECT: dict[str, Any] = {
    "name": "mine",
    "command": "python train.py --workers {workers} --amp {amp} --batch {batch_size} --lr {lr} --seed {seed}",
    "cluster": "laptop",
    "framework": "torch",
    "parameters": {
        "workers": {"default": 2, "type": "int"},
        "amp": {"default": "none", "choices": ["none", "bf16"]},
        "batch_size": {"default": 64, "type": "int", "max": 1000},
        "lr": {"default": 0.1, "type": "float"},
        "seed": {"default": 1, "type": "int"},
    },
}


def program(folder: Path, target: str | None = None, **keys: Any) -> SingleProcess:
    folder.mkdir(exist_ok=True)
    if target is None:
        (folder / "project.yaml").write_text(json.dumps({**PROJECT, **keys}))
        (folder / "train.py").write_text("")
    return SingleProcess(gather(target, Options(cluster="laptop"), {}, folder))


def chosen(made: SingleProcess) -> tuple[dict[str, Option], dict[str, NotTried]]:
    tried, left = options_for(made.sources, made.request)
    return {each.name: each for each in tried}, {each.name: each for each in left}


def test_declared_parameters_are_tried_and_lines_are_not_guessed(tmp_path: Path) -> None:
    tried, left = chosen(program(tmp_path / "own"))
    assert {"workers=4", "amp=bf16", "batch_size=128, lr=0.2"} <= set(tried)
    assert "workers=2" not in tried, "that is how it is"
    assert tried["workers=4"].changes == "nothing" and tried["batch_size=128, lr=0.2"].changes == "training"
    assert left["channels_last"].why == "lines" and "channels_last" in left["channels_last"].lines
    assert "bf16" not in left, "it has a parameter"
    made = program(tmp_path / "own")
    (tmp_path / "own" / "train.py").write_text("import model\n")
    (tmp_path / "own" / "model.py").write_text("net = net.to(memory_format=torch.channels_last)\n")
    assert chosen(made)[1]["channels_last"] == NotTried("channels_last", "there")
    assert any(name.startswith("env.MALLOC") for name in tried)
    # fp16 is no choice of this program's parameter, and nobody wrote that it means anything
    assert "amp=fp16" not in tried


def test_a_program_of_an_unknown_framework_gets_no_variables_and_no_lines(tmp_path: Path) -> None:
    own = program(tmp_path / "own", framework=None, command="python train.py", parameters={})
    assert chosen(own) == ({}, {})


def test_recipes_are_tried_by_their_parameters(tmp_path: Path) -> None:
    tried, left = chosen(program(tmp_path / "recipe", "torch-ddp-tuned"))
    assert {"amp=bf16", "channels_last=true", "compile=true", "fused=true", "workers=2", "workers=4"} <= set(tried)
    assert left["pinned memory"].why == "gpu"
    assert left["cudnn.benchmark"] == NotTried("cudnn.benchmark", "there"), "the program sets it itself"
    tried, left = chosen(program(tmp_path / "recipe", "torch-fsdp-lm"))
    assert "precision=bf16" in tried and "bf16" not in left


def test_values_of_the_command_line_replace_the_known_options(tmp_path: Path) -> None:
    own = program(tmp_path / "own")
    found = asked_for(("workers=1,8", "env.OMP_NUM_THREADS=4"), own.sources)
    assert [each.name for each in found] == ["workers=1", "workers=8", "env.OMP_NUM_THREADS=4"]
    assert [each.changes for each in found] == ["nothing", "nothing", "rounding"]
    batches = asked_for(("batch_size=32,64,256", "lr=0.2"), own.sources)
    assert [(each.kind, each.changes, each.work) for each in batches] == [
        ("batch", "training", 0.5), ("batch", "training", 1.0), ("batch", "training", 4.0), ("other", "rounding", 1.0)
    ]  # fmt: skip
    for wrong in ("threads=2", "no_such=1"):
        with pytest.raises(RequestError):
            asked_for((wrong,), own.sources)


def test_the_job_holds_every_command_with_a_seed_for_each_round(tmp_path: Path) -> None:
    own = program(tmp_path / "own")
    made = own.comparison(asked_for(("workers=8", "env.A=b"), own.sources), 3, 5)
    task = json.loads(made.source.files[TASK].content)
    words = [[command[command.index("--workers") + 1] for command in arm] for arm in task["arms"]]
    seeds = [[command[command.index("--seed") + 1] for command in arm] for arm in task["arms"]]
    assert words == [["2"] * 3, ["8"] * 3, ["2"] * 3] and seeds == [["1", "2", "3"]] * 3
    assert {each["arm"]: each["variables"] for each in task["slots"]} == {0: {}, 1: {}, 2: {"A": "b"}}
    request = made.plan.jobs[0].request
    assert request.command == ("python", PROGRAM) and request.processes == 1 and request.check is None
    assert own.comparison(asked_for(("workers=8", "env.A=b"), own.sources), 3, 5).source.digest == made.source.digest
    assert own.comparison(asked_for(("workers=4",), own.sources), 3, 5).source.digest != made.source.digest


def test_one_process_is_measured_whatever_the_project_says(tmp_path: Path) -> None:
    own = program(tmp_path / "own", nodes=2, processes=8, processes_per_node=4, cluster="miyabi-g", group="gz00")
    assert (own.request.nodes, own.request.processes, own.request.launcher) == (1, 1, "local")
    for options in (Options(processes=2), Options(nodes=2), Options(in_place=True)):
        with pytest.raises(RequestError):
            assert SingleProcess(gather(None, options, {}, tmp_path / "own")).request


def test_the_search_marks_the_batch_and_nothing_else_in_the_command(tmp_path: Path) -> None:
    own = program(tmp_path / "own", command="python train.py --batch={batch_size} --lr {lr} --at 64")
    task = json.loads(batch_measurement(own, 10**9, 5).source.files[TASK].content)
    assert task["command"] == ["python", "train.py", f"--batch={MARK}", "--lr", "0.1", "--at", "64"]
    assert (task["first"], task["least"], task["most"], task["limit"]) == (64, 1, 1000, 10**9)
    with pytest.raises(RequestError):
        batch_measurement(program(tmp_path / "no", command="python train.py", parameters={"lr": 1.0}), 10**9, 5)
    with pytest.raises(RequestError):
        batch_measurement(own, None, 5)  # a computer without GPUs has no limit that a start would meet


def test_of_what_lowers_memory_only_values_that_a_parameter_takes_are_tried(tmp_path: Path) -> None:
    def savers(made: SingleProcess) -> dict[str, Any]:
        task = json.loads(batch_measurement(made, 10**9, 5).source.files[TASK].content)
        assert isinstance(task["savers"], dict)
        return task["savers"]

    assert "recompute" not in savers(program(tmp_path / "recipe", "pipeline-lm")), "never, auto or all"
    assert {"bf16", "accumulate"} <= set(savers(program(tmp_path / "recipe", "torch-ddp-tuned")))
    parameters = {"batch_size": {"default": 8, "type": "int"}, "amp": {"default": False, "type": "bool"},
                  "precision": {"default": 32, "type": "int"}, "checkpointing": {"default": False, "type": "bool"},
                  "accumulate": {"default": 1, "type": "int", "max": 1}}  # fmt: skip
    command = "python train.py " + " ".join(f"{{{name}}}" for name in parameters)
    found = savers(program(tmp_path / "own", command=command, parameters=parameters))
    assert set(found) == {"checkpointing"} and "true" in found["checkpointing"]["command"]


def test_winners_are_written_and_comments_stay(tmp_path: Path) -> None:
    text = (
        "name: mine  # ours\ncommand: python train.py --workers {workers}\n# how many\nparameters:\n"
        "  workers: {default: 0, type: int}  # of the loader\n  lr: 0.1\n"
    )
    (tmp_path / "project.yaml").write_text(text)
    path, before, after = changed(tmp_path, {"workers": 4, "lr": 0.2, "env.A": 'b "$c"'})
    assert before == text
    write(path, before, after)
    assert path.read_text() == after
    assert [comment in after for comment in ("# ours", "# how many", "# of the loader")] == [True] * 3
    project = load_project(tmp_path)
    assert project.parameters["workers"].default == 4 and project.parameters["lr"] == 0.2  # type: ignore[union-attr]
    assert project.variables == {"A": 'b \\"\\$c\\"'}
    path.write_text(after + "# changed\n")
    with pytest.raises(RequestError):
        write(path, after, before)


@pytest.mark.parametrize(
    ("rest", "settings"),
    [
        ("parameters:\n  lr: &p {default: 1}\n  wd: *p\n", {"wd": 5}),
        ("parameters: &a {lr: &a 1, wd: *a}\n", {"lr": 5}),  # one anchor twice: YAML 1.2 takes it, PyYAML does not
        ("...\n", {"env.A": "1"}),
        ("", {"job.nodes": 0}),
    ],
)
def test_what_cannot_be_changed_alone_is_left_to_people(tmp_path: Path, rest: str, settings: dict[str, Any]) -> None:
    (tmp_path / "project.yaml").write_text(f"name: mine\ncommand: python train.py\n{rest}")
    load_project(tmp_path)
    with pytest.raises(RequestError) as refused:
        changed(tmp_path, settings)
    assert refused.value.id == "speedup.not_writable"


def test_a_file_keeps_its_mode_and_its_mark_of_utf8(tmp_path: Path) -> None:
    (tmp_path / "project.yaml").write_text("\ufeffname: mine\ncommand: x\nvariables: {\n  A: '1',  # c\n}\nnodes:\n")
    (tmp_path / "project.yaml").chmod(0o664)
    before = os.umask(0o077)
    try:
        write(*changed(tmp_path, {"env.B": "2", "job.nodes": 4}))
    finally:
        os.umask(before)
    assert (tmp_path / "project.yaml").stat().st_mode & 0o777 == 0o664
    assert (tmp_path / "project.yaml").read_text() == (
        "\ufeffname: mine\ncommand: x\nvariables: {\n  A: '1', B: \"2\",  # c\n}\nnodes: 4\n"
    )


def test_what_is_not_the_users_own_file_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        changed(tmp_path, {"lr": 0.2})
    (tmp_path / "real.yaml").write_text("name: mine\ncommand: python train.py\n")
    (tmp_path / "project.yaml").symlink_to(tmp_path / "real.yaml")
    with pytest.raises(RequestError):
        changed(tmp_path, {"env.A": "1"})
