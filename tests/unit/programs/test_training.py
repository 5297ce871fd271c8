"""`check` and `init` read a team's own program: every rule has a wrong program and its right twin."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.config.load import list_recipes, load_project
from hackathon.programs.training.diff import edited, unified
from hackathon.programs.training.read import read_project
from hackathon.programs.training.rules import MOST, RULES
from hackathon.programs.training.situation import TrainingSituation
from support.paths import ROOT
from support.recipes import copy_recipe

LARGE = TrainingSituation(processes=8, nodes=2, per_node=4, cluster="kumo", visible=("/work",), offline=True)
HEAD = """\
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
"""
JOINED = HEAD + 'dist.init_process_group("nccl")\n'
SETUP = """\
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DDP(Net().cuda(), device_ids=[local_rank])
"""
LOOP = """\
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=32, sampler=sampler)
for epoch in range(10):
    sampler.set_epoch(epoch)
    for x, y in loader:
        model(x).sum().backward()
"""
WRAP = "model = DDP(Net())\n"
DDP = HEAD + SETUP + LOOP
HVD = """\
import torch
import horovod.torch as hvd

hvd.init()
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1))
for x in loader:
    model(x).backward()
    optimizer.step()
"""
AROUND = (
    DDP
    + "def main():\n    for x in loader:\n        model(x).sum().backward()\n"
    + "try:\n    main()\nexcept {} as error:\n    {}\n"
)
ALONE = "import torch\nfrom torch.utils.data import DataLoader\nmodel = torch.nn.Linear(2, 2)\nmodel(x).backward()\n"
STREAM = (
    HEAD
    + "class Lines(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        for line in self.lines:\n"
    + "            yield line\n"
    + SETUP
    + "loader = DataLoader(Lines(), batch_size=32)\nfor x in loader:\n    model(x).sum().backward()\n"
)
SPAWN = (
    HEAD
    + """\
def worker(rank, size):
    dist.init_process_group("nccl", rank=rank, world_size=size)
def main():
    size = torch.cuda.device_count()
    mp.spawn(worker, args=(size,), nprocs=size)
if __name__ == "__main__":
    main()
"""
)


def caught(head: str, handler: str) -> str:
    """Return a program that goes through its steps under a `try`."""
    lines = ("try:", "    model(x).sum().backward()", head, f"    {handler}")
    return DDP.replace("        model(x).sum().backward()\n", "".join(f"        {line}\n" for line in lines))


START = "mp.spawn(worker, args=(size,), nprocs=size)"


def found(
    folder: Path, command: str, files: dict[str, str], situation: TrainingSituation = LARGE
) -> dict[str, list[str]]:
    """Return file → rules found in it; every change is made and must mend what it was proposed for."""
    files = {"project.yaml": f"name: x\ncommand: {command}\n", **files}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    rules: dict[str, list[str]] = {}
    for report, lines in read_project(folder, command, situation):
        for each in report.findings:
            rules.setdefault(report.path, []).append(each.rule)
            if each.edits:
                assert unified(report.path, lines, each.edits), each
                better = "\n".join(edited(lines, each.edits)) + "\n"
                assert better != "\n".join(lines) + "\n"
                if report.dialect == "python":
                    compile(better, report.path, "exec")
    return rules


@pytest.mark.parametrize(
    ("rule", "wrong", "right"),
    [
        ("starts-own-ranks", SPAWN,
         SPAWN.replace(START, "worker(int(os.environ['RANK']), int(os.environ['WORLD_SIZE']))")),
        ("starts-own-ranks", SPAWN, SPAWN.replace("    mp.spawn(", "    if 'RANK' not in os.environ: mp.spawn(")),
        ("starts-own-ranks", SPAWN.replace(START, "mp.Process(target=worker, args=(0, 1)).start()"),
         SPAWN.replace(START, "mp.Process(target=read_ahead).start()")),
        ("own-address", HEAD + 'os.environ["MASTER_PORT"] = "12355"\n' + SETUP + LOOP,
         HEAD + 'os.environ.setdefault("MASTER_PORT", "12355")\n' + SETUP + LOOP),
        ("own-address", HEAD + 'os.environ["MASTER_ADDR"] = "localhost"\n' + SETUP + LOOP,
         HEAD + 'if "MASTER_ADDR" not in os.environ:\n    os.environ["MASTER_ADDR"] = "localhost"\n' + SETUP + LOOP),
        ("own-address", HEAD + 'os.environ["WORLD_SIZE"] = "1"\n' + SETUP + LOOP,
         HEAD + 'os.environ["OMP_NUM_THREADS"] = "1"\n' + SETUP + LOOP),
        ("own-address", DDP.replace('("nccl")', '("nccl", init_method="tcp://localhost:23456", rank=r, world_size=w)'),
         DDP.replace('group("nccl")', 'group("nccl", init_method="env://")')),
        ("own-address", DDP.replace('group("nccl")', 'group("nccl", init_method="tcp://127.0.0.1:29500")'),
         DDP.replace('group("nccl")', 'group("nccl", init_method=args.url)')),
        ("devices-in-program", HEAD + 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' + SETUP + LOOP,
         HEAD + 'os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]\n' + SETUP + LOOP),
        ("one-gpu", JOINED + 'model = DDP(Net().to("cuda:0"))\n' + LOOP,
         JOINED + 'model = DDP(Net().to(f"cuda:{os.environ[\'LOCAL_RANK\']}"))\n' + LOOP),
        ("one-gpu", JOINED + 'model = DDP(Net().cuda(0))\n' + LOOP,
         JOINED + 'model = DDP(Net())\nstate = torch.load("a.pt", map_location="cuda:0")\n' + LOOP),
        ("one-gpu",
         JOINED + 'dev = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")\nmodel = DDP(Net())\n' + LOOP,
         JOINED + 'torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())\nmodel = DDP(Net())\n' + LOOP),
        ("global-rank-as-gpu", DDP.replace('int(os.environ["LOCAL_RANK"])', "dist.get_rank()"), DDP),
        ("global-rank-as-gpu", JOINED + 'rank = int(os.environ["RANK"])\nmodel = DDP(Net().to(rank))\n' + LOOP,
         JOINED + 'rank = int(os.environ["RANK"])\ngpu = rank % 4\nmodel = DDP(Net().to(gpu))\n' + LOOP),
        ("no-sampler", HEAD + SETUP + "loader = DataLoader(data, batch_size=32, shuffle=True)\n",
         HEAD + SETUP + "loader = DataLoader(data, batch_size=32, sampler=DistributedSampler(data, shuffle=False))\n"),
        ("no-sampler", HEAD.replace("from torch.utils.data.distributed import DistributedSampler\n", "")
         + SETUP + "loader = DataLoader(data, shuffle=True, num_workers=4)\n",
         HEAD + SETUP + "loader = DataLoader(data, shuffle=False, num_workers=4)\n"),
        ("no-sampler",
         "import horovod.torch as hvd\nimport torch\nfrom torch.utils.data import DataLoader\nhvd.init()\n"
         "opt = hvd.DistributedOptimizer(opt)\nloader = DataLoader(data, shuffle=True)\n",
         "import horovod.torch as hvd\nimport torch\nfrom torch.utils.data import DataLoader\nhvd.init()\n"
         "opt = hvd.DistributedOptimizer(opt)\n"
         "loader = DataLoader(data.shard(hvd.size(), hvd.rank()), shuffle=True)\n"),
        ("same-data", HEAD + SETUP + "torch.manual_seed(0)\nloader = DataLoader(data, batch_size=32, shuffle=True)\n",
         HEAD + SETUP + "torch.manual_seed(0)\nsampler = DistributedSampler(data, shuffle=False)\n"),
        ("fixed-world", HEAD + 'dist.init_process_group("gloo", rank=0, world_size=1)\n' + WRAP + LOOP,
         HEAD + 'dist.init_process_group("gloo", rank=r, world_size=int(os.environ["WORLD_SIZE"]))\n' + WRAP + LOOP),
        ("fixed-world",
         HEAD + 'dist.init_process_group("gloo", init_method="env://", world_size=1, rank=0)\n' + WRAP + LOOP,
         HEAD + 'if alone:\n    dist.init_process_group("gloo", world_size=1, rank=0)\n' + WRAP + LOOP),
        ("not-averaged", "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n" + ALONE,
         "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n" + ALONE
         + "for p in model.parameters():\n    dist.all_reduce(p.grad)\n"),
        ("not-averaged", "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n" + ALONE,
         "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"
         + ALONE.replace("model(x).backward()", "print(model(x))")),
        ("around-wrapper", DDP.replace("        model(x)", "        model.module(x)"), DDP),
        ("around-wrapper", DDP.replace("        model(x)", "        model.module(x)"),
         DDP.replace("        model(x)", "        model.module(x)") + "def other(x):\n    return model(x)\n"),
        ("same-stream", STREAM, STREAM.replace("lines:", "lines[self.rank :: self.world]:")),
        ("same-stream", STREAM, STREAM.replace("Lines()", "Lines(rank)")),
        ("same-stream", STREAM.replace("for line", "torch.manual_seed(0)\n        torch.randn(2)\n        for line"),
         STREAM.replace("for line", "torch.randn(2)\n        for line")),
        ("divided-batch", DDP + "mine = batch_size // dist.get_world_size()\n",
         DDP + "steps = len(data) // (batch_size * dist.get_world_size())\n"),
        ("divided-batch", DDP + "mine = train_batch_size // world_size\n",
         DDP + "mean = batch_loss / dist.get_world_size()\nturns = num_batches // world_size\n"
         "batch_center = batch_center / (n * world_size)\n"),
        ("divided-batch", DDP + "args.batch_size = int(args.batch_size / world_size)\n",
         DDP + "rate = batch_size * world_size / seconds\n"),
        ("swallowed-exception", caught("except Exception as error:", "print('skipped', error)"),
         caught("except Exception as error:", "print('skipped', error)\n            raise")),
        ("swallowed-exception", caught("except:", "pass"), caught("except:", "break")),
        ("swallowed-exception", caught("except (OSError, ValueError):", "optimizer.zero_grad()"),
         caught("except KeyboardInterrupt:", "print('stopped')")),
        ("swallowed-exception", caught("except torch.cuda.OutOfMemoryError:", "torch.cuda.empty_cache()"),
         caught("except torch.cuda.OutOfMemoryError:", "give_up()")),
        ("swallowed-exception", AROUND.format("Exception", "traceback.print_exc()"),
         AROUND.format("Exception", "sys.exit(1)")),
        ("swallowed-exception", AROUND.format("RuntimeError", "logger.exception('failed')"),
         AROUND.format("StopTraining", "logger.info('early stop')")),
        ("one-rank-collective", DDP + "if dist.get_rank() == 0:\n    dist.barrier()\n",
         DDP + "if dist.get_rank() == 0:\n    print(1)\ndist.barrier()\n"),
        ("one-rank-collective", DDP + "if rank == 0 and done:\n    print(1)\n    dist.all_reduce(loss)\n",
         DDP + "if rank == 0:\n    dist.broadcast(x, 0)\nelse:\n    dist.broadcast(y, 0)\n"),
        ("one-rank-collective", DDP + "if not args.local_rank:\n    dist.barrier()\n",
         DDP + "if args.local_rank > 0:\n    dist.barrier()\nload()\nif args.local_rank == 0:\n    dist.barrier()\n"),
        ("one-rank-collective", DDP + "if is_main_process():\n    dist.all_gather_object(parts, part)\n",
         DDP + "if is_main_process():\n    dist.all_gather_object(parts, part, group)\n    dist.barrier(group=some)\n"
         "    dist.send(x, 1)\n    spark.broadcast(x)\n"),
        ("one-rank-collective", DDP + "def store():\n    save()\n    dist.barrier()\nif int(os.environ['RANK']) == 0:\n"
         "    store()\n",
         DDP + "def store():\n    save()\n    dist.barrier()\nif rank == 0:\n    store()\nelse:\n    store()\n"),
        ("one-rank-collective", DDP + "def store():\n    dist.barrier()\nif rank == 0:\n    store()\n",
         DDP + "def store():\n    if world == 1:\n        return\n    dist.barrier()\nif rank == 0:\n    store()\n"
         "if rank == 0:\n    def later():\n        dist.barrier()\n"),
        ("one-rank-collective", HVD + "if hvd.rank() == 0:\n    total = hvd.allreduce(loss)\n",
         HVD + "total = hvd.allreduce(loss)\nif hvd.rank() == 0:\n    print(total)\n"),
        ("no-set-epoch", DDP.replace("    sampler.set_epoch(epoch)\n", ""), DDP),
        ("no-set-epoch", DDP.replace("    sampler.set_epoch(epoch)\n", ""),
         DDP.replace("    sampler.set_epoch(epoch)\n", "").replace("Sampler(data)", "Sampler(data, shuffle=False)")),
        ("save-on-every-rank", DDP + 'torch.save(model.state_dict(), "last.pt")\n',
         DDP + 'if dist.get_rank() == 0:\n    torch.save(model.state_dict(), "last.pt")\n'),
        ("save-on-every-rank", DDP + '    if epoch % 5 == 0:\n        torch.save(model.state_dict(), f"{epoch}.pt")\n',
         DDP + '    if epoch % 5 == 0 and local_rank == 0:\n        torch.save(model.state_dict(), f"{epoch}.pt")\n'),
        ("save-on-every-rank", DDP + 'def keep(epoch):\n    torch.save(model.state_dict(), "x.pt")\nkeep(1)\n',
         DDP + 'def keep(epoch):\n    torch.save(model.state_dict(), "x.pt")\nif is_main():\n    keep(1)\n'),
        ("save-on-every-rank", DDP + 'torch.save(model.state_dict(), "last.pt")\n',
         DDP + 'rank = dist.get_rank()\npath = f"part-{rank}.pt"\ntorch.save(model.state_dict(), path)\n'),
        ("save-on-every-rank", DDP + 'def end():\n    torch.save(model.state_dict(), "last.pt")\nend()\n',
         DDP + 'def end():\n    if dist.get_rank() != 0:\n        return\n'
         '    torch.save(model.state_dict(), "last.pt")\nend()\n'),
        ("path-not-visible", DDP + 'data = load("/home/kato/data/train.npz")\n',
         DDP + 'data = load("/work/kato/train.npz")\n'),
        ("download-in-job",
         "from torchvision.datasets import CIFAR10\nimport horovod\ndata = CIFAR10('d', download=True)\n",
         "from torchvision.datasets import CIFAR10\nimport horovod\ndata = CIFAR10('d', download=False)\n"),
        ("download-in-job",
         "from transformers import AutoModel, Trainer\nm = AutoModel.from_pretrained('bert-base-uncased')\n",
         "from transformers import AutoModel, Trainer\nm = AutoModel.from_pretrained('./models/bert')\n"),
        ("download-in-job",
         "from datasets import load_dataset\nfrom transformers import Trainer\nd = load_dataset('imdb')\n",
         "from datasets import load_dataset\nfrom transformers import Trainer\nd = load_dataset('csv')\n"),
        ("no-process-group", ALONE, DDP),
        ("unreadable", "import torch\nprint 'Python 2'\n", "import horovod\nprint('Python 3')\n"),
    ],
)  # fmt: skip
def test_a_wrong_program_and_its_right_twin(tmp_path: Path, rule: str, wrong: str, right: str) -> None:
    assert found(tmp_path, "python train.py", {"train.py": wrong}) == {"train.py": [rule]}
    assert found(tmp_path, "python train.py", {"train.py": right}) == {}


@pytest.mark.parametrize(
    ("command", "better", "key"),
    [
        ("torchrun --nproc_per_node 4 train.py --lr {lr}", "python train.py --lr {lr}", "torchrun"),
        ("torchrun --standalone --nproc-per-node=4 -m lab.train", "python -m lab.train", "torchrun"),
        ("python -m torch.distributed.run --nproc_per_node=4 train.py", "python train.py", "torchrun"),
        ("python -m torch.distributed.launch --nproc_per_node=4 --use_env train.py", "python train.py", "torchrun"),
        ("python -m torch.distributed.launch --nproc_per_node=4 train.py", None, "torchrun"),
        ("mpirun -np 4 --bind-to none python train.py", "python train.py", "mpirun"),
        ("mpiexec -n 4 python -u train.py", "python -u train.py", "mpirun"),
        ("srun -N2 --ntasks=8 --gres=gpu:4 python train.py", "python train.py", "srun"),
        ("accelerate launch --num_processes 4 --multi_gpu train.py", "python train.py", "torchrun"),
        ("deepspeed --num_gpus 4 train.py --deepspeed ds.json", "python train.py --deepspeed ds.json", "torchrun"),
        ("horovodrun -np 4 -H localhost:4 python train.py", "python train.py", "horovodrun"),
        # an option that does more: a person has to decide
        ("mpirun -np 4 -x NCCL_DEBUG=INFO python train.py", None, "mpirun"),
        ("accelerate launch --mixed_precision bf16 train.py", None, "torchrun"),
        ("torchrun", None, "torchrun"),
    ],
)
def test_a_launcher_in_the_command(tmp_path: Path, command: str, better: str | None, key: str) -> None:
    (tmp_path / "train.py").write_text(DDP)
    (tmp_path / "project.yaml").write_text(f"name: x\ncommand: {command}\n")
    ((report, lines),) = read_project(tmp_path, command, LARGE)
    (finding,) = report.findings
    assert (finding.rule, finding.line, finding.severity) == ("launcher-in-command", 2, "error")
    assert f"launcher: {key}" in finding.message
    assert finding.replacement == (better and f"command: {better}\nlauncher: {key}")
    if better:
        assert not read_project(tmp_path, better, LARGE)
        assert unified("project.yaml", lines, finding.edits)[-1] == f"+launcher: {key}"


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        ("python trian.py", {"train.py": DDP}, {"project.yaml": ["file-missing"]}),
        ("python {program}", {}, {}),
        ("python /somewhere/else.py", {}, {}),
        ("bash run.sh", {}, {"project.yaml": ["file-missing"]}),
        ("./run.sh", {"run.sh": "python train.py\n", "train.py": DDP}, {"project.yaml": ["not-executable"]}),
        ("./venv/bin/python train.py", {"train.py": DDP}, {}),
        ("python -m lab.train", {"lab/train.py": ALONE, "lab/__init__.py": ""}, {"lab/train.py": ["no-process-group"]}),
        ("python -m lab",
         {"lab/__main__.py": "from lab import engine\n", "lab/__init__.py": "", "lab/engine.py": SPAWN},
         {"lab/engine.py": ["starts-own-ranks"]}),
        ("python -m somebody.else", {}, {}),
        ("bash run.sh",
         {"run.sh": "torchrun --nproc_per_node 4 train.py\n", "train.py": DDP}, {"run.sh": ["launcher-in-script"]}),
        ("bash run.sh", {"run.sh": "python train.py\n", "train.py": DDP}, {}),
        ("bash run.sh", {"run.sh": "python train.py\n", "train.py": ALONE}, {"train.py": ["no-process-group"]}),
        ("bash run.sh",
         {"run.sh": "export MASTER_PORT=29500\npython train.py\n", "train.py": DDP}, {"run.sh": ["address-in-script"]}),
        ("bash run.sh", {"run.sh": "export MASTER_PORT=${MASTER_PORT:-29500}\npython train.py\n", "train.py": DDP}, {}),
        ("bash run.sh",
         {"run.sh": "export CUDA_VISIBLE_DEVICES=0,1\npython train.py\n", "train.py": DDP},
         {"run.sh": ["devices-in-script"]}),
        ("bash run.sh", {"run.sh": "export CUDA_VISIBLE_DEVICES=$LOCAL_RANK\npython train.py\n", "train.py": DDP}, {}),
        ("bash run.sh", {"run.sh": "cd /work/kato/x\npython train.py\n"}, {"run.sh": ["folder-in-script"]}),
        ("bash run.sh", {"run.sh": "cd \"$(dirname \"$0\")\"\npython train.py\n"}, {}),
        ("bash run.sh",
         {"run.sh": "pip install timm\npython train.py\n", "train.py": DDP}, {"run.sh": ["download-in-job"]}),
        ("bash run.sh",
         {"run.sh": "if [ -z \"$RANK\" ]; then\n  torchrun train.py\nelse\n  python train.py\nfi\n", "train.py": DDP},
         {}),
        ("python train.py --data /home/kato/images", {"train.py": DDP}, {"project.yaml": ["path-not-visible"]}),
        ("python 'unclosed", {}, {}),
        ("python train.py -m torch.distributed.run", {"train.py": DDP}, {}),
        ("accelerate config", {}, {}),
        ("bash -c 'torchrun train.py'", {}, {}),
    ],
)  # fmt: skip
def test_commands_and_scripts(
    tmp_path: Path, command: str, files: dict[str, str], expected: dict[str, list[str]]
) -> None:
    if "venv" in command:
        files = {**files, "venv/bin/python": ""}
    assert found(tmp_path, command, files) == expected


RIGHT = {
    "trainer class": HEAD + """
class Trainer:
    def __init__(self, model, data, snapshot):
        self.gpu = int(os.environ["LOCAL_RANK"])
        self.rank = int(os.environ["RANK"])
        self.data = data
        self.model = DDP(model.to(self.gpu), device_ids=[self.gpu])
        if os.path.exists(snapshot):
            torch.load(snapshot, map_location=f"cuda:{self.gpu}")
    def _epoch(self, epoch):
        self.data.sampler.set_epoch(epoch)
        print(f"[GPU{self.rank}] epoch {epoch}")
    def _save(self, epoch):
        torch.save(self.model.module.state_dict(), "snapshot.pt")
    def train(self, most):
        for epoch in range(most):
            self._epoch(epoch)
            if self.gpu == 0 and epoch % 3 == 0:
                self._save(epoch)
def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    data = DataLoader(dataset, batch_size=32, shuffle=False, sampler=DistributedSampler(dataset))
    Trainer(net, data, "snapshot.pt").train(10)
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
""",
    "both ways": HEAD + """
def worker(gpu, per_node, args):
    if args.distributed:
        if args.url == "env://" and args.rank == -1:
            args.rank = int(os.environ["RANK"])
        dist.init_process_group(backend=args.backend, init_method=args.url, world_size=args.world, rank=args.rank)
    if args.gpu is not None:
        torch.cuda.set_device(args.gpu)
        model.cuda(args.gpu)
        model = DDP(model, device_ids=[args.gpu])
    sampler = DistributedSampler(train) if args.distributed else None
    loader = DataLoader(train, batch_size=32, shuffle=(sampler is None), sampler=sampler)
    for epoch in range(args.start, args.epochs):
        if args.distributed:
            sampler.set_epoch(epoch)
        if not args.distributed or (args.distributed and args.rank % per_node == 0):
            save({"epoch": epoch}, True)
def save(state, best, name="checkpoint.pth.tar"):
    torch.save(state, name)
def main():
    if args.distributed:
        args.world = torch.cuda.device_count() * args.world
        mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(4, args))
    else:
        worker(args.gpu, 4, args)
main()
""",
    "one script for one or many": """
import os, torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed import init_process_group, destroy_process_group
device = "cuda:0"
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="nccl")
    local = int(os.environ["LOCAL_RANK"])
    device = f"cuda:{local}"
    torch.cuda.set_device(device)
    master = int(os.environ["RANK"]) == 0
else:
    master = True
model.to(device)
if ddp:
    model = DDP(model, device_ids=[local])
while True:
    if step % every == 0 and master:
        if best or always:
            torch.save(checkpoint, os.path.join(out, "ckpt.pt"))
    step += 1
""",
    "horovod": """
import horovod.torch as hvd
import torch
from torchvision import datasets
hvd.init()
torch.cuda.set_device(hvd.local_rank())
data = datasets.MNIST("data-%d" % hvd.rank(), train=True, download=False)
sampler = torch.utils.data.distributed.DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
loader = torch.utils.data.DataLoader(data, batch_size=64, sampler=sampler)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size()))
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
def train(epoch):
    sampler.set_epoch(epoch)
    for number, (x, y) in enumerate(loader):
        print("Train Epoch: {} Loss: {:.6f}".format(epoch, 0.1))
for epoch in range(1, 10):
    train(epoch)
if hvd.rank() == 0:
    torch.save(model.state_dict(), "model.pt")
""",
    "horovod keras": """
import horovod.tensorflow.keras as hvd
import tensorflow as tf
hvd.init()
gpus = tf.config.experimental.list_physical_devices("GPU")
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")
opt = hvd.DistributedOptimizer(tf.optimizers.Adam(0.001 * hvd.size()))
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("./checkpoint-{epoch}.h5"))
model.fit(data, steps_per_epoch=500 // hvd.size(), callbacks=callbacks)
""",
    "chainermn": """
import chainer, chainermn
comm = chainermn.create_communicator("pure_nccl")
device = comm.intra_rank
chainer.cuda.get_device_from_id(device).use()
optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
train = chainermn.scatter_dataset(train, comm, shuffle=True)
if comm.rank == 0:
    trainer.extend(extensions.PrintReport(["epoch", "main/loss"]))
trainer.run()
""",
    "keras workers": """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = build()
model.fit(data, epochs=3)
""",
    "hugging face": """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
def main():
    model = AutoModelForCausalLM.from_pretrained("./model")
    trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=data)
    trainer.train()
    trainer.save_model()
main()
""",
    "accelerate": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
loader = DataLoader(data, shuffle=True, batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).loss)
torch.save(model.state_dict(), "x.pt")
""",
    "lightning": """
import lightning as L
from torch.utils.data import DataLoader
trainer = L.Trainer(devices=4, num_nodes=2, strategy="ddp", accelerator="gpu")
trainer.fit(model, DataLoader(data, shuffle=True))
""",
    "deepspeed": """
import deepspeed, torch
deepspeed.init_distributed()
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, training_data=data)
for epoch in range(3):
    for x, y in loader:
        engine.backward(engine(x)); engine.step()
""",
    "fsdp": HEAD.replace("from torch.nn.parallel import DistributedDataParallel as DDP\n", "") + """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = FSDP(net, device_id=torch.cuda.current_device())
state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
""",
    "one per node with spawn for loading": HEAD + SETUP + LOOP + "mp.set_start_method('spawn')\n",
    "save on master": HEAD + SETUP + LOOP + """
def save_on_master(*args, **kwargs):
    if is_main_process():
        torch.save(*args, **kwargs)
save_on_master({"model": 1}, "model.pth")
""",
    "stream": HEAD + SETUP + """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from lines[dist.get_rank()::dist.get_world_size()]
loader = DataLoader(Stream(), batch_size=32)
""",
    "logger": HEAD + SETUP + LOOP + """
def log(text, rank=dist.get_rank()):
    if rank == 0:
        print(text)
""",
    "no rank but a flag": HEAD + SETUP + LOOP + """
keep = dist.get_rank() == 0
if keep:
    torch.save(model.state_dict(), "model.pth")
""",
    "given to a function": HEAD + SETUP + LOOP + """
def end(path):
    torch.save(model.state_dict(), path)
end(f"{dist.get_rank()}.pth")
""",
    "mpi": "from mpi4py import MPI\nimport torch\ncomm = MPI.COMM_WORLD\n"
    "model = torch.nn.Linear(2, 2)\nmodel(x).backward()\n",
    "ranks by mpi": HEAD + """
os.environ["MASTER_ADDR"] = comm.bcast(socket.gethostname())
os.environ["MASTER_PORT"] = str(port)
os.environ["RANK"] = str(comm.rank)
""" + SETUP + LOOP,
    "unknown data": HEAD + SETUP + "import mylab\nloader = mylab.wrap(DataLoader(data, shuffle=True))\n",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("situation", [TrainingSituation(), LARGE], ids=["unknown", "large"])
def test_right_programs_have_no_findings(tmp_path: Path, name: str, situation: TrainingSituation) -> None:
    assert found(tmp_path, "python train.py", {"train.py": RIGHT[name]}, situation) == {}


def test_the_projects_own_programs_have_no_findings(tmp_path: Path) -> None:
    recipes, _ = list_recipes()
    places = [(copy_recipe(each.name, tmp_path / each.name), f"python {each.entry}") for each in recipes]
    places.append((ROOT / "team_projects" / "own-code", "python train_digits.py --lr {lr}"))
    assert len(places) >= 10
    for folder, command in places:
        for situation in (TrainingSituation(), LARGE):
            assert read_project(folder, command, situation) == [], folder


@pytest.mark.parametrize("seed", ["dist.get_rank()", "args.seed", "0 + local_rank"])
def test_a_seed_that_may_differ_between_ranks_makes_no_same_data(tmp_path: Path, seed: str) -> None:
    text = HEAD + SETUP + f"torch.manual_seed({seed})\nloader = DataLoader(data, shuffle=True)\n"
    assert found(tmp_path, "python train.py", {"train.py": text}) == {"train.py": ["no-sampler"]}


INSIGHT = """
try:
    rank = int(os.environ["RANK"])
    dist.init_process_group("nccl")
except KeyError:
    rank = 0
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:12584", rank=rank, world_size=1)
"""
SPAWN_ALL = (
    HEAD
    + """\
def worker(rank, size):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("nccl", init_method="tcp://localhost:2345", rank=rank, world_size=size)
    run()
def spawn_all():
    size = torch.cuda.device_count()
    os.environ["MASTER_PORT"] = "12355"
    mp.spawn(worker, args=(size,), nprocs=size)
def alone():
    dist.init_process_group("gloo", rank=0, world_size=1)
def run():
    model = DDP(Net())
"""
)
BOTH = "spawn_all() if os.cpu_count() > 2 else alone()\n"


@pytest.mark.parametrize(
    "start",
    [
        'if "RANK" in os.environ:\n    run()\nelif x:\n    alone()\nelse:\n    spawn_all()\n',
        'def main():\n    if "RANK" not in os.environ:\n        ' + BOTH + "    else:\n        run()\nmain()\n",
        "launched = 'LOCAL_RANK' in os.environ\nif not launched:\n    " + BOTH,
        "rank = int(os.environ.get('RANK', -1))\nif rank == -1:\n    " + BOTH,
        "def begin():\n    " + BOTH + "if dist.is_torchelastic_launched():\n    run()\nelse:\n    begin()\n",
        "def main():\n    if os.getenv('OMPI_COMM_WORLD_RANK'):\n        run()\n        return\n    "
        + BOTH
        + "main()\n",
        "try:\n    run(os.environ['RANK'])\nexcept KeyError:\n    " + BOTH,
        "args = parser.parse_args()\nif args.spawn:\n    " + BOTH,
    ],
)
@pytest.mark.parametrize("situation", [TrainingSituation(), LARGE], ids=["unknown", "large"])
def test_a_way_for_a_start_without_launcher_is_no_mistake(
    tmp_path: Path, start: str, situation: TrainingSituation
) -> None:
    assert found(tmp_path, "python train.py", {"train.py": SPAWN_ALL + start}, situation) == {}
    assert found(tmp_path, "python train.py", {"train.py": HEAD + INSIGHT + WRAP + LOOP}, situation) == {}


@pytest.mark.parametrize(
    "start",
    [
        "spawn_all()\nalone()\n",
        'if __name__ == "__main__":\n    spawn_all()\n    alone()\n',
        "def main():\n    spawn_all()\n    alone()\nif args.train:\n    main()\n",
        "if torch.cuda.device_count() > 1:\n    spawn_all()\nalone()\n",
        "world_size = int(os.environ.get('WORLD_SIZE', 1))\nif world_size > 1:\n    spawn_all()\nalone()\n",
        "rank = int(os.environ['RANK'])\ndef main():\n    spawn_all()\n    alone()\nif rank == 0:\n    main()\n",
        # one of two ways there asks nothing
        'if "RANK" not in os.environ:\n    spawn_all()\n    alone()\nspawn_all()\nalone()\n',
    ],
)
def test_ranks_that_are_started_in_any_case_are_a_mistake(tmp_path: Path, start: str) -> None:
    rules = found(tmp_path, "python train.py", {"train.py": SPAWN_ALL + start})["train.py"]
    expected = ["own-address", "own-address", "own-address", "starts-own-ranks", "fixed-world"]
    if "if torch" in start or "world_size > 1" in start:
        assert "starts-own-ranks" in rules
    else:
        assert sorted(rules) == sorted(expected)


@pytest.mark.parametrize(
    "share",
    [
        "x = np.array_split(x, world)[rank]\ndata = TensorDataset(x)\n",
        "data = TensorDataset(x[rank * n : (rank + 1) * n])\n",
        'x = np.load(f"shard_{rank}.npz")["x"]\ndata = TensorDataset(torch.tensor(x))\n',
        'x = np.load("shard_%d.npz" % dist.get_rank())\ndata = TensorDataset(x)\n',
        'x = np.load("shard_{}.npz".format(rank))\ndata = TensorDataset(x)\n',
        'data = ImageFolder(os.path.join("train", str(rank)))\n',
        "low = dist.get_rank() * n\nx, y = x[low : low + n], y[low : low + n]\ndata = TensorDataset(x, y)\n",
        "data = [x[i] for i in range(rank, len(x), world)]\n",
        'def load():\n    return np.load(f"shard_{rank}.npz")\ndata = TensorDataset(load())\n',
        "class Mine(torch.utils.data.Dataset):\n    def __init__(self, x):\n        n = len(x) // world\n"
        "        self.x = x[rank * n : (rank + 1) * n]\ndata = Mine(x)\n",
        "data.samples = data.samples[rank * n : (rank + 1) * n]\n",
        "me = int(os.environ['SLURM_PROCID'])\ndata = files[me * n : me * n + n]\n",
    ],
)
def test_data_that_are_divided_by_hand_are_not_the_same(tmp_path: Path, share: str) -> None:
    text = HEAD + SETUP + "torch.manual_seed(0)\n" + share + "loader = DataLoader(data, shuffle=True)\n"
    assert found(tmp_path, "python train.py", {"train.py": text}) == {}
    inner = f"def train(rank, data):\n    loader = DataLoader(data, shuffle=True)\n{share}train(rank, data)\n"
    text = HEAD + SETUP + "torch.manual_seed(0)\n" + inner
    assert found(tmp_path, "python train.py", {"train.py": text}) == {}


@pytest.mark.parametrize(
    ("share", "rule"),
    [
        ("data = TensorDataset(x[:n])\n", "same-data"),
        ("data = CIFAR10(root, download=rank == 0)\n", "same-data"),
        ('import torchvision\ndata = torchvision.datasets.CIFAR10(f"/tmp/{rank}", download=False)\n', "same-data"),
        ("data = TensorDataset(x.to(local_rank), y.cuda(rank))\n", "same-data"),
        ('device = f"cuda:{rank}"\ndata = TensorDataset(torch.tensor(x, device=device))\n', "same-data"),
        ('device = "cuda:" + str(rank)\ndata = load(x, device)\n', "same-data"),
        ('os.environ["SEED"] = str(rank)\ndata = load(os.path.join(root, "train"))\n', "same-data"),
        ('args.out = f"{args.out}/{rank}"\ndata = load(args.data)\n', "same-data"),
        ('data = load(table["rank"])\n', "same-data"),
        ('data = load(x)\nprint(f"rank {rank}", files[rank])\n', "same-data"),
        ("def train(rank, data):\n    pass\ntrain(rank, data[rank * n :])\n", "same-data"),
        # nobody can say what a part of the program does with a rank
        ("data = somewhere(x, rank)\n", "no-sampler"),
    ],
)
def test_a_rank_beside_the_data_divides_nothing(tmp_path: Path, share: str, rule: str) -> None:
    text = HEAD + SETUP + "torch.manual_seed(0)\n" + share + "loader = DataLoader(data, shuffle=True)\n"
    assert found(tmp_path, "python train.py", {"train.py": text}) == {"train.py": [rule]}


TWO_GPUS = JOINED + 'net = Net()\nnet.a.to("cuda:0")\nnet.b.to("cuda:1")\nmodel = DDP(net)\n' + LOOP
ONE_GPU = JOINED + 'model = DDP(Net().to("cuda:0"))\n' + LOOP


def test_ranks_that_see_only_their_own_gpus(tmp_path: Path) -> None:
    for text in (TWO_GPUS, ONE_GPU):
        assert found(tmp_path, "python train.py", {"train.py": text}) == {"train.py": ["one-gpu"]}
        assert found(tmp_path, "python train.py", {"train.py": text}, replace(LARGE, own_gpus=True)) == {}


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK", {}),
        ('CUDA_VISIBLE_DEVICES="${SLURM_LOCALID}" exec', {}),
        ("# export CUDA_VISIBLE_DEVICES=$LOCAL_RANK", {"train.py": ["one-gpu"]}),
        ("export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}", {"train.py": ["one-gpu"]}),
        ("export CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES", {"train.py": ["one-gpu"]}),
        ("export CUDA_VISIBLE_DEVICES=0", {"run.sh": ["devices-in-script"], "train.py": ["one-gpu"]}),
    ],
)
def test_a_script_that_gives_its_rank_a_gpu(tmp_path: Path, line: str, rules: dict[str, list[str]]) -> None:
    text = f"{line} python train.py\n" if line.endswith("exec") else f"{line}\npython train.py\n"
    assert found(tmp_path, "bash run.sh", {"run.sh": text, "train.py": ONE_GPU}) == rules


@pytest.mark.parametrize(
    ("head", "hit"),
    [
        ('if [ -n "$RANK" ]; then exec python train.py; fi', False),
        ("if [[ -n ${LOCAL_RANK:-} ]]; then\n  python train.py\n  exit $?\nfi", False),
        ('[ -n "$OMPI_COMM_WORLD_RANK" ] && exec python train.py', False),
        ('[ -z "$RANK" ] || exec python train.py', False),
        ('if [ -z "$RANK" ]; then\n  echo alone\nelse\n  exec python train.py\nfi', False),
        ('if [ -z "$RANK" ]; then echo "no rank"; exit 0; fi', True),
        ('if [ ! -d data ]; then echo "$RANK: no data"; exit 0; fi', True),
        ('if [ "$WORLD_SIZE" -gt 8 ]; then echo "too many"; exit 1; fi', True),
        ('if [ -n "$RANK" ]; then exec > log.$RANK 2>&1; fi', True),
        ('if [ -n "$RANK" ]; then echo "rank $RANK"; fi', True),
    ],
)
def test_what_stands_behind_a_way_out_for_ranks(tmp_path: Path, head: str, hit: bool) -> None:
    files = {"run.sh": f"{head}\ntorchrun --nproc_per_node 4 train.py\n", "train.py": DDP}
    assert found(tmp_path, "bash run.sh", files) == ({"run.sh": ["launcher-in-script"]} if hit else {})


@pytest.mark.parametrize(
    ("line", "hit"),
    [
        ("mpirun --version", False), ("mpirun --version 2>&1 | head -1", False), ("srun -V > srun.txt", False),
        ("horovodrun --check-build", False), ("torchrun --help", False),
        ("mpirun -np 2 ./a.out --version", True), ("srun hostname", True),
    ],
)  # fmt: skip
def test_a_launcher_that_only_tells_something(tmp_path: Path, line: str, hit: bool) -> None:
    files = {"run.sh": f"{line}\npython train.py\n", "train.py": DDP}
    assert found(tmp_path, "bash run.sh", files) == ({"run.sh": ["launcher-in-script"]} if hit else {})


@pytest.mark.parametrize(
    ("name", "nodes", "launcher", "severity"),
    [
        ("MASTER_ADDR", 1, "torchrun", "warning"), ("MASTER_ADDR", 2, "torchrun", "error"),
        ("MASTER_ADDR", None, None, "error"), ("MASTER_PORT", 2, "mpirun", "warning"),
        ("MASTER_PORT", 1, "torchrun", "error"), ("MASTER_PORT", 1, None, "error"), ("RANK", 1, "srun", "error"),
    ],
)  # fmt: skip
def test_an_address_is_as_bad_in_a_script_as_in_a_program(
    tmp_path: Path, name: str, nodes: int | None, launcher: str | None, severity: str
) -> None:
    situation = replace(LARGE, nodes=nodes, launcher=launcher)
    (tmp_path / "run.sh").write_text(f"export {name}=1\npython train.py\n")
    (tmp_path / "train.py").write_text(HEAD + f'os.environ["{name}"] = "1"\n' + SETUP + LOOP)
    reports = read_project(tmp_path, "bash run.sh", situation)
    told = {each.rule: each.severity for report, _ in reports for each in report.findings}
    assert told == {"address-in-script": severity, "own-address": severity}


def test_every_rule_is_found_and_described() -> None:
    """The pages list the rules; the tables above find each of them."""
    names = (Path(__file__).name, "test_packages.py", "test_joining.py", "test_surroundings.py")
    here = "".join((Path(__file__).parent / name).read_text() for name in names)
    for rule in RULES:
        assert f'"{rule}"' in here
        for page in ("check-my-program.md", "check-my-program.ja.md"):
            assert f"`{rule}`" in (ROOT / "docs" / "how-to" / page).read_text(), (rule, page)


def test_a_command_without_a_file_of_the_project_loads_no_rules(tmp_path: Path) -> None:
    """`submit` reads every command: what looks into programs and scripts is loaded where there is one."""
    code = (
        "import sys; from pathlib import Path; from hackathon.programs.training import read, situation\n"
        "read.read_project(Path(sys.argv[1]), sys.argv[2], situation.TrainingSituation(processes=2))\n"
        "print(*sys.modules)"
    )
    loaded = {}
    (tmp_path / "train.py").write_text(DDP)
    for command in ("python -c pass", "srun --version", "/opt/site/train.sh", "python train.py"):
        argv = [sys.executable, "-c", code, str(tmp_path), command]
        loaded[command] = set(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split())
    seen = {name: "hackathon.programs.training.files" in modules for name, modules in loaded.items()}
    assert seen == {each: each == "python train.py" for each in loaded}
    for modules in loaded.values():
        assert not {"hackathon.schedulers.scripts", "hackathon.programs.scripts.lint"} & modules


def test_one_process_may_train_alone(tmp_path: Path) -> None:
    assert found(tmp_path, "python train.py", {"train.py": ALONE}, TrainingSituation(processes=1)) == {}
    (tmp_path / "utils").mkdir()
    files = {"train.py": ALONE + "from utils import join\n", "utils/__init__.py": "", "utils/join.py": DDP}
    assert found(tmp_path, "python train.py", files) == {}


@pytest.mark.slow
def test_links_and_odd_files_are_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(SPAWN)
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").symlink_to(outside / "secret.py")
    assert found(project, "python train.py", {}) == {}
    (project / "train.py").unlink()
    assert found(project, "python train.py", {"train.py": DDP + "x = 1\0\n"}) == {"train.py": ["unreadable"]}
    assert found(project, "python train.py", {"train.py": "(" * 5000 + "1" + ")" * 5000}) == {
        "train.py": ["unreadable"]
    }
    assert found(project, "python train.py", {"train.py": "x = 1\n" * 300_000}) == {}
    (project / "train.py").write_bytes("# -*- coding: euc-jp -*-\nx = '学習'\n".encode("euc-jp") + SPAWN.encode())
    assert found(project, "python train.py", {}) == {"train.py": ["starts-own-ranks"]}


def test_what_nobody_wrote_by_hand_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = HEAD + SETUP + 'os.environ["MASTER_PORT"] = "1"\n' * 200
    (tmp_path / "train.py").write_text(long)
    ((report, _),) = read_project(tmp_path, "python train.py", LARGE)
    assert len(report.findings) == MOST
    monkeypatch.setattr("hackathon.programs.training.module.STEPS", 100)
    ((report, _),) = read_project(tmp_path, "python train.py", LARGE)
    assert 0 < len(report.findings) < MOST


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [*DDP.splitlines(), *SPAWN.splitlines(), *RIGHT["both ways"].splitlines(), "\\", '"""', "if x:"]
            ),
            st.text(max_size=30),
        ),
        max_size=12,
    ),
    st.text(max_size=40),
)
def test_no_text_raises(tmp_path: Path, lines: list[str], command: str) -> None:
    for name in ("train.py", "run.sh", "project.yaml"):
        (tmp_path / name).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    for each in ("python train.py", "bash run.sh", command, f"torchrun {command}"):
        for report, text in read_project(tmp_path, each, LARGE):
            json.dumps(report.as_json())
            for finding in report.findings:
                unified(report.path, text, finding.edits)


@pytest.mark.parametrize(
    ("words", "command", "launcher", "left_out"),
    [
        ("torchrun --nproc_per_node=2 train.py --lr {lr}", "python train.py --lr {lr}", "torchrun",
         "torchrun --nproc_per_node=2"),
        ("mpirun -np 4 python train.py 'a b'", "python train.py 'a b'", "mpirun", "mpirun -np 4"),
        ("torchrun --nproc_per_node=4 \\\n  --rdzv_endpoint=n1:29500 \\\n  train.py", "python train.py", "torchrun",
         "torchrun --nproc_per_node=4 --rdzv_endpoint=n1:29500"),
        ("python -m torch.distributed.run -m train", "python -m train", "torchrun",
         "python -m torch.distributed.run -m"),
        # what the toolkit does not set itself stays, and `check` speaks of it
        ("torchrun --tee 3 train.py", "torchrun --tee 3 train.py", None, ""),
        *((words, words, None, "") for words in (
            "torchrun --nproc_per_node={n} train.py", "torchrun --nproc_per_node=2 {n}",
            "torchrun --nnodes=1:4 train.py", "torchrun --max_restarts 3 train.py",
            "accelerate launch --num_processes 2 train.py",
            "deepspeed --num_gpus 4 train.py", "srun -n 4 -t 4:00:00 python train.py", "srun -p gpu python train.py",
            "mpirun -n 2 python train.py : -n 1 python server.py", "/opt/bin/torchrun train.py",
            "python3.11 -m torch.distributed.run train.py", "torchrun --nproc_per_node=4 train",
        )),
        ("python train.py", "python train.py", None, ""),
    ],
)  # fmt: skip
def test_init_leaves_a_launcher_out_of_the_command(
    words: str, command: str, launcher: str | None, left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    assert run(["init", "--command", words, "-p", "lr=0.1", "-p", "n=2"]) == 0
    project = load_project(tmp_path)
    assert (project.command, project.launcher) == (command, launcher)
    notes = capsys.readouterr().err
    assert (f"left out of the command: `{left_out}`" in notes) == bool(left_out)
    assert ("[launcher-in-command]" in notes) == (launcher is None and command != "python train.py")


def test_init_and_check_tell_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SPAWN)
    assert run(["init", "--command", "torchrun --nproc_per_node 2 --tee 3 train.py", "--cluster", "laptop"]) == 0
    told = capsys.readouterr().err
    for text in (
        "project.yaml:3: ",
        "[launcher-in-command]",
        "train.py:12: ",
        "[starts-own-ranks]",
    ):
        assert text in told
    assert run(["check", "--processes", "2"]) == 2
    shown = capsys.readouterr()
    assert "[launcher-in-command]" in shown.out and "[starts-own-ranks]" in shown.out and "OK" not in shown.out
    assert run(["check", "--processes", "1"]) == 0
    assert "[starts-own-ranks]" in capsys.readouterr().out
    assert run(["check", "--processes", "2", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False and answer["schema_version"] == 1
    assert [each["id"] for each in answer["violations"]] == ["program.launcher-in-command", "program.starts-own-ranks"]
    command, program = answer["files"]
    assert (command["path"], command["dialect"], program["path"], program["dialect"]) == (
        "project.yaml", "command", "train.py", "python")  # fmt: skip
    assert set(program["findings"][0]) == {"line", "rule", "severity", "message", "effect", "replacement"}


def test_a_rank_with_several_gpus_may_number_them_from_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TWO_GPUS)
    project = "name: x\ncommand: python train.py\nprocesses_per_node: 2\n"
    for line, refused in (("", True), ("gpus_per_process: 2\n", False)):
        (tmp_path / "project.yaml").write_text(project + line)
        code = run(["check", "--cluster", "abci3", "--nodes", "1"])
        told = capsys.readouterr()
        assert ("[one-gpu]" in told.out) == refused, told
        assert code == 2 or not refused


def test_a_warning_does_not_change_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(ALONE)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert "[no-process-group]" in capsys.readouterr().err
    assert run(["check", "--processes", "1"]) == 0
    assert "no-process-group" not in capsys.readouterr().out
    assert run(["check", "--processes", "2"]) == 2
    assert run(["check", "--processes", "2", "--lang", "ja"]) == 2
    assert "プロセスグループに参加していません" in capsys.readouterr().out
    (tmp_path / "train.py").write_text(DDP.replace("    sampler.set_epoch(epoch)\n", ""))
    assert run(["check", "--processes", "2"]) == 0
    shown = capsys.readouterr().out
    assert "+    sampler.set_epoch(epoch)" in shown and "OK" in shown


def test_what_an_imported_file_does_only_when_it_is_started(tmp_path: Path) -> None:
    own = HEAD + 'def mean(x):\n    dist.all_reduce(x)\nif __name__ == "__main__":\n'
    own += '    os.environ["MASTER_ADDR"] = "localhost"\n    dist.init_process_group("gloo", rank=0, world_size=1)\n'
    files = {"train.py": DDP + "from comm import mean\n", "comm.py": own}
    assert found(tmp_path, "python train.py", files) == {}
    assert "fixed-world" in found(tmp_path, "python comm.py", files)["comm.py"]


LOOP_ALONE = (
    "import torch\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for x in torch.utils.data.DataLoader(data):\n    model(x).sum().backward()\n    optimizer.step()\n"
)


@pytest.mark.parametrize(
    ("command", "text", "following", "pointed"),
    [
        ("python train.py", LOOP_ALONE, "hackathon port train.py", True),
        ("python train.py", "import torch\nclass Net(torch.nn.Module):\n    pass\n", "hackathon check", False),
        ("python nope.py", DDP, "hackathon check", False),
        ("python train.py", DDP, "hackathon try && hackathon scale --processes 1,2 --wait", False),
    ],
)
def test_init_names_the_next_step_that_can_work(
    command: str, text: str, following: str, pointed: bool,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(text)
    for language in ("en", "ja"):
        assert run(["init", "--command", command, "--cluster", "laptop", "--lang", language]) == 0
        *told, last = capsys.readouterr().err.splitlines()
        assert last.endswith(f" && {following}"), last
        assert any("`hackathon port train.py`" in each for each in told) is pointed
        (tmp_path / "project.yaml").unlink()


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["RANK", "MPI", "nccl", "Trainer", "torch.distributed", "https://x"]) | st.text()))
def test_words_in_comments_and_texts_join_nothing(tmp_path: Path, words: list[str]) -> None:
    said = " ".join(["one GPU:", *words]).encode("utf-8", "replace").decode()
    comment = "".join(each if each.isprintable() else "?" for each in said)
    text = f"{said!r}\n# {comment}\n{ALONE}print({said!r})\n"
    assert "no-process-group" in found(tmp_path, "python train.py", {"train.py": text})["train.py"]
