"""What stands in a run's own program explains a failure, and is not spoken of where it explains none."""

import json
from pathlib import Path

import pytest

from hackathon.diagnosis import diagnose_run
from hackathon.runs.directory import RunDirectory
from hackathon.text.files import write_json
from hackathon.text.messages import LANGUAGES, speaking
from support.recorded_run import RecordedRun

HEAD = "import os, torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n"
STEPS = "for x in data:\n    model(x).sum().backward()\n    dist.all_reduce(grad)\n"
JOIN = 'dist.init_process_group("gloo")\n'
PORT = HEAD + 'os.environ["MASTER_PORT"] = "29511"\n' + JOIN + STEPS
OTHERS_PORT = HEAD + 'os.environ.setdefault("MASTER_PORT", "29511")\n' + JOIN + STEPS
NODE = HEAD + 'os.environ["MASTER_ADDR"] = "localhost"\n' + JOIN + STEPS
SPAWN = (
    HEAD + "def worker(rank, size):\n    dist.init_process_group('gloo', rank=rank, world_size=size)\n"
    "    for x in data:\n        model(x).sum().backward()\n        dist.all_reduce(grad)\n"
    "if __name__ == '__main__':\n    mp.spawn(worker, args=(4,), nprocs=4)\n"
)
CATCH = (
    HEAD + JOIN + "for x in data:\n    try:\n        model(x).sum().backward()\n        dist.all_reduce(grad)\n"
    "    except Exception as error:\n        print('skipped', error)\n"
)
TAKEN = "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: {}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"  # noqa: E501
SILENT = "torch.distributed.DistNetworkError: The client socket has timed out after 4000ms while trying to connect to ({}, {})."  # noqa: E501
LATE = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:83] Timed out waiting 1800000ms for recv operation to complete"  # noqa: E501
OTHER = "ModuleNotFoundError: No module named 'timm'"


def failed(tmp_path: Path, text: str, *lines: str, state: str = "FAILED", command: str = "python train.py") -> Path:
    """Return a run on two nodes that failed with these lines in the log of rank 1."""
    path = tmp_path / "runs/20261121-185440-own-2p-abcdefgh"
    run = RecordedRun(path, 2, ("n1", "n2"), command=command.split(), launcher="torchrun")
    run.program(text)
    run.log(1, *lines)
    write_json(path / "final.json", {"state": state, "cause": "exit", "attempt": 1})
    return path


def told(path: Path) -> tuple[str, str]:
    """Return (rule, place in the program) of the first finding; its texts are whole in both languages."""
    for language in LANGUAGES:
        with speaking(language):
            finding = diagnose_run(RunDirectory(path)).root
            assert finding is None or "{" not in finding.message + finding.advice, finding
    assert finding is not None
    json.dumps(finding.evidence and finding.evidence.text)
    return finding.rule, finding.program if finding.rule.startswith("program-") else ""


@pytest.mark.parametrize(
    ("text", "line", "rule", "place"),
    [
        (PORT, TAKEN.format(29511), "program-own-address", "train.py:4"),
        (NODE, SILENT.format("localhost", 29500), "program-own-address", "train.py:4"),
        (SPAWN, TAKEN.format(29500), "program-starts-ranks", "train.py:10"),
        (CATCH, LATE, "program-swallows-exception", "train.py:9"),
    ],
)
def test_the_line_of_the_program_that_led_to_the_failure(
    tmp_path: Path, text: str, line: str, rule: str, place: str
) -> None:
    assert told(failed(tmp_path, text, line)) == (rule, place)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PORT, OTHER), (NODE, OTHER), (SPAWN, OTHER), (CATCH, OTHER),
        (PORT, LATE.replace("recv", "send")), (NODE, "RuntimeError: CUDA out of memory."),
        (OTHERS_PORT, TAKEN.format(29500)),  # it would have taken this port, but the launcher had given another
        (SPAWN.replace("mp.spawn(worker, args=(4,), nprocs=4)", "worker(int(os.environ['RANK']), 2)"),
         TAKEN.format(29500)),
        (CATCH + "        raise\n", LATE),
        (CATCH.replace("Exception as error", "KeyboardInterrupt as error"), LATE),
    ],
)  # fmt: skip
def test_a_failure_of_something_else_is_not_put_on_the_program(tmp_path: Path, text: str, line: str) -> None:
    assert not told(failed(tmp_path, text, line))[0].startswith("program-")


@pytest.mark.parametrize(("text", "rule"), [(SPAWN, "program-starts-ranks"), (CATCH, "silent-same-loss")])
def test_a_false_success_is_put_on_ranks_that_the_program_starts(tmp_path: Path, text: str, rule: str) -> None:
    path = failed(
        tmp_path,
        text.replace("dist.all_reduce(grad)", "model = torch.nn.parallel.DistributedDataParallel(model)"),
        state="SUCCEEDED",
    )
    for rank in (0, 1):
        lines = (f"step {step} loss {2.3 / (step + 1.1):.4f}" for step in range(12))
        (path / f"logs/rank-{rank}.log").write_text("".join(f"{line}\n" for line in lines))
    assert told(path)[0] == rule


@pytest.mark.parametrize("text", [PORT, SPAWN, CATCH])
def test_a_training_that_takes_too_long_is_not_put_on_the_program(tmp_path: Path, text: str) -> None:
    assert told(failed(tmp_path, text, "step 100 loss 0.3", state="TIMEOUT"))[0] == "job-walltime"


def test_a_run_that_succeeded_and_a_program_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    path = failed(tmp_path / "ended", PORT, TAKEN.format(29511), state="SUCCEEDED")
    assert not [each for each in diagnose_run(RunDirectory(path)).findings if each.rule.startswith("program-")]
    for name, text, command in (
        ("python2", "import torch\nprint 1\n", "python train.py"),
        ("other", PORT, "bash run.sh"),
        ("outside", PORT, "python ../../train.py"),
    ):
        assert told(failed(tmp_path / name, text, TAKEN.format(29511), command=command))[0] == "rendezvous-port-in-use"


def test_a_program_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    path = failed(tmp_path, "", TAKEN.format(29511))
    (tmp_path / "secret.py").write_text(PORT)
    (path / "source/train.py").unlink()
    (path / "source/train.py").symlink_to(tmp_path / "secret.py")
    assert told(path)[0] == "rendezvous-port-in-use"
