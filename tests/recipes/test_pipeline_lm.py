"""The recipes pipeline-lm and pipeline-resnet: what stages learn is what one process learns, under any plan."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import RECIPES
from support.recipes import imported
from support.training import Training, good

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(600)]
SMALL = (
    "--layers", "1", "--width", "16", "--heads", "2", "--sequence", "32", "--dropout", "0.1", "--lr", "0.001",
    "--steps", "14",
)  # fmt: skip
"""A network that takes no time, with dropout and weights tied over the stages; steps enough to tell their length."""
BATCH = 12
"""Sequences of a step, of all processes together."""


class Place(Training):
    """A copy of a recipe and a run directory as a job has them; torchrun starts more than one process."""

    def __init__(self, folder: Path, python: str, recipe: str = "pipeline-lm") -> None:
        super().__init__(recipe, folder, python)
        text = self.source / "pride-and-prejudice.txt"
        if text.exists():  # a tenth of it is the test, which is longer than all training here
            text.write_bytes(text.read_bytes()[:20_000])

    def train(self, processes: int, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = super().train(processes, *options)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def state(self) -> dict[str, Any]:
        """Return the parameters in the one checkpoint."""
        (path,) = (self.run / "checkpoints").iterdir()
        parts = [torch.load(each, weights_only=True)["state"] for each in sorted(path.glob("part-*.pt"))]
        return {name: tensor for part in parts for name, tensor in part.items()}

    def plan(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.run / "plan.json").read_text())
        return found


def near(one: Place, other: Place) -> bool:
    """Return whether two trainings have the same parameters, but for the order of a sum."""
    left, right = one.state(), other.state()
    return left.keys() == right.keys() and all(
        torch.allclose(left[name], right[name], rtol=0, atol=1e-5) for name in left
    )


def batch(processes: int) -> tuple[str, str]:
    """Return the option with which so many processes train the same batches."""
    return "--batch-size", str(BATCH // processes)


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Devices whose connections cost nothing: both stages have work, however busy this machine is."""
    path = tmp_path_factory.mktemp("devices") / "devices.json"
    path.write_text(json.dumps({"count": 3, "memory": 1e9, "bandwidth": 1e12, "host_bandwidth": 1e12}))
    return str(path)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> Place:
    """What one process learns."""
    place = Place(tmp_path_factory.mktemp("one"), warm_python)
    place.train(1, *SMALL, *batch(1))
    return place


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, warm_python: str, devices: str) -> Place:
    """What two stages learn."""
    place = Place(tmp_path_factory.mktemp("two"), warm_python)
    place.train(2, *SMALL, *batch(2), "--devices", devices)
    return place


def examine(place: Place, one: Place, processes: int) -> list[dict[str, Any]]:
    """Return the two stages of a training's plan; it learnt what one process did, and tells its numbers."""
    final, plan = place.final(), place.plan()
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert final["stages"] == len(plan["stages"]) == 2
    assert near(one, place)
    assert final["bits_per_byte"] == pytest.approx(one.final()["bits_per_byte"], abs=1e-5)
    assert final["predicted_step_s"] == plan["value"] and final["step_s"] > 0
    assert final["measured_by_predicted"] == pytest.approx(final["step_s"] / plan["value"])
    stages: list[dict[str, Any]] = plan["stages"]
    return stages


def test_two_stages_learn_what_one_process_learns(one: Place, two: Place) -> None:
    stages = examine(two, one, 2)
    assert [each["replicas"] for each in stages] == [1, 1]
    assert not any(each["offload"] or each["recompute"] for each in stages)
    assert "offload_bytes" not in two.final()


def test_uneven_replicas_that_save_memory_learn_the_same(
    one: Place, devices: str, tmp_path: Path, warm_python: str
) -> None:
    place = Place(tmp_path, warm_python)
    saving = ("--replicas", "1,2", "--recompute", "all", "--offload", "all")
    place.train(3, *SMALL, *batch(3), *saving, "--devices", devices)
    stages = examine(place, one, 3)
    assert [each["replicas"] for each in stages] == [1, 2]
    assert all(each["offload"] and each["recompute"] for each in stages)
    # three times the largest operator: that of the whole network is the embedding of the bytes
    planned = [sum(each["memory"][name] for name in ("parameters", "gradients", "optimizer")) for each in stages]
    assert max(planned) == 3 * 256 * 16 * 4
    for most, rank in zip(planned, (0, 1), strict=True):  # a stage without parameters has none to offload
        offloaded = place.final(rank).get("offload_bytes", 0)
        assert 0 < offloaded <= most or offloaded == most == 0


def test_stopped_and_taken_up_under_another_plan(one: Place, two: Place, tmp_path: Path, warm_python: str) -> None:
    """Both plans come from files."""
    place = Place(tmp_path, warm_python)
    place.stop.write_text(str(time.time() + 60))
    place.train(2, *SMALL, *batch(2), "--plan", str(two.run / "plan.json"))
    assert (place.final()["stopped"], place.final()["steps"]) == (True, 1)
    place.stop.unlink()
    done = place.train(1, *SMALL, *batch(1), "--plan", str(one.run / "plan.json"))
    assert "step-00000001: step 1" in done.stdout and "predicted step" in done.stdout
    assert near(one, place)
    assert not (place.run / "plan.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told_and_the_former_checkpoint_stays(one: Place, tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python)
    folder = place.run / "checkpoints" / "step-00000002"
    folder.mkdir()
    (folder / ".part-0.step-2.pt").symlink_to("/dev/full")
    options = (*SMALL, "--steps", "2", "--checkpoint-every", "1", "--plan", str(one.run / "plan.json"))
    done = place.train(1, *options, *batch(1), code=1)
    assert "no checkpoint written" in done.stderr and "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert '"warned"' in (place.run / "events/rank-0.jsonl").read_text()
    assert (folder.parent / "step-00000001" / "index.json").exists() and not (folder / "index.json").exists()


def test_plans_that_do_not_fit_are_refused(one: Place, tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python)
    # a plan for one process, with two
    done = place.train(2, *SMALL, *batch(2), "--plan", str(one.run / "plan.json"), code=1)
    assert "the plan needs 1 processes" in done.stderr
    # memory that nothing fits into
    small = tmp_path / "small.json"
    small.write_text(json.dumps({"count": 1, "memory": 10_000, "bandwidth": 1e9}))
    done = place.train(1, *SMALL, *batch(1), "--devices", str(small), code=1)
    assert "no plan: no plan fits: operator" in done.stderr and "GB" in done.stderr


def test_resnet_learns_alike_and_goes_on(tmp_path: Path, warm_python: str) -> None:
    pytest.importorskip("sklearn")
    one, two = (Place(tmp_path / name, warm_python, "pipeline-resnet") for name in ("one", "two"))
    one.train(1, "--epochs", "2", "--batch-size", "128")
    two.stop.write_text(str(time.time() + 60))
    two.train(2, "--epochs", "2", "--batch-size", "64")
    two.stop.unlink()
    assert two.final()["stopped"] is True
    plan = ("--plan", str(two.run / "plan.json"))
    assert "resumed from" in two.train(2, "--epochs", "2", "--batch-size", "64", *plan).stdout
    left, right = one.state(), two.state()
    assert left.keys() == right.keys() and any("running_mean" in name for name in left)
    assert all(torch.allclose(left[name].float(), right[name].float(), rtol=1e-3, atol=1e-3) for name in left)
    assert two.final()["accuracy"] == pytest.approx(one.final()["accuracy"], abs=0.02)
    assert two.final()["accuracy"] > 0.8
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    (path,) = (one.run / "checkpoints").iterdir()
    learnt = one.final()["accuracy"]
    plan = ("--plan", str(one.run / "plan.json"))
    one.train(1, "--epochs", "2", "--batch-size", "128", "--resume", str(path), *plan)
    assert one.final()["accuracy"] == learnt and one.final()["loss"] is None


@pytest.mark.mpi
def test_plain_mpirun(two: Place, tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python)
    words = (*SMALL, *batch(2), "--plan", str(two.run / "plan.json"))
    good(place.mpirun(2, *words, "--steps", "2"))
    assert [place.final(rank)["rank_sum"] for rank in (0, 1)] == [3, 3]


@pytest.mark.parametrize(
    ("options", "processes", "expected"),
    [
        ([], 4, [1, 1, 1, 1]),
        (["--stages", "2"], 4, [2, 2]),
        (["--stages", "1"], 4, [4]),
        (["--replicas", "2"], 4, [2, 2]),
        (["--replicas", "1,3"], 4, [1, 3]),
        (["--replicas", "1,3", "--stages", "2"], 4, [1, 3]),
        (["--stages", "3"], 4, None),
        (["--replicas", "1,3", "--stages", "3"], 4, None),
        (["--replicas", "3"], 4, None),
        (["--replicas", "1,1"], 4, None),
        (["--stages", "5"], 4, None),
        (["--replicas", "0"], 4, None),
        (["--replicas", "1,x"], 4, None),
    ],
)
def test_replicas_add_up_to_the_processes(
    options: list[str], processes: int, expected: list[int] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    with imported("pipeline-lm", "pipeline") as (module,):
        parser = argparse.ArgumentParser()
        module.add_options(parser)
        args = parser.parse_args(options)
        if expected is None:
            with pytest.raises(SystemExit) as ended:
                module.replicas_of(args, processes)
            assert ended.value.code == 2 and "4 processes cannot be" in capsys.readouterr().err
        else:
            assert module.replicas_of(args, processes) == expected


@pytest.mark.parametrize("recipe", ["pipeline-lm", "pipeline-resnet"])
def test_options_are_those_of_the_recipe(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py"])
    with imported(recipe, "train") as (module,):
        parsed = vars(module.options())
    declared = yaml.safe_load((RECIPES / recipe / "recipe.yaml").read_text())["parameters"]
    assert parsed.keys() == declared.keys()
    filled = {"layers": 0, "heads": 0, "width": 0, "sequence": 0, "model": "auto"}
    for name, value in parsed.items():
        given = declared[name].get("default", "")
        assert value == given or given == filled.get(name), name


@pytest.mark.parametrize(
    ("recipe", "name", "parameters"),
    [("pipeline-lm", "gpt2_124m", 124_439_808 + 47 * 768), ("pipeline-resnet", "resnet50", 25_557_032)],
)
def test_models_for_the_planner_have_their_known_sizes(recipe: str, name: str, parameters: int) -> None:
    with imported(recipe, "model") as (module,), torch.device("meta"):
        built = getattr(module, name)()
    assert sum(each.numel() for each in built["model"].parameters()) == parameters


def test_a_plan_is_made_in_the_recipe_s_folder(tmp_path: Path, warm_python: str) -> None:
    """The model imports a file that lies in recipes/shared."""
    words = ["plan", "model.py:small", "--gpus", "2", "--memory", "16GB", "--micro-batches", "2", "--output"]
    done = subprocess.run(
        [warm_python, "-m", "hackathon", *words, str(tmp_path / "plan.json")], cwd=RECIPES / "pipeline-resnet",
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "plan.json").read_text())["stages"]
