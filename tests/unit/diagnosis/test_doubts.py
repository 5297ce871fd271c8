"""Doubts about results: for each a run that has it and a twin that does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.load import load_recipe, shared_files
from hackathon.config.rule_files import load_rule_file
from hackathon.diagnosis import doubts
from hackathon.logs.final import final_numbers
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.doubts import CHECK, SEVERITIES, Doubt
from hackathon.text.messages import LANGUAGES, speaking
from support.paths import ROOT
from support.recorded_run import RecordedRun

PLAIN = "import torch\nfrom helper import Net\nmodel = Net()\nloss = model(torch.zeros(1))\nmodel.eval()\n"
HELPER = "import torch\nimport numpy as np\nclass Net(torch.nn.Linear):\n    pass\n"
FALLING = [2.3026, 1.9034, 1.5172, 1.2089, 0.9417, 0.7702, 0.6513, 0.5604, 0.4991, 0.4423]
Make = Callable[..., RecordedRun]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what makes runs that train well and tell nothing else."""

    def made(processes: int = 2, **record: Any) -> RecordedRun:
        return RecordedRun(tmp_path / f"runs/20261121-185440-own-{processes}p-abcdefgh", processes, **record)

    return made


def judged(run: RecordedRun) -> dict[str, Doubt]:
    """Return id → doubt; each has its texts in both languages and survives being kept."""
    record = RunDirectory(run.path).known()
    found = doubts.judge(run.path, record, final_numbers(run.path, record, over=True)).doubts
    for doubt in found:
        for language in LANGUAGES:
            with speaking(language):
                assert "{" not in doubt.message and doubt.to_json()["severity"] == SEVERITIES[doubt.id]
        kept = {"id": doubt.id, "values": dict(doubt.values), "kind": doubt.kind, "evidence": doubt.evidence}
        assert Doubt.from_json(kept) == doubt
    return {doubt.id: doubt for doubt in found}


def test_limits_are_those_of_the_shipped_rules() -> None:
    rules = {rule.id: rule.thresholds for rule in load_rule_file(ROOT / "templates/rules/silent.yaml")}
    assert rules["silent-same-data"] == doubts.SAME_DATA
    assert rules["silent-same-loss"] == doubts.SAME_LOSS
    assert rules["silent-nan-loss"] == doubts.NAN_LOSS
    assert rules["silent-flat-loss"] == doubts.FLAT_LOSS


@pytest.mark.parametrize(("other", "doubted"), [("aa", True), ("cc", False)])
def test_same_batches_on_all_ranks(make: Make, other: str, doubted: bool) -> None:
    run = make()
    for rank, sums in ((0, ("aa", "bb")), (1, (other, "bb"))):
        run.meter(rank, FALLING)
        run.saw(rank, *sums)
    assert ("identical-ranks" in judged(run)) is doubted


@pytest.mark.parametrize(
    ("program", "shift", "doubted"),
    [
        (PLAIN, 0.0, True),
        (PLAIN, 0.0137, False),
        ("import torch.distributed as dist\ndist.all_reduce(x)\n", 0.0, False),
    ],
)  # fmt: skip
def test_same_losses_on_all_ranks(make: Make, program: str, shift: float, doubted: bool) -> None:
    run = make(4)
    run.program(program)
    for rank in range(4):
        run.log(rank, *(f"step {step} loss: {loss + rank * shift:.4f}" for step, loss in enumerate(FALLING)))
    found = judged(run)
    assert ("identical-ranks" in found) is doubted
    if doubted:
        assert found["identical-ranks"].evidence == "logs/rank-1.log:1"


def command(*words: str) -> dict[str, Any]:
    return {"command": list(words)}


@pytest.mark.parametrize(
    ("files", "record", "doubted"),
    [
        ({"train.py": PLAIN, "helper.py": HELPER}, command("python", "train.py", "--lr", "0.1"), True),
        ({"train.py": PLAIN, "helper.py": HELPER}, command("python3", "-u", "train.py"), True),
        ({"a/train.py": "from . import helper\n", "a/helper.py": HELPER}, command("python", "a/train.py"), True),
        # it joins, itself or by what it imports
        ({"train.py": PLAIN, "helper.py": f"{HELPER}torch.distributed.init_process_group()\n"},
         command("python", "train.py"), False),
        ({"train.py": "from torch.nn.parallel import DistributedDataParallel\n"}, command("python", "train.py"), False),
        ({"train.py": "import horovod.torch as hvd\n"}, command("python", "train.py"), False),
        ({"train.py": "from transformers import Trainer\n"}, command("python", "train.py"), False),
        ({"train.py": "from mpi4py import MPI\n"}, command("python", "train.py"), False),
        ({"train.py": PLAIN + "from utils import join\n", "helper.py": HELPER, "utils/__init__.py": "",
          "utils/join.py": "import torch.distributed\n"}, command("python", "train.py"), False),
        # nobody can say what these do
        ({"train.py": "import mylab\n"}, command("python", "train.py"), False),
        ({"train.py": PLAIN}, command("python", "train.py"), False),
        ({"train.py": "print('hello')\n"}, command("python", "train.py"), False),
        ({"train.py": "import importlib\nimportlib.import_module(name)\n"}, command("python", "train.py"), False),
        ({"train.py": "import os\nrank = os.environ['RANK']\n"}, command("python", "train.py"), False),
        ({"train.py": "def broken(:\n"}, command("python", "train.py"), False),
        ({"train.py": PLAIN, "helper.py": HELPER, "run.sh": "python train.py\n"}, command("bash", "run.sh"), True),
        ({"train.py": PLAIN, "helper.py": HELPER, "run.sh": "set -e\nexport A=1\nexec python -u train.py | tee log\n"},
         command("bash", "run.sh"), True),
        ({"train.py": PLAIN, "helper.py": HELPER, "run.sh": "python train.py\n./more\n"}, command("./run.sh"), False),
        ({"train.py": PLAIN, "helper.py": HELPER, "run.sh": "cd x\npython train.py\n"},
         command("bash", "run.sh"), False),
        ({"train.py": PLAIN, "helper.py": HELPER, "run.sh": "$PYTHON train.py\n"}, command("bash", "run.sh"), False),
        ({"train.py": PLAIN, "helper.py": HELPER}, command("python", "-m", "train"), True),
        ({"train.py": PLAIN, "helper.py": HELPER}, command("python", "-m", "train.py"), False),
        ({"train.py": PLAIN, "helper.py": HELPER}, command("mpirun", "-np", "2", "python", "train.py"), True),
        ({"train.py": PLAIN, "helper.py": HELPER}, command("python", "../train.py"), False),
        ({}, command("python", "train.py"), False),
    ],
)  # fmt: skip
def test_no_group_needs_a_program_that_is_known_whole(
    make: Make, files: dict[str, str], record: dict[str, Any], doubted: bool
) -> None:
    run = make(2, **record)
    for name, text in files.items():
        path = run.path / "source" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = judged(run)
    assert ("no-group" in found) is doubted, found


ONE = "import torch\nmodel = torch.nn.Linear(2, 2)\n"


@pytest.mark.parametrize(
    "text",
    [
        "import sys  # not distributed yet\n",
        "# my trainer\n",
        'print("see https://pytorch.org, RANK is not used")\n',
        '"""Train with one GPU; later with torch.distributed and MPI."""\n',
        "class Trainer:\n    pass\nTrainer()\n",
        "distributed = False\n",
        "import subprocess\n",
        "import subprocess\nsha = subprocess.check_output(['git', 'rev-parse', 'HEAD'])\n",
        "import subprocess as sp\nsp.run('nvidia-smi -L'.split(), stdout=sp.PIPE)\n",
        "import socket\nname = socket.gethostname()\n",
        "from urllib.request import urlretrieve\nurlretrieve('http://example.com/a.npz', 'a.npz')\n",
        "import torch.multiprocessing as mp\nmp.set_sharing_strategy('file_system')\n",
        "import wandb, xarray, netCDF4, tensorboardX, zarr\n",
    ],
)
def test_a_word_in_a_program_that_joins_nothing_hides_no_doubt(make: Make, text: str) -> None:
    run = make(2, **command("python", "train.py"))
    run.program(text + ONE)
    assert "no-group" in judged(run)


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['torchrun', 'inner.py'])\n",
        "from subprocess import run\nrun(f'mpirun -n {n} python inner.py', shell=True)\n",
        "from subprocess import *\nrun('mpirun inner', shell=True)\n",
        "import subprocess\nsubprocess.run('git pull; torchrun inner.py', shell=True)\n",
        "import os\nos.execvp('torchrun', ['torchrun', 'inner.py'])\n",
        "import os\nos.system('torchrun inner.py')\n",
        "import torch.multiprocessing as mp\nmp.spawn(work, nprocs=2)\n",
        "t = torch\nt.distributed.init_process_group()\n",
        "getattr(torch, 'distributed').init_process_group()\n",
        "from torch import distributed as group\n",
        "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n",
        "import keras\nkeras.distribution.initialize()\n",
        "from tensorflow import keras\nkeras.distribution.initialize()\n",
        "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('torchrun', 'inner.py'))\n",
        "from timm.utils import *\ninit_distributed_device(args)\n",
        "import os\nrank = next(os.environ[each] for each in ('RANK', 'OMPI_COMM_WORLD_RANK'))\n",
        "import os\nos.environ.update(RANK=str(number))\n",
        "exec(open('inner.py').read())\n",
        "import runpy\nrunpy.run_path('inner.py')\n",
        "import ctypes\nctypes.CDLL('libmpi.so')\n",
        "import lightning as L\nL.Trainer().fit(m)\n",
        "from accelerate import Accelerator\n",
        "import deepspeed\n",
        "from composer import Trainer\n",
    ],
)
def test_a_program_that_may_join_in_any_way_is_not_doubted(make: Make, text: str) -> None:
    run = make(2, **command("python", "train.py"))
    run.program("import torch\n" + text)
    assert "no-group" not in judged(run)


JOINED = "import torch\nimport torch.distributed as dist\n{seed}dist.init_process_group('gloo'{world})\n{rest}"
SEEDED = "torch.manual_seed(0)\n"
LOADER = "loader = torch.utils.data.DataLoader(data, batch_size={batch}, shuffle=True{sampler})\n"
STREAM = (
    "from torch.utils.data import DataLoader, IterableDataset\nclass Stream(IterableDataset):\n"
    "    def __iter__(self):\n        yield from open('data.txt').readlines(){take}\n"
)
WRAPPED = "model = torch.nn.parallel.DistributedDataParallel(net)\n"


@pytest.mark.parametrize(
    ("world", "seed", "rest", "record", "doubts_"),
    [
        (", rank=0, world_size=1", "", WRAPPED, {}, {"several-worlds"}),
        (", rank=r, world_size=w", "", WRAPPED, {}, set()),
        ("", "", "net(x).sum().backward()\n", {}, {"several-worlds"}),
        ("", "", "net(x).sum().backward()\ndist.all_reduce(net.weight.grad)\n", {}, set()),
        ("", SEEDED, WRAPPED + LOADER.format(batch=32, sampler=""), {}, {"identical-ranks"}),
        ("", "", WRAPPED + LOADER.format(batch=32, sampler=""), {}, set()),
        ("", SEEDED, WRAPPED + LOADER.format(batch=32, sampler=", sampler=s"), {}, set()),
        ("", "", WRAPPED + "mine = batch_size // dist.get_world_size()\n", {"mode": "weak"}, {"work-mismatch"}),
        ("", "", WRAPPED + "mine = batch_size // dist.get_world_size()\n", {"mode": "strong"}, set()),
        ("", "", WRAPPED + "steps = len(data) // (batch_size * dist.get_world_size())\n", {"mode": "weak"}, set()),
        ("", "", WRAPPED + "model.module(x).sum().backward()\n", {}, {"several-worlds"}),
        ("", "", WRAPPED + "model(x).sum().backward()\nprint(model.module(x))\n", {}, set()),
        ("", "", WRAPPED + "net = model.module\nmodel.module(x).sum().backward()\nstep(model)\n", {}, set()),
        ("", "", WRAPPED + STREAM.format(take="") + "loader = DataLoader(Stream())\n", {}, {"identical-ranks"}),
        ("", "", WRAPPED + STREAM.format(take="[rank::2]") + "loader = DataLoader(Stream())\n", {}, set()),
        ("", "", WRAPPED + STREAM.format(take="") + "loader = DataLoader(Stream(part[rank]))\n", {}, set()),
        ("", "", WRAPPED + STREAM.format(take="") + "it = islice(DataLoader(Stream()), a, None, b)\n", {}, set()),
        ("", "", WRAPPED + STREAM.format(take="[randint(0, 3):]") + "loader = DataLoader(Stream())\n", {}, set()),
        # an import alone wraps nothing; what is used under another name does
        (
            "",
            "from torch.nn.parallel import DistributedDataParallel as DDP\n",
            "net(x).sum().backward()\n",
            {},
            {"several-worlds"},
        ),
        ("", "from torch.nn.parallel import DistributedDataParallel as W\n", "W(net)(x).sum().backward()\n", {}, set()),
        # nobody can say what that does
        ("", "", "import mylab\nnet(x).sum().backward()\n", {}, set()),
    ],
)
def test_what_the_text_says_about_ranks_that_do_not_share_the_work(
    make: Make, world: str, seed: str, rest: str, record: dict[str, Any], doubts_: set[str]
) -> None:
    run = make(2, **command("python", "train.py"), **record)
    run.program(JOINED.format(world=world, seed=seed, rest=rest))
    found = judged(run)
    assert set(found) == doubts_
    for doubt in found.values():
        assert doubt.evidence.startswith("source/train.py:")


SPAWNS = """\
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def main(rank, world):
    os.environ["MASTER_ADDR"] = "{address}"
    dist.init_process_group("gloo", rank=rank, world_size=world)
mp.spawn(main, args=(2,), nprocs=2)
"""


@pytest.mark.parametrize(
    ("words", "script", "program", "kind"),
    [
        ("torchrun --standalone --nproc_per_node=2 train.py", "", WRAPPED, "launched"),
        ("torchrun --nproc_per_node=2 train.py", "", WRAPPED, "launched"),
        ("torchrun --nnodes=1 --rdzv-endpoint=localhost:0 --rdzv-backend=c10d train.py", "", WRAPPED, "launched"),
        ("python -m torch.distributed.run --nproc_per_node 2 train.py", "", WRAPPED, "launched"),
        ("bash run.sh", "torchrun --nproc_per_node 2 train.py", WRAPPED, "launched"),
        ("bash run.sh", "if [ $# = 1 ]; then torchrun --nproc_per_node 2 train.py; fi", WRAPPED, None),
        ("bash run.sh", "torchrun --nnodes=$N --rdzv_endpoint=$MASTER_ADDR:29500 train.py", WRAPPED, None),
        ("torchrun --nnodes 2 --node_rank $SLURM_NODEID --master_addr $HOST train.py", "", WRAPPED, None),
        ("bash run.sh", "torchrun $ARGS train.py", WRAPPED, None),
        ("python train.py", "", SPAWNS.format(address="localhost"), "spawned"),
        ("python train.py", "", SPAWNS.format(address="n1"), None),
        ("python train.py", "", SPAWNS.replace("mp.spawn(main, args=(2,), nprocs=2)", "main(0, 2)"), None),
    ],
)
def test_ranks_that_the_program_starts_itself(
    make: Make, words: str, script: str, program: str, kind: str | None
) -> None:
    run = make(2, **command(*words.split()))
    run.program(f"import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n{program}")
    (run.path / "source" / "run.sh").write_text(f"#!/bin/bash\n{script}\n")
    found = judged(run)
    assert {each.kind for each in found.values()} == ({kind} if kind else set()), found
    assert set(found) <= {"several-worlds"} and all("2 processes" in each.message for each in found.values())


UNKNOWN = "import torch\nimport somebodys\nsomebodys.train(torch.nn.Linear(2, 2))\n"


@pytest.mark.parametrize(
    ("groups", "doubt"),
    [
        ([{}, {}], None),
        ([{"world": 0, "collectives": 0}] * 2, ("no-group", "recorded")),
        ([{"world": 1}] * 2, ("several-worlds", "recorded")),
        ([{"collectives": 0}] * 2, ("no-group", "silent")),
        ([{"collectives": 0, "steps": 19}] * 2, None),
        ([{"world": 0, "collectives": 0, "steps": 4}] * 2, None),
        ([{"collectives": None}] * 2, None),
        ([{"collectives": 4, "inside": 0, "plain": 20}] * 2, ("outside-steps", "")),
        ([{"collectives": 4, "inside": 0, "plain": 19}] * 2, None),
        ([{"collectives": 0, "inside": 0, "plain": 20, "others": ["mpi4py"]}] * 2, ("outside-steps", "beside")),
        ([{"collectives": 0, "inside": 0, "plain": 20, "others": ["horovod", "mpi4py"]}] * 2, None),
        ([{"collectives": 9, "inside": 9, "plain": 20, "others": ["mpi4py"]}] * 2, None),
        ([{"collectives": 40, "inside": 20, "plain": 20}] * 2, None),
        ([{"world": 0, "collectives": 0, "others": ["mpi4py"]}] * 2, None),
        ([{"world": 0, "collectives": 0}, {}], None),
        ([{"world": 0, "collectives": 0}], None),  # the other rank has no recording
    ],
)
def test_what_the_recorders_of_all_ranks_saw_decides_whether_they_work_together(
    make: Make, groups: list[dict[str, Any]], doubt: tuple[str, str] | None
) -> None:
    run = make(2)
    run.program(UNKNOWN)
    for rank, group in enumerate(groups):
        run.steps(rank, **group)
    assert [(each.id, each.kind) for each in judged(run).values()] == ([doubt] if doubt else [])


DATA = {
    "size": 320, "epoch": 320, "largest": 8, "lists": [1, 2, 3, 4, 5], "set": 7, "synthetic": False, "divided": False,
    "batches": {"4": 11, "5": 12, "6": 13, "7": 14},
}  # fmt: skip
OTHER_ORDER = {"lists": [9, 8, 7, 6, 5], "batches": {"4": 21, "5": 22, "6": 23, "7": 24}}
EACH_RANK = [{}, OTHER_ORDER]


@pytest.mark.parametrize(
    ("data", "group", "doubt"),
    [
        ([{}, {}], {}, "equal"),
        ([{"epoch": None}] * 2, {}, "equal"),  # the first epoch did not end
        (EACH_RANK, {}, "each"),
        ([{"epoch": 313}, {**OTHER_ORDER, "epoch": 320}], {}, "each"),  # the last batch is dropped
        # the data is divided
        ([{"epoch": 160}, {**OTHER_ORDER, "epoch": 160}], {}, None),
        ([{}, {"set": 8}], {}, None),  # parts of their own
        ([{}, {"size": 321}], {}, None),
        ([{}, {"batches": {"4": 11, "5": 12, "6": 13, "7": 15}}], {}, None),  # equal lists, other samples
        ([{"divided": True}] * 2, {}, None),  # each rank takes a part of the batch
        # not known
        ([{"epoch": None}, {**OTHER_ORDER, "epoch": None}], {}, None),
        ([{"set": None}] * 2, {}, None),
        ([{"batches": {"4": 11, "5": 11, "6": 11, "7": 11}}] * 2, {}, None),  # one batch again and again
        ([{"batches": {"4": 11, "5": 12}}] * 2, {}, None),
        ([{"lists": [1, 2, 3]}] * 2, {}, "each"),
        ([{"synthetic": True}] * 2, {}, None),
        ([{}, None], {}, None),
        # equal data is right, or may be
        ([{}, {}], {"replicas": 0}, None),  # tensor parallelism, a mean that the program takes itself
        ([{}, {}], {"replicas": 1}, None),
        ([{}, {}], {"parts": True}, None),  # groups of tensors or layers besides
        ([{}, {}], {"others": ["torch.distributed.rpc"]}, None),  # parameter servers
        (EACH_RANK, {"others": ["mpi4py"]}, None),
        (EACH_RANK, {"parts": True}, None),
        (EACH_RANK, {"replicas": 0}, None),
        # other doubts say more
        ([{}, {}], {"collectives": 0}, None),
    ],
)
def test_data_that_the_recorders_saw_undivided(
    make: Make, data: list[dict[str, Any] | None], group: dict[str, Any], doubt: str | None
) -> None:
    run = make(2)
    run.program(UNKNOWN)
    for rank, fields in enumerate(data):
        run.steps(rank, data=None if fields is None else {**DATA, **fields}, **group)
    found = judged(run)
    assert [each.kind for each in found.values() if each.id == "undivided-data"] == ([doubt] if doubt else [])
    assert SEVERITIES["undivided-data"] == CHECK


def test_ranks_that_were_seen_to_work_together_are_believed_whatever_the_text_says(make: Make) -> None:
    run = make(2, **command("python", "train.py"))
    run.program("import torch\nmodel = torch.nn.Linear(2, 2)\n")
    assert set(judged(run)) == {"no-group"}
    for rank in range(2):
        run.steps(rank)
    assert judged(run) == {}


def test_a_launcher_in_each_process_may_make_worlds_of_the_runs_size(make: Make) -> None:
    run = make(2, **command("torchrun", "--nproc_per_node=2", "train.py"))
    run.program(f"import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n{WRAPPED}")
    for rank in range(2):
        run.steps(rank)
    assert [(each.id, each.kind) for each in judged(run).values()] == [("several-worlds", "launched")]


@pytest.mark.parametrize(
    ("group", "timed", "kind"),
    [
        ({"collectives": 0, "steps": 19}, 40, "apart"),
        ({"world": 0, "collectives": 0, "steps": 4}, 40, "apart"),
        ({"collectives": 4, "inside": 0, "plain": 1}, 1, "apart"),  # the exchange of an evaluation
        ({"collectives": 4, "inside": 0, "plain": 0}, 40, None),  # each step ends an epoch
        ({"collectives": 40, "inside": 40, "plain": 20}, 40, None),
        ({"collectives": 40, "inside": 40, "plain": 20}, 9, ""),
        ({"collectives": 40, "inside": 40, "plain": 20}, 10, None),
        ({"collectives": None, "others": ["chainermn"]}, 10, None),
        ({"collectives": 0, "steps": 19, "others": ["mpi4py"]}, 40, None),
    ],
)
def test_few_steps_do_not_tell_whether_ranks_train_together_nor_how_fast(
    make: Make, group: dict[str, Any], timed: int, kind: str | None
) -> None:
    run = make(2)
    for rank in (0, 1):
        run.steps(rank, timed=timed, **group)
    doubt = judged(run).get("few-steps")
    assert (doubt.kind if doubt else None) == kind


def test_a_metric_of_the_project_needs_no_number_of_steps(make: Make) -> None:
    run = make(1, metrics={"samples_per_s": {"pattern": "pace: (.*)"}})
    run.log(0, "pace: 3")
    run.steps(0, timed=2)
    assert "few-steps" not in judged(run)


@pytest.mark.parametrize(("printed", "doubted"), [(64, False), (32, False), (130, True), (90, False)])
def test_a_throughput_that_the_recorder_contradicts(make: Make, printed: int, doubted: bool) -> None:
    run = make(2)
    run.program(f"import torch.distributed as dist\ndist.init_process_group('gloo')\n{WRAPPED}")
    run.log(0, *(f"step {n} total throughput {printed} samples/s" for n in range(5)))
    for rank in range(2):
        run.steps(rank)
    assert ("metric-contradicted" in judged(run)) is doubted


@pytest.mark.parametrize(
    ("handler", "line", "doubted"),
    [
        ("print('skipped', error)", "skipped [gloo/transport/tcp/pair.cc:547] Connection closed by peer", True),
        ("traceback.print_exc()", "Traceback (most recent call last):", True),
        ("print('skipped', error)", "step 4 loss 0.5", False),
        ("raise", "Traceback (most recent call last):", False),
    ],
)
def test_a_training_that_ended_in_a_handler(make: Make, handler: str, line: str, doubted: bool) -> None:
    run = make(2, **command("python", "train.py"))
    run.program(
        JOINED.format(world="", seed="import traceback\n", rest=WRAPPED)
        + f"try:\n    model(x).sum().backward()\nexcept Exception as error:\n    {handler}\n"
    )
    run.log(1, "step 3 loss 0.6", line)
    found = judged(run)
    assert set(found) == ({"work-mismatch"} if doubted else set())
    if doubted:
        assert (found["work-mismatch"].kind, found["work-mismatch"].evidence) == ("swallowed", "logs/rank-1.log:2")


@pytest.mark.parametrize(
    ("line", "metrics", "doubted"),
    [
        ("812.0 samples/s", {}, True), ("812.0 samples/s in total", {}, False), ("812.0 samples/s/gpu", {}, False),
        ("3.5 it/s", {}, False), ("loss 0.5", {}, False),
        ("812.0 samples/s", {"samples_per_s": {"pattern": "([0-9.]+) samples/s", "ranks": "sum"}}, False),
    ],
)  # fmt: skip
def test_a_rate_of_which_nobody_says_whose_it_is(make: Make, line: str, metrics: dict[str, Any], doubted: bool) -> None:
    run = make(2, metrics=metrics, **command("python", "train.py"))
    run.log(0, line, line)
    assert set(judged(run)) == ({"unsure-metric"} if doubted else set())


@pytest.mark.parametrize(
    ("times", "doubted"),
    [
        (("1s 9ms", "0s 1ms", "0s 1ms"), True), (("1s 9ms", "0s 4ms"), True), (("2s 9ms", "2s 1ms"), True),
        (("1s 1ms", "0s 12ms"), False), (("0s 1ms", "0s 850us"), False), (("1s 9ms", "0s 5ms"), False),
        (("21s 9ms", "20s 1ms"), False),
    ],
)  # fmt: skip
def test_a_rate_of_one_digit_is_coarse(make: Make, times: tuple[str, ...], doubted: bool) -> None:
    """Keras prints whole milliseconds: `1ms/step` is anything from half of that to one and a half."""
    run = make(1, **command("python", "train.py"))
    epochs = (f"Epoch {n}/9\n94/94 [====] - {told}/step - loss: 0.5" for n, told in enumerate(times, 1))
    run.log(0, *"\n".join(epochs).splitlines())
    assert set(judged(run)) == ({"coarse-metric"} if doubted else set())


def test_one_process_needs_no_group(make: Make) -> None:
    run = make(1, **command("python", "train.py"))
    run.program("import torch\n")
    assert judged(run) == {}


def is_program(path: Path) -> bool:
    return path.parent.name != "shared" and "__main__" in path.read_text()


FOLDERS = ("recipes/*/*.py", "tests/recipes/own_code/*.py", "team_projects/*/*.py")
PROGRAMS = sorted(path for pattern in FOLDERS for path in ROOT.glob(pattern) if is_program(path))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_programs_that_train_together_are_not_doubted(make: Make, program: Path) -> None:
    run = make(2, **command("python", program.name))
    files = [*program.parent.glob("*.py")]
    if (program.parent / "recipe.yaml").is_file():
        files += shared_files(*load_recipe(program.parent)).values()
    for path in files:
        (run.path / "source" / path.name).write_text(path.read_text())
    for rank in range(2):
        run.log(rank, f"rank {rank} of 2, world size 2")
    assert judged(run) == {}


def test_there_are_programs_to_hold_it_to() -> None:
    assert len(PROGRAMS) >= 12


@pytest.mark.parametrize(
    ("lines", "worlds"),
    [
        (["world size: 1"] * 4, "4"),
        (["rank 0 of 1"] * 4, "4"),
        (["Rank 0/1 started", "[rank 0/1]", "rank 0/1", "rank 0/1"], "4"),
        (["world_size=2", "world_size=2", "world_size=2", "world_size=2"], "2"),
        (["world size: 4"] * 4, None),
        (["rank 0 of 10", "rank 1 of 10", "rank 2 of 10", "rank 3 of 10"], None),
        (["world size: 1", "", "", ""], None),
        (["world_size=2", "world_size=2", "", ""], None),
        (["tensor parallel world size: 1, world size: 4"] * 4, None),
        (["local world size: 1"] * 4, None),
        ([f"rank {rank}/4, local rank 0/1" for rank in range(4)], None),
        (["Node rank: 0/1"] * 4, None),
        (["world size 1", "world size 4", "world size 4", "world size 4"], None),
        (["world size: 3"] * 4, None),
    ],
)
def test_several_worlds_by_the_words_of_the_ranks(make: Make, lines: list[str], worlds: str | None) -> None:
    run = make(4)
    for rank, line in enumerate(lines):
        run.log(rank, line)
    found = judged(run).get("several-worlds")
    assert (found.values["worlds"] if found else None) == worlds


@pytest.mark.parametrize(
    ("losses", "doubt"),
    [
        ([2.3, 1.9, float("nan"), float("nan"), float("nan")], "bad-loss"),
        ([2.3026 + 0.0001 * (number % 3) for number in range(20)], "flat-loss"),
        (FALLING, None),
    ],
)
def test_a_loss_that_is_no_training(make: Make, losses: list[float], doubt: str | None) -> None:
    run = make()
    for rank in range(2):
        run.meter(rank, losses)
    assert set(judged(run)) & {"bad-loss", "flat-loss"} == ({doubt} if doubt else set())


@pytest.mark.parametrize(("accuracy", "doubted"), [(0.91, True), (0.95, False), (None, False)])
def test_a_check_that_failed(make: Make, accuracy: float | None, doubted: bool) -> None:
    run = make(check={"metric": "accuracy", "at_least": 0.95, "at_most": None})
    run.meter(0, FALLING)
    if accuracy is not None:
        run.final(accuracy=accuracy)
    found = judged(run)
    assert ("check-failed" in found) is doubted
    if doubted:
        assert dict(found["check-failed"].values) == {"metric": "accuracy", "value": "0.91", "rule": "≥ 0.95"}


@pytest.mark.parametrize(
    ("entry", "first", "doubted"),
    [
        ({"reduce": "mean"}, 20, True),
        ({"reduce": "mean"}, 97, False),
        ({"reduce": "mean", "skip_first": 1}, 20, False),
        ({"reduce": "mean", "unit": "s/step"}, 2000, True),
        ({"reduce": "mean", "unit": "s/step"}, 20, False),
        ({"reduce": "median"}, 20, False),
    ],
)
def test_a_mean_over_the_warm_up(make: Make, entry: dict[str, Any], first: int, doubted: bool) -> None:
    metrics = {"samples_per_s": {"pattern": "throughput: ([0-9.]+)", "unit": "samples/s", **entry}}
    run = make(metrics=metrics)
    run.log(0, *(f"throughput: {value}" for value in (first, 100, 101, 99, 100, 102)))
    assert ("warm-up-included" in judged(run)) is doubted


def test_the_smaller_last_batch_of_an_epoch_is_not_the_work_of_a_step(make: Make) -> None:
    run = make(8)
    run.meter(0, FALLING)  # 512 samples a step, up to step 260
    last = {"t": 1795287600.0, "attempt": 1, "step": 278, "seconds": 1.0}
    run.add("metrics/rank-0.jsonl", last | {"samples": 17 * 512 + 96, "samples_per_s": 8800.0})
    record = RunDirectory(run.path).known()
    assert doubts.judge(run.path, record, final_numbers(run.path, record, over=True)).work == 512


@pytest.mark.parametrize(
    ("log", "bytes_at_end", "doubted"),
    [("loss: 1.0", 10, False), ("loss: 1.0", 7, False), ("loss: 1.0", 3201, True), ("", 10, True), (None, 10, True),
     ("", 0, False), ("", None, False)],
)  # fmt: skip
def test_a_log_that_has_lost_something(make: Make, log: str | None, bytes_at_end: int | None, doubted: bool) -> None:
    """Lines that came after the rank's end are no loss; records of older versions do not say."""
    run = make()
    for rank in range(2):
        run.meter(rank, FALLING)
        run.log(rank, "loss: 1.0")
        more = {} if bytes_at_end is None else {"log_bytes": bytes_at_end if rank else 1}
        run.add(f"events/rank-{rank}.jsonl", {"t": 2.0, "event": "ended", "attempt": 1, "exit_code": 0, **more})
    path = run.path / "logs" / "rank-1.log"
    if log is None:
        path.unlink()
    else:
        path.write_text(f"{log}\n" if log else "")
    found = judged(run)
    assert ("log-cut" in found) is doubted
    if doubted:
        assert found["log-cut"].evidence == "logs/rank-1.log" and found["log-cut"].values["rank"] == "1"
