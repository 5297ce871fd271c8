"""`check` says whether the processes of a program join each other: nowhere, with an option only, or in any case."""

from pathlib import Path

import pytest

from hackathon.programs.training.read import read_project
from hackathon.programs.training.situation import TrainingSituation

RULES = ("no-process-group", "joins-nothing", "joins-with-option")
LOOP = "model = torch.nn.Linear(2, 2)\nloss = model(x).sum()\nloss.backward()\noptimizer.step()\n"
PARSER = "import argparse, os, torch\nimport torch.distributed as dist\nparser = argparse.ArgumentParser()\n"
WORLD = 'parser.add_argument("--world-size", default=-1, type=int)\nargs = parser.parse_args()\n'

NOWHERE = {
    "a gymnasium": "import gymnasium, torch\n" + LOOP,
    "a pool for its files": "import torch\nfrom multiprocessing import Pool\nPool(2).map(len, names)\n" + LOOP,
    "the size of a terminal": "import os, torch\nwidth = os.popen('stty size').read()\n" + LOOP,
    "a package of graphs": "import torch\nfrom torch_geometric.loader import NeighborLoader\n" + LOOP,
    "engines of a library": "import torch\nfrom ignite.engine import Engine\n" + LOOP,
    "a model of a library with a trainer": "import torch\nfrom transformers import GPT2LMHeadModel\n" + LOOP,
    "a package that nobody knows": "import torch, somebodys\nsomebodys.train(torch.nn.Linear(2, 2))\n",
}
WITH_OPTION = {
    "a world that is asked for": (
        PARSER + WORLD + 'if args.world_size > 1:\n    dist.init_process_group("gloo")\n' + LOOP,
        "--world-size",
    ),
    "by a variable": (
        PARSER
        + WORLD
        + 'distributed = args.world_size > 1\nif distributed:\n    dist.init_process_group("gloo")\n'
        + LOOP,
        "--world-size",
    ),
    "a world that the launcher tells only with another option": (
        PARSER
        + 'parser.add_argument("--dist-url", default="tcp://10.0.0.1:23456")\n'
        + 'parser.add_argument("--multiprocessing-distributed", action="store_true")\n'
        + WORLD
        + 'if args.dist_url == "env://" and args.world_size == -1:\n'
        + '    args.world_size = int(os.environ["WORLD_SIZE"])\n'
        + "args.distributed = args.world_size > 1 or args.multiprocessing_distributed\n"
        + "def worker(gpu, args):\n    if args.distributed:\n        dist.init_process_group(args.backend)\n"
        + "    loss.backward()\nworker(0, args)\n",
        "--multiprocessing-distributed",
    ),
    "a switch, in the function that is called": (
        PARSER
        + 'parser.add_argument("--ddp", action="store_true")\nargs = parser.parse_args()\n'
        + 'def join():\n    dist.init_process_group("nccl")\nif args.ddp:\n    join()\n'
        + LOOP,
        "--ddp",
    ),
    "a parameter that tells the kind of the group": (
        PARSER
        + 'add = parser.add_argument\nadd("-d", "--backend", choices=["gloo"])\nargs = parser.parse_args()\n'
        + "def by_gloo():\n    dist.init_process_group('gloo')\ndef by_file():\n    dist.init_process_group()\n"
        + "def join(kind=None):\n    if kind is None:\n        return\n    elif kind == 'gloo':\n        by_gloo()\n"
        + "join(args.backend)\n"
        + LOOP,
        "--backend",
    ),
}
JOINED = {
    "by a parameter that one call passes": (
        PARSER
        + 'parser.add_argument("--backend")\nargs = parser.parse_args()\n'
        + "def join(kind=None):\n    if kind is not None:\n        dist.init_process_group(kind)\n"
        + "if args.backend:\n    join(args.backend)\nelse:\n    join('gloo')\n"
        + LOOP
    ),
    "in a function that is handed on": (
        PARSER
        + 'parser.add_argument("--backend")\nargs = parser.parse_args()\n'
        + "def join(kind=None):\n    if kind is not None:\n        dist.init_process_group(kind)\n"
        + "join(args.backend)\nlaunch(join)\n"
        + LOOP
    ),
    "always": "import torch\nimport torch.distributed as dist\ndist.init_process_group()\n" + LOOP,
    "by the launcher's variable": (
        "import os, torch\nimport torch.distributed as dist\n"
        "ddp = int(os.environ.get('RANK', -1)) != -1\nif ddp:\n    dist.init_process_group()\n" + LOOP
    ),
    "by an option whose default the launcher gives": (
        PARSER
        + 'parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1)))\n'
        + "args = parser.parse_args()\nif args.local_rank != -1:\n    dist.init_process_group()\n"
        + LOOP
    ),
    "unless an option says otherwise": (
        PARSER
        + 'parser.add_argument("--standalone", action="store_true")\nargs = parser.parse_args()\n'
        + "if not args.standalone:\n    dist.init_process_group()\n"
        + LOOP
    ),
    "in the other branch": (
        PARSER
        + 'parser.add_argument("--cpu", action="store_true")\nargs = parser.parse_args()\n'
        + "if args.cpu:\n    pass\nelse:\n    dist.init_process_group()\n"
        + LOOP
    ),
    "by what it finds on the machine": (
        "import torch\nimport torch.distributed as dist\nif torch.cuda.device_count() > 1:\n"
        "    dist.init_process_group()\n" + LOOP
    ),
    "by a library": "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n" + LOOP,
    "by a part of a library": "import torch\nimport ignite.distributed as idist\n" + LOOP,
    "by the trainer of a library": "import torch\nfrom transformers import GPT2LMHeadModel, Trainer\n" + LOOP,
    "by the helper of a package": (
        "import torch\nfrom timm.utils import init_distributed_device\nimport somebodys\n"
        "init_distributed_device(args)\n" + LOOP
    ),
    "by a rank that it reads": "import os, torch, somebodys\nrank = int(os.environ['SLURM_PROCID'])\n" + LOOP,
    "by the launcher's variables if an option says so, and the command has it": (
        PARSER
        + 'parser.add_argument("--dist-url", default="tcp://127.0.0.1:2345")\n'
        + 'parser.add_argument("--world-size", type=int, default=-1)\nargs = parser.parse_args()\n'
        + 'if args.dist_url == "env://":\n    args.world_size = int(os.environ["WORLD_SIZE"])\n'
        + "if args.world_size > 1:\n    dist.init_process_group()\n"
        + LOOP
    ),
    "a variable that depends on itself": (
        PARSER + WORLD + "n = args.world_size\nn = n + n\nif n:\n    dist.init_process_group()\n" + LOOP
    ),
}


def findings(folder: Path, text: str, command: str = "python train.py") -> dict[str, str]:
    (folder / "train.py").write_text(text)
    situation = TrainingSituation(processes=2, nodes=1, per_node=2)
    reports = read_project(folder, command, situation)
    return {found.rule: found.message for report, _ in reports for found in report.findings if found.rule in RULES}


@pytest.mark.parametrize("kind", NOWHERE)
def test_a_program_of_one_process_is_named_whatever_it_imports(tmp_path: Path, kind: str) -> None:
    found = findings(tmp_path, NOWHERE[kind])
    assert list(found) == ["joins-nothing"]
    assert "hackathon try" in found["joins-nothing"]
    if kind not in ("a package that nobody knows", "engines of a library"):  # `port` knows neither
        assert "hackathon port train.py" in found["joins-nothing"]


@pytest.mark.parametrize("kind", WITH_OPTION)
def test_a_group_that_needs_an_option_is_named_with_it(tmp_path: Path, kind: str) -> None:
    text, option = WITH_OPTION[kind]
    found = findings(tmp_path, text)
    assert list(found) == ["joins-with-option"] and option in found["joins-with-option"]
    assert not findings(tmp_path, text, f"python train.py {option} 2"), "the command has it"
    assert not findings(tmp_path, text, f"python train.py {option}=2"), "the command has it"


@pytest.mark.parametrize("kind", JOINED)
def test_a_program_whose_processes_join_is_left_alone(tmp_path: Path, kind: str) -> None:
    assert not findings(tmp_path, JOINED[kind], "python train.py --dist-url env://")


@pytest.mark.parametrize(
    ("text", "words", "foreign"),
    [
        ("import keras\nmodel = keras.Sequential()\nmodel.fit(x, y)\n", "MultiWorkerMirroredStrategy", "torch"),
        ("import tensorflow as tf\ntf.keras.Sequential().fit(x, y)\n", "MultiWorkerMirroredStrategy", "torch"),
        ("import chainer\nmodel = chainer.links.Linear(2)\nmodel(x).backward()\n", "create_communicator", "torch"),
        ("import torch\n" + LOOP, "DistributedDataParallel", "tf.distribute"),
    ],
)
def test_the_advice_is_that_of_the_programs_framework(tmp_path: Path, text: str, words: str, foreign: str) -> None:
    (tmp_path / "train.py").write_text(text)
    (message,) = [
        finding.message
        for report, _ in read_project(tmp_path, "python train.py", TrainingSituation(processes=2))
        for finding in report.findings
        if finding.rule == "no-process-group"
    ]
    assert words in message and foreign not in message
