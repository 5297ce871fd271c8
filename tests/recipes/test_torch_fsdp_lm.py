"""The recipe torch-fsdp-lm really learns its text: alone and in shards, resumed by another number of processes."""

import argparse
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.backends import LocalBackend, Run, Site, json_lines
from support.paths import RECIPES, SHARED
from support.patience import until
from support.recipes import imported
from support.training import Training, good

NAME = "torch-fsdp-lm"
RECIPE = RECIPES / NAME
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(900)]
SMALL = ("--width", "16", "--heads", "2", "--sequence", "32", "--batch-size", "2")
"""A network of two layers that takes no time."""

# a reduce-scatter that leaves out the other ranks: what goes wrong when it is not called
BROKEN = """
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultReduceScatter
class Alone(DefaultReduceScatter):
    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        output_tensor.copy_(input_tensor.chunk(group.size())[group.rank()])
for each in [*model.blocks, model]:
    each.set_custom_reduce_scatter(Alone())
"""

# in place of torch's compiler: what is captured is noted and runs as it is
CAPTURED = """
import functools, os
import torch
def noted(module, inputs):
    with open(os.path.join(os.environ["HK_RUN"], "graphs"), "a") as stream:
        stream.write(module.code)
    return module
torch.compile = functools.partial(torch.compile, backend=noted)
"""


class Place(Training):
    """A copy of the recipe and a run directory as a job has them; torchrun starts more than one process.

    Of the text only the first chapters are there: to test takes a tenth of it, which is longer than all training here.
    """

    timeout = 400

    def __init__(self, folder: Path, python: str, most: int | None = 20_000) -> None:
        super().__init__(NAME, folder, python)
        text = self.source / "pride-and-prejudice.txt"
        text.write_bytes(text.read_bytes()[:most])

    def train(self, processes: int, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Train; it has to end with `code`."""
        done = super().train(processes, *options)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def checkpoints(self) -> list[Path]:
        return sorted((self.run / "checkpoints").iterdir())

    def state(self) -> dict[str, Any]:
        """Return the one checkpoint, whole: torch's own tool puts its shards together."""
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

        (path,) = self.checkpoints()
        dcp_to_torch_save(path, self.run / "whole.pt")
        state: dict[str, Any] = torch.load(self.run / "whole.pt", weights_only=True)
        return state


@pytest.fixture
def place(tmp_path: Path, warm_python: str) -> Place:
    return Place(tmp_path, warm_python)


def _same(left: Any, right: Any) -> bool:
    """Return whether two checkpoints are equal bit for bit."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    return bool(left == right)


def _near(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Return whether two checkpoints have the same weights but for rounding."""
    pairs = [(left["model"][name], right["model"][name]) for name in left["model"] | right["model"]]
    return all(torch.allclose(one, other, atol=1e-4) for one, other in pairs)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A project around the recipe, as `init` makes it, on this machine."""
    backend = LocalBackend(tmp_path)
    backend.trains = True
    made = Site(backend, tmp_path)
    made.run("init", "--recipe", "torch-fsdp-lm", str(tmp_path / "novel"))
    made.folder = tmp_path / "novel"
    made.write_profile()
    yield made
    backend.stop()


def test_it_learns_the_text_as_well_as_the_recipe_promises(tmp_path: Path, warm_python: str) -> None:
    place = Place(tmp_path, warm_python, None)
    place.train(1)
    check = yaml.safe_load((RECIPE / "recipe.yaml").read_text())["check"]
    assert place.final()[check["metric"]] <= check["at_most"] == 3.2
    assert place.final()["steps"] == 400


def test_one_and_two_processes_learn_the_text_alike(site: Site) -> None:
    """A study with the same batch of all processes: the same sequences in every step, so only rounding differs."""
    steps = 50
    words = ("--cluster", "lab", "--launcher", "torchrun", "--mode", "strong", "--processes", "1,2", "--wait", "--json")
    short = ("-p", f"steps={steps}", "-p", "checkpoint_every=25")
    found = json.loads(site.run("scale", *words, *short, "--walltime", "01:00:00", seconds=800))
    assert (found["metric"], found["unit"]) == ("tokens_per_s", "tokens/s")
    # so few steps do not reach what the recipe promises
    assert found["checks"]["passed"] is False and len(found["checks"]["runs"]) == 2
    reached = []
    for processes, point in enumerate(found["points"], 1):
        run = Run(site.folder / "runs" / point["runs"][0]["id"], point["runs"][0]["job_id"])
        lines = json_lines(run.path / "metrics" / "rank-0.jsonl")
        final = lines[-1]
        assert final["final"] is True and final["tokens_per_s"] == point["value"]
        assert final["bits_per_byte"] <= 4.3  # how often each byte occurs, alone, leaves 4.5
        assert final["perplexity"] == pytest.approx(2 ** final["bits_per_byte"])
        assert final["gradient_check"] < 1e-6
        assert final["rank_sum"] == processes * (processes + 1) // 2
        assert (final["steps"], final["stopped"]) == (steps, False)
        assert sum(final[f"{name}_share"] for name in ("data", "host", "compute", "other")) == pytest.approx(
            1, abs=1e-4
        )
        unknown = {"communication": "in-compute", "waiting": "in-compute"} if processes > 1 else {}
        assert point["shares"]["unknown"] == unknown
        assert "mfu" not in final
        assert sum(line["tokens"] for line in lines if "tokens" in line) == steps * 16 * 64
        assert [path.name for path in (run.path / "checkpoints").iterdir()] == [f"step-{steps:08d}"]
        written = [event["path"] for event in run.rank_events(0) if event["event"] == "checkpoint"]
        assert written == [f"checkpoints/step-{step:08d}" for step in (25, 50)]
        other = json_lines(run.path / "metrics" / f"rank-{processes - 1}.jsonl")[-1]
        assert other["bits_per_byte"] == final["bits_per_byte"]  # every rank knows the whole test's result
        reached.append(final["bits_per_byte"])
    assert abs(reached[0] - reached[1]) < 0.02


@pytest.mark.parametrize(("planted", "code"), [("1 + 2**-7", 0), ("1 + 2**-4", 1)])
def test_bf16_gradients_may_differ_by_rounding_and_no_more(place: Place, planted: str, code: int) -> None:
    """On a GPU the order of a sum differs: an H100 made 2^-13 of a gradient whose largest entry was below 2^-3."""
    program = place.source / "train.py"
    text, line = program.read_text(), "    difference, largest = check_gradients(model, loss_of, sample, mean)\n"
    assert text.count(line) == 1
    program.write_text(text.replace(line, line.replace("mean)", f"mean * ({planted}))")))
    done = place.train(1, *SMALL, "--steps", "2", "--precision", "bf16", code=code)
    assert ("gradient check failed" in done.stderr) == bool(code)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_without_the_reduce_scatter_it_fails(place: Place, precision: str) -> None:
    """The test of the test: a copy whose gradients are scattered and not added up."""
    program = place.source / "train.py"
    text, line = program.read_text(), "    optimizer = make_optimizer(model, args)\n"
    assert text.count(line) == 1
    program.write_text(text.replace(line, "".join(f"    {each}\n" for each in BROKEN.splitlines()) + line))
    done = place.train(2, *SMALL, "--steps", "5", "--precision", precision, code=1)
    assert "gradient check failed" in done.stderr
    assert place.final()["gradient_check"] > 1e-4
    assert "bits_per_byte" not in place.final() and "tokens_per_s" not in place.final()


@pytest.mark.parametrize("processes", [1, 2])
def test_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path: Path, warm_python: str, processes: int) -> None:
    whole, parts = (Place(tmp_path / name, warm_python) for name in ("whole", "parts"))
    options = (*SMALL, "--steps", "6")
    whole.train(processes, *options)
    parts.stop.write_text(str(time.time() + 60))
    parts.train(processes, *options)
    assert (parts.final()["stopped"], parts.final()["steps"]) == (True, 1)
    assert "bits_per_byte" not in parts.final()
    assert not _same(parts.state()["model"], whole.state()["model"])
    parts.stop.unlink()
    assert "step-00000001: step 1" in parts.train(processes, *options).stdout
    assert _same(parts.state(), whole.state())
    assert parts.final()["bits_per_byte"] == whole.final()["bits_per_byte"]


@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)])
def test_taken_up_by_another_number_of_processes(tmp_path: Path, warm_python: str, first: int, second: int) -> None:
    """The sharded checkpoint of some processes goes on in others; the global batch stays, and so what is learned."""
    whole, parts = (Place(tmp_path / name, warm_python) for name in ("whole", "parts"))

    def options(processes: int) -> tuple[str, ...]:
        return (*SMALL, "--batch-size", str(4 // processes), "--steps", "12", "--lr", "0.001", "--warmup-steps", "4")

    whole.train(second, *options(second))
    parts.stop.touch()
    parts.train(first, *options(first))
    parts.stop.unlink()
    (saved,) = parts.checkpoints()
    assert len(list(saved.glob("*.distcp"))) == first  # each rank wrote its own part
    done = parts.train(second, *options(second))
    assert "step 1" in done.stdout
    assert _near(parts.state(), whole.state())
    assert parts.final()["bits_per_byte"] == pytest.approx(whole.final()["bits_per_byte"], abs=1e-4)


def test_killed_while_training_goes_on_from_its_last_checkpoint(place: Place) -> None:
    process = subprocess.Popen(
        place.argv(1, *SMALL, "--steps", "100000", "--checkpoint-every", "1"), cwd=place.source, env=place.environ,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    for line in process.stdout:
        if line.startswith("step "):
            break
    until(lambda: list((place.run / "checkpoints").glob("step-*/.metadata")), "a checkpoint")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    complete = sorted(path.parent.name for path in (place.run / "checkpoints").glob("step-*/.metadata"))
    assert complete
    more = int(complete[-1].removeprefix("step-")) + 2
    done = place.train(1, *SMALL, "--steps", str(more), "--checkpoint-every", "1")
    assert f"{complete[-1]}: step {more - 2}" in done.stdout
    assert place.final()["steps"] == more
    assert [path.name for path in place.checkpoints() if (path / ".metadata").exists()] == [f"step-{more:08d}"]


def test_accumulated_batches_are_one_large_batch(tmp_path: Path, warm_python: str) -> None:
    large, parts = (Place(tmp_path / name, warm_python) for name in ("large", "parts"))
    small = ("--width", "16", "--heads", "2", "--sequence", "32", "--steps", "4", "--lr", "0.001")
    large.train(2, *small, "--batch-size", "4")
    parts.train(2, *small, "--batch-size", "2", "--accumulate", "2")
    assert _near(large.state(), parts.state())


def test_bf16_recomputing_and_kept_parameters(place: Place) -> None:
    """Options that change how, not what, is computed; bf16 has its own copy to be checked against."""
    options = ("--precision", "bf16", "--recompute", "--keep-gathered", "--fused", "--peak-tflops", "0.5")
    place.train(2, *SMALL, "--steps", "14", "--lr", "0.001", *options)
    final = place.final()
    assert final["gradient_check"] < 1e-6
    assert final["bits_per_byte"] < 8.1
    # 2 layers of width 16, 256 bytes: 6 N + 12 L H Q T
    parameters = 256 * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16
    assert final["flops_per_token"] == 6 * parameters + 12 * 2 * 16 * 32
    assert final["peak_tflops"] == 0.5
    assert final["mfu"] == pytest.approx(final["tokens_per_s"] * final["flops_per_token"] / (2 * 0.5e12))


def test_recomputing_changes_nothing(tmp_path: Path, warm_python: str) -> None:
    kept, again = (Place(tmp_path / name, warm_python) for name in ("kept", "again"))
    kept.train(1, *SMALL, "--steps", "3")
    again.train(1, *SMALL, "--steps", "3", "--recompute")
    assert _same(kept.state()["model"], again.state()["model"])


def test_compiled(tmp_path: Path, warm_python: str) -> None:
    """Blocks and loss are captured and trained in shards; the C++ compiler works in the test of torch-ddp-tuned."""
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        pytest.skip("no C++ compiler")
    plain, compiled = (Place(tmp_path / name, warm_python) for name in ("plain", "compiled"))
    (compiled.source / "captured.py").write_text(CAPTURED)
    program = compiled.source / "train.py"
    text = program.read_text()
    assert text.count("import torch\n") == 1
    program.write_text(text.replace("import torch\n", "import captured\nimport torch\n"))
    options = (*SMALL, "--steps", "3")
    plain.train(1, *options)
    compiled.train(1, *options, "--compile")
    graphs = (compiled.run / "graphs").read_text()
    assert "attention" in graphs and "cross_entropy" in graphs
    assert _near(compiled.state(), plain.state())


def test_synthetic_tokens(place: Place) -> None:
    options = ("--data", "synthetic", "--layers", "1", "--steps", "13", "--checkpoint-every", "0")
    place.train(1, *SMALL, *options)
    assert place.final()["tokens_per_s"] > 0 and "bits_per_byte" not in place.final()


@pytest.mark.mpi
def test_plain_mpirun(place: Place) -> None:
    good(place.mpirun(2, *SMALL, "--steps", "2"))
    assert [place.final(rank)["rank_sum"] for rank in (0, 1)] == [3, 3]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_does_not_end_the_training(place: Place) -> None:
    (place.run / "checkpoints" / "step-00000002").mkdir()
    (place.run / "checkpoints" / "step-00000002" / "__0_0.distcp").symlink_to("/dev/full")
    done = place.train(1, *SMALL, "--steps", "2")
    assert "no checkpoint written" in done.stderr and "No space left" in done.stderr
    assert json.loads((place.run / "events/rank-0.jsonl").read_text().splitlines()[0])["event"] == "warned"
    assert place.final()["steps"] == 2


@pytest.mark.parametrize(
    ("options", "gpus", "words"),
    [
        ({"width": 30, "heads": 4}, 0, "multiple"),
        ({"cpu_offload": True}, 0, "no GPU"),
        ({"cpu_offload": True}, 1, None),
        ({"steps": 0}, 0, "1 or more"),
        ({"peak_tflops": -1.0}, 0, "TFLOPS"),
        ({}, 0, None),
    ],
)
def test_what_can_not_go_together_is_refused(options: dict[str, Any], gpus: int, words: str | None) -> None:
    with imported(NAME, "options") as (module,):
        args = argparse.Namespace(**{**vars(module.parser("").parse_args([])), **options})
        why = module.refusal(module.complete(args), gpus)
    assert why is None if words is None else words in why


def test_refusals_end_with_one_line(place: Place) -> None:
    done = place.train(1, "--heads", "5", code=2)
    assert done.stderr.count("\n") == 1 and "multiple" in done.stderr


def test_models_have_the_known_number_of_parameters() -> None:
    with imported(NAME, "model", "flops") as (model, flops), torch.device("meta"):
        counts = {}
        for name, sizes in model.PRESETS.items():
            net = model.GPT(model.Shape(*sizes, 50257))
            counts[name] = sum(each.numel() for each in net.parameters())
            if name == "gpt2-124m":  # PaLM's formula by hand
                assert flops.flops_per_token(net) == 6 * (124_439_808 - 1024 * 768) + 12 * 12 * 768 * 1024
    del counts["tiny"]
    # as released by OpenAI
    assert list(counts.values()) == [124_439_808, 354_823_168, 774_030_080, 1_557_611_200]


def test_every_byte_is_shared_once(place: Place) -> None:
    """A step's sequences and the text to test with are the same for any number of processes."""
    with imported(NAME, "data") as (data,):
        found = {}
        for world in (1, 2, 3):
            ranks = [data.Text(64, 12 // world, 1, rank, world, torch.device("cpu")) for rank in range(world)]
            steps = torch.cat([tokens for each in ranks for tokens, _ in each.batches(7, 2)])
            passes = [list(each.test(5)) for each in ranks]
            assert len({len(each) for each in passes}) == 1  # shards take every rank
            tests = {tuple(row.tolist()) for each in passes for tokens, _, counted in each for row in tokens[:counted]}
            found[world] = steps, sum(counted for each in passes for *_, counted in each), tests
    for world in (2, 3):
        assert torch.equal(found[world][0], found[1][0])
        assert found[world][1:] == found[1][1:]


def test_the_text_is_the_one_that_the_readme_names() -> None:
    text = (SHARED / "pride-and-prejudice.txt").read_bytes()
    assert len(text) == 684_768 and text.isascii() and text.startswith(b"PRIDE AND PREJUDICE\n\nBy Jane Austen\n")
    assert b"gutenberg" not in text.lower()


def test_recipe_yaml_says_what_train_py_takes() -> None:
    """Names, defaults and choices of the two files agree; and the program stays readable in ten minutes."""
    assert len((RECIPE / "train.py").read_text().splitlines()) <= 200
    declared = yaml.safe_load((RECIPE / "recipe.yaml").read_text())["parameters"]
    with imported(NAME, "options") as (module,):
        actions = [each for each in module.parser("")._actions if each.dest != "help"]
    assert {each.dest for each in actions} == declared.keys()
    for each in actions:
        assert each.default == declared[each.dest]["default"], each.dest
        assert (list(each.choices) if each.choices else None) == declared[each.dest].get("choices"), each.dest
