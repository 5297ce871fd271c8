"""The recipes pipeline-lm and pipeline-resnet: what stages learn is what one process learns, under any plan."""

import json
import os
import shutil
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
SMALL = ("--width", "16", "--heads", "2", "--sequence", "32", "--dropout", "0.1", "--lr", "0.001")
"""A network of two layers that takes no time."""


class Place(Training):
    """A copy of a recipe and a run directory as a job has them; torchrun starts more than one process."""

    def __init__(self, folder: Path, python: str, recipe: str = "pipeline-lm") -> None:
        super().__init__(recipe, folder, python)

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


def test_stages_learn_what_one_process_learns(tmp_path: Path, warm_python: str) -> None:
    """Dropout is on and weights are tied over the stages; the global batch is the same."""
    options = (*SMALL, "--steps", "14")
    one = Place(tmp_path / "one", warm_python)
    one.train(1, *options, "--batch-size", "8")
    # with connections that cost nothing both stages have work, however busy this machine is
    devices = tmp_path / "devices.json"
    devices.write_text(json.dumps({"count": 2, "memory": 1e9, "bandwidth": 1e12, "host_bandwidth": 1e12}))
    cases = {
        "two": (2, "--batch-size", "4", "--devices", str(devices)),
        "saved": (2, "--batch-size", "4", "--recompute", "all", "--offload", "all", "--devices", str(devices)),
        "uneven": (3, "--batch-size", "8", "--micro-batches", "12", "--replicas", "1,2", "--steps", "2"),
    }
    for name, (processes, *more) in cases.items():
        place = Place(tmp_path / name, warm_python)
        place.train(processes, *options, *more)
        final, plan = place.final(), place.plan()
        assert final["rank_sum"] == processes * (processes + 1) // 2
        assert final["stages"] == len(plan["stages"]) == 2
        if name == "uneven":  # another batch: it only has to run
            assert [each["replicas"] for each in plan["stages"]] == [1, 2] and final["steps"] == 2
            continue
        assert near(one, place)
        assert final["bits_per_byte"] == pytest.approx(one.final()["bits_per_byte"], abs=1e-5)
        assert final["predicted_step_s"] == plan["value"] and final["step_s"] > 0
        assert final["measured_by_predicted"] == pytest.approx(final["step_s"] / plan["value"])
        assert all(each["offload"] == each["recompute"] == (name == "saved") for each in plan["stages"])
        if name == "saved":
            # rank 0 has the first stage: three times its largest operator, the embedding of the bytes
            memory = plan["stages"][0]["memory"]
            planned = memory["parameters"] + memory["gradients"] + memory["optimizer"]
            assert planned == 3 * 256 * 16 * 4 and 0 < final["offload_bytes"] <= planned
        else:
            assert "offload_bytes" not in final


def test_stopped_and_taken_up_under_another_plan(tmp_path: Path, warm_python: str) -> None:
    whole, parts = (Place(tmp_path / name, warm_python) for name in ("whole", "parts"))
    options = (*SMALL, "--steps", "4")
    whole.train(1, *options, "--batch-size", "8")
    parts.stop.write_text(str(time.time() + 60))
    parts.train(2, *options, "--batch-size", "4")
    assert (parts.final()["stopped"], parts.final()["steps"]) == (True, 1)
    parts.stop.unlink()
    done = parts.train(1, *options, "--batch-size", "8")
    assert "step-00000001: step 1" in done.stdout
    assert near(whole, parts)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told_and_the_former_checkpoint_stays(tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python)
    folder = place.run / "checkpoints" / "step-00000002"
    folder.mkdir()
    (folder / ".part-0.step-2.pt").symlink_to("/dev/full")
    options = (*SMALL, "--steps", "2", "--checkpoint-every", "1", "--batch-size", "8")
    done = place.train(1, *options, code=1)
    assert "no checkpoint written" in done.stderr and "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert '"warned"' in (place.run / "events/rank-0.jsonl").read_text()
    assert (folder.parent / "step-00000001" / "index.json").exists() and not (folder / "index.json").exists()


def test_plan_from_a_file_and_its_refusals(tmp_path: Path, warm_python: str) -> None:
    options = (*SMALL, "--steps", "2", "--checkpoint-every", "0")
    first, second = (Place(tmp_path / name, warm_python) for name in ("first", "second"))
    first.train(1, *options, "--batch-size", "8")
    plan = first.run / "plan.json"
    done = second.train(1, *options, "--batch-size", "8", "--plan", str(plan))
    assert not (second.run / "plan.json").exists() and "predicted step" in done.stdout
    assert second.final()["bits_per_byte"] == first.final()["bits_per_byte"]
    # a plan for one process, with two
    done = second.train(2, *options, "--batch-size", "4", "--plan", str(plan), code=1)
    assert "the plan needs 1 processes" in done.stderr
    # memory that nothing fits into
    devices = tmp_path / "devices.json"
    devices.write_text(json.dumps({"count": 1, "memory": 10_000, "bandwidth": 1e9}))
    done = second.train(1, *options, "--batch-size", "8", "--devices", str(devices), code=1)
    assert "no plan: no plan fits: operator" in done.stderr and "GB" in done.stderr


def test_resnet_learns_alike_and_goes_on(tmp_path: Path, warm_python: str) -> None:
    pytest.importorskip("sklearn")
    one, two = (Place(tmp_path / name, warm_python, "pipeline-resnet") for name in ("one", "two"))
    one.train(1, "--epochs", "2", "--batch-size", "128")
    two.stop.write_text(str(time.time() + 60))
    two.train(2, "--epochs", "2", "--batch-size", "64")
    two.stop.unlink()
    assert two.final()["stopped"] is True
    assert "resumed from" in two.train(2, "--epochs", "2", "--batch-size", "64").stdout
    left, right = one.state(), two.state()
    assert left.keys() == right.keys() and any("running_mean" in name for name in left)
    assert all(torch.allclose(left[name].float(), right[name].float(), rtol=1e-3, atol=1e-3) for name in left)
    assert two.final()["accuracy"] == pytest.approx(one.final()["accuracy"], abs=0.02)
    assert two.final()["accuracy"] > 0.8
    # a later segment of a chain finds nothing left to train: it only has the numbers to tell
    (path,) = (one.run / "checkpoints").iterdir()
    learnt = one.final()["accuracy"]
    one.train(1, "--epochs", "2", "--batch-size", "128", "--resume", str(path))
    assert one.final()["accuracy"] == learnt and one.final()["loss"] is None


@pytest.mark.mpi
def test_plain_mpirun(tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python)
    mpirun = shutil.which("mpirun", path=place.environ["PATH"])
    if mpirun is None:
        pytest.skip("no mpirun")
    good(place.call([mpirun, "-np", "2", sys.executable, "train.py", *SMALL, "--steps", "2"]))
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


def test_a_plan_is_made_in_the_recipe_s_folder(tmp_path: Path) -> None:
    """The model imports a file that lies in recipes/shared."""
    words = ["plan", "model.py:resnet18", "--gpus", "2", "--memory", "16GB", "--micro-batches", "2", "--output"]
    done = subprocess.run(
        [sys.executable, "-m", "hackathon", *words, str(tmp_path / "plan.json")], cwd=RECIPES / "pipeline-resnet",
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "plan.json").read_text())["stages"]
