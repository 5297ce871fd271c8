"""Programs of several files: the loop, the evaluation, the data or the group may be in a module of its own."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.programs.port.modules import read_project
from hackathon.programs.port.port import Ported, port
from support.patience import STRETCH
from support.training import FOREIGN

HEAD = """import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
"""
DATA = "data = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))\n"
NET = """

class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes
        self.layer = torch.nn.Linear(4, classes)

    def forward(self, x):
        return self.layer(x)


"""
LOOP = """
loader = DataLoader(data, batch_size=16, shuffle=True)
net = Net(3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
TRAINER = """import torch
from torch.utils.data import DataLoader


class Loop:
    def __init__(self, net, data):
        self.net, self.data = net, data
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def run(self):
        loader = DataLoader(self.data, batch_size=8, shuffle=True)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        print("loss", loss.item())


if __name__ == "__main__":
    print("a test of the trainer")
"""
SCORING = """import torch


@torch.no_grad()
def score(net, loader):
    net.eval()
    right = sum((net(x).argmax(1) % net.classes == y).sum().item() for x, y in loader)
    net.train()
    return right


def unused(path):
    print("never called", open(path, "w"))
"""
EVALUATED = LOOP + "    right = score(net, DataLoader(data, batch_size=8))\n    print('right', right)\n"
JOINED = """import os

import torch.distributed as dist


def start():
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
"""
RIGHT = {
    "a loop in another file": {
        "train.py": HEAD + "from trainer import Loop\n" + DATA + "Loop(torch.nn.Linear(4, 3), data).run()\n",
        "trainer.py": TRAINER,
    },
    "a loop in a package": {
        "train.py": HEAD + "import lib.trainer\n" + DATA + "lib.trainer.Loop(torch.nn.Linear(4, 3), data).run()\n",
        "lib/trainer.py": TRAINER, "lib/__init__.py": "",
    },
    "a loop that a package hands on": {
        "train.py": HEAD + "from lib import Loop as Fit\n" + DATA + "Fit(torch.nn.Linear(4, 3), data).run()\n",
        "lib/trainer.py": TRAINER, "lib/__init__.py": "from .trainer import Loop\n",
    },
    "an evaluation that needs the model itself": {
        "train.py": HEAD + "from scoring import score\n" + NET + DATA + EVALUATED, "scoring.py": SCORING,
    },
    "a module of a package": {
        "train.py": HEAD + "from lib import scoring as s\n" + NET + DATA + EVALUATED.replace("score(", "s.score("),
        "lib/__init__.py": "", "lib/scoring.py": SCORING,
    },
    "a star": {
        "train.py": HEAD + "from scoring import *\n" + NET + DATA + EVALUATED, "scoring.py": SCORING,
    },
    "data and settings of other files": {
        "train.py": HEAD + "from data import loader_of\n" + NET + LOOP.replace(
            "DataLoader(data, batch_size=16, shuffle=True)", "loader_of(16)"
        ),
        "data.py": HEAD + "from settings import DEVICE\n\n\ndef loader_of(size):\n    " + DATA
        + "    print('data on', DEVICE)\n    return DataLoader(data, batch_size=size, shuffle=True)\n",
        "settings.py": "DEVICE = 'cpu'\n",
    },
    "a loader of a file that gets its data by a star": {
        "train.py": HEAD + "from loading import loader\n" + NET + LOOP.replace(
            "loader = DataLoader(data, batch_size=16, shuffle=True)\n", ""
        ),
        "loading.py": HEAD + "from sets import *\n\nloader = DataLoader(data, batch_size=16, shuffle=True)\n",
        "sets.py": HEAD + DATA,
    },
    "a file that is read again": {
        "train.py": HEAD + NET + DATA + LOOP
        + "with open('best.pt', 'wb') as stream:\n    torch.save(net.state_dict(), stream)\n"
        "with open('best.pt', 'rb') as stream:\n    net.load_state_dict(torch.load(stream))\n",
    },
}  # fmt: skip
"""Programs that need no answer: their files."""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder


def ported(folder: Path, files: dict[str, str], entry: str = "train.py") -> Ported:
    return port(read_project(written(folder, files), entry))


def questions(made: Ported) -> list[str]:
    return [finding.rule for finding in made.findings if finding.kind == "question"]


def after(made: Ported, name: str) -> str:
    return next(file.after.decode() for file in made.files if file.name.endswith(name))


@pytest.mark.parametrize("kind", RIGHT)
def test_programs_of_several_files_are_ported_without_a_question(tmp_path: Path, kind: str) -> None:
    made = ported(tmp_path, RIGHT[kind])
    assert made.status == "ported" and not questions(made)
    for file in made.files:
        compile(file.after, file.name, "exec")
    text = "".join(file.after.decode() for file in made.files)
    assert text.count("init_process_group(") == 1 and text.count("= DistributedDataParallel(") == 1
    assert "sampler=DistributedSampler(" in text


def test_a_changed_module_is_a_new_file_that_the_program_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(written(tmp_path, RIGHT["a loop in another file"]))
    assert run(["port", "train.py"]) == 0
    shown = capsys.readouterr()
    assert "+++ train.ported.py" in shown.out and "+++ trainer_ported.py" in shown.out
    assert "trainer.py, line 7:" in shown.err
    assert run(["port", "train.py", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert [file["path"] for file in files] == ["train.py", "trainer.py"]
    assert any(finding["rule"] == "do-wrap" for finding in files[1]["findings"])
    assert run(["port", "train.py", "--write"]) == 0
    assert "from trainer_ported import Loop" in (tmp_path / "train.ported.py").read_text()
    assert "net = DistributedDataParallel(net)" in (tmp_path / "trainer_ported.py").read_text()
    assert (tmp_path / "trainer.py").read_text() == TRAINER
    (tmp_path / "train.ported.py").unlink()
    assert run(["port", "train.py", "--write"]) == 2, "trainer_ported.py exists"
    assert not (tmp_path / "train.ported.py").exists()


def test_a_module_with_nothing_to_change_stays(tmp_path: Path) -> None:
    files = RIGHT["data and settings of other files"]
    made = ported(tmp_path, {**files, "models.py": "def test():\n    print('by hand only')\n", "train.py":
                             files["train.py"] + "import models\n"})  # fmt: skip
    assert [Path(file.name).name for file in made.files] == ["train.py", "data.py"]
    assert "if RANK == 0:" in after(made, "data.py")


def test_what_is_never_called_is_not_changed(tmp_path: Path) -> None:
    made = ported(tmp_path, RIGHT["an evaluation that needs the model itself"])
    assert "unwrapped(net).classes" in after(made, "scoring.py")
    assert 'def unused(path):\n    print("never called", open(path, "w"))\n' in after(made, "scoring.py")


@pytest.mark.parametrize(
    ("module", "use"),
    [
        (JOINED, "from lib import start\nstart()\n"), (JOINED, "import lib\nlib.start()\n"),
        ("from torch.nn.parallel import DistributedDataParallel\n\n\ndef spread(net):\n"
         "    return DistributedDataParallel(net)\n", "from lib import spread\nnet = spread(net)\n"),
        ("import torch.multiprocessing as mp\nimport deepspeed\n\n\ndef start():\n    deepspeed.init_distributed()\n",
         "from lib import start\nstart()\n"),
        ("", "from timm.utils import init_distributed_device\ninit_distributed_device(args)\n"),
        ("", "import speechbrain as sb\nsb.utils.distributed.ddp_init_group(options)\n"),
        ("", "from mmengine.dist import init_dist\ninit_dist('pytorch')\n"),
        ("", "from mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n"),
        ("import horovod.torch as hvd\n", "from lib import hvd\n"),
    ],
)  # fmt: skip
def test_a_group_that_is_joined_elsewhere_is_not_joined_again(tmp_path: Path, module: str, use: str) -> None:
    made = ported(tmp_path, {"train.py": HEAD + NET + DATA + use + LOOP, "lib.py": module})
    assert made.status == "distributed" and not made.changes


@pytest.mark.parametrize(
    ("module", "use"),
    [
        (JOINED, "from lib import os\n"), ("", "from scipy.stats import norm\nnorm.init_distribution(3)\n"),
        ("", "def init_distances(n):\n    return n\n\n\ninit_distances(3)\n"),
        (JOINED.replace("def start", "def first"), "from lib import dist\n"),
    ],
)  # fmt: skip
def test_what_only_resembles_a_group_is_ported(tmp_path: Path, module: str, use: str) -> None:
    made = ported(tmp_path, {"train.py": HEAD + NET + DATA + use + LOOP, "lib.py": module})
    assert made.status == "ported"


@pytest.mark.parametrize(
    "text",
    [
        "from composer import Trainer\n" + HEAD + "loss.backward()\n",
        "import speechbrain\n" + HEAD + "loss.backward()\n",
    ],
)
def test_a_library_with_ways_of_its_own_is_named(tmp_path: Path, text: str) -> None:
    made = ported(tmp_path, {"train.py": text})
    assert (made.status, questions(made), made.changes) == ("unknown", ["ask-other-library"], False)


LIGHTNING = """import torch

from net import Net

trainer = {}
trainer.fit(Net(), torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=8))
"""
MODULE = """import torch
from lightning import LightningModule


class Net(LightningModule):
    def validation_step(self, batch, index):
        self.log("loss", self(batch).mean())
"""


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from lightning.pytorch.trainer import Trainer", "Trainer(devices=1)"),
        ("from lightning.pytorch import Trainer", "Trainer(devices=1)"),
        ("import lightning as L", "L.Trainer(devices=1)"),
        ("import lightning.pytorch as pl", "pl.Trainer(devices=1)"), ("import pytorch_lightning as pl", "pl.Trainer()"),
        ("from pytorch_lightning.trainer.trainer import Trainer", "Trainer()"),
        ("from lightning.fabric import Fabric", "Fabric()"), ("from lightning_fabric import Fabric", "Fabric()"),
        ("import lightning as L", "L.Fabric(accelerator='cpu')"),
    ],
)  # fmt: skip
def test_every_spelling_of_lightning_gets_the_processes_of_the_job(tmp_path: Path, line: str, call: str) -> None:
    made = ported(tmp_path, {"train.py": f"{line}\n{LIGHTNING.format(call)}", "net.py": MODULE})
    assert made.framework == "lightning" and not questions(made)
    assert "num_nodes=WORLD_SIZE // LOCAL_WORLD_SIZE" in made.after.decode()
    assert "init_process_group" not in made.after.decode() and "DistributedDataParallel" not in made.after.decode()
    assert "sync_dist=True" in after(made, "net.py")


def test_the_trainer_may_be_in_another_file(tmp_path: Path) -> None:
    module = "import lightning as L\n\n\ndef trainer():\n    return L.Trainer(devices=1)\n"
    made = ported(tmp_path, {"train.py": "from fitting import trainer\ntrainer().fit(net)\n", "fitting.py": module})
    assert made.status == "ported" and "from fitting_ported import trainer" in made.after.decode()
    assert "devices=LOCAL_WORLD_SIZE" in after(made, "fitting.py")
    spread = module.replace("devices=1", "devices=4, strategy='ddp'")
    made = ported(tmp_path, {"train.py": "from fitting import trainer\ntrainer().fit(net)\n", "fitting.py": spread})
    assert made.status == "distributed"


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("kind", RIGHT)
def test_written_programs_train_as_two_processes(
    tmp_path: Path, kind: str, warm_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, RIGHT[kind]))
    assert run(["port", "train.py", "--write"]) == 0
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environ = kept | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    lines = []
    for command in (
        [warm_python, "train.py"], [warm_python, "train.ported.py"],
        [str(Path(warm_python).with_name("torchrun")), "--standalone", "--nproc-per-node", "2", "train.ported.py"],
    ):  # fmt: skip
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=STRETCH * 120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines.append(done.stdout.splitlines())
    assert lines[0] == lines[1] and len(lines[2]) == len(lines[0])  # one process prints


PACKAGE = {
    "setup.py": "from setuptools import setup\n\nsetup(name='gpt', packages=['gpt'])\n",
    "gpt/__init__.py": "",
    "gpt/trainer.py": TRAINER.replace("class Loop:", "class Trainer:"),
    "gpt/model.py": "def pretrained():\n    from transformers import GPT2LMHeadModel\n    return GPT2LMHeadModel\n",
    "projects/adder/adder.py": HEAD + "from gpt.model import pretrained\nfrom gpt.trainer import Trainer\n" + DATA
    + "Trainer(torch.nn.Linear(4, 3), data).run()\n",
}  # fmt: skip
"""The program's package lies two folders above it. Its own Trainer is not that of transformers."""


def test_a_package_two_folders_up_is_ported_where_it_can_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(written(tmp_path, PACKAGE) / "projects/adder")
    assert run(["port", "adder.py"]) == 0
    shown = capsys.readouterr()
    assert "+++ adder.ported.py" in shown.out and "+++ ../../gpt/trainer_ported.py" in shown.out
    assert "from gpt.trainer_ported import Trainer" in shown.out and "init_process_group" in shown.out
    assert run(["port", "adder.py", "--write"]) == 0
    assert (tmp_path / "gpt/trainer_ported.py").is_file() and (tmp_path / "projects/adder/adder.ported.py").is_file()


def test_a_folder_above_that_python_does_not_search_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: text for name, text in PACKAGE.items() if name != "setup.py"}
    monkeypatch.chdir(written(tmp_path, files) / "projects/adder")
    assert run(["port", "adder.py"]) == 1
    assert "gpt/trainer" not in capsys.readouterr().out


GAN = (
    HEAD
    + DATA
    + """
makes, judges = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
of_maker = torch.optim.Adam(makes.parameters())
of_judge = torch.optim.Adam(judges.parameters())
loader = DataLoader(data, batch_size=16, shuffle=True)
for epoch in range(2):
    for x, y in loader:
        of_judge.zero_grad()
        made = makes(torch.randn(len(x), 2))
        mixed = x.requires_grad_()
        slope = torch.autograd.grad(judges(mixed).sum(), mixed, create_graph=True)[0]
        worse, better = judges(made.detach()).mean(), -judges(x).mean() + slope.pow(2).mean()
        worse.backward()
        better.backward()
        of_judge.step()
        of_maker.zero_grad()
        (-judges(made).mean()).backward()
        of_maker.step()
"""
)


def test_of_two_models_that_train_against_each_other_one_question_is_asked(tmp_path: Path) -> None:
    assert questions(ported(tmp_path, {"train.py": GAN})) == ["ask-models"]


def test_gradients_that_are_taken_for_an_update_are_asked_about(tmp_path: Path) -> None:
    own = LOOP.replace("        loss.backward()\n", "        slopes = torch.autograd.grad(loss, net.parameters())\n"
                       "        loss.backward()\n")  # fmt: skip
    assert "ask-grad" in questions(ported(tmp_path, {"train.py": HEAD + NET + DATA + own}))


STATEFUL = """
class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layer = torch.nn.RNN(4, classes, batch_first=True)

    def init_hidden(self, size):
        weight = next(self.parameters())
        return weight.new_zeros(1, size, 3)

    def forward(self, x, hidden):
        return self.layer(x, hidden)


"""


def test_a_first_state_comes_from_the_model_itself(tmp_path: Path) -> None:
    loop = LOOP.replace(
        "        loss = torch.nn.functional.cross_entropy(net(x), y)\n",
        "        out, _ = net(x[:, None], net.init_hidden(len(x)))\n"
        "        loss = torch.nn.functional.cross_entropy(out[:, 0], y)\n",
    )
    made = ported(tmp_path, {"train.py": HEAD + STATEFUL + DATA + loop})
    assert not questions(made)
    assert "net(x[:, None], unwrapped(net).init_hidden(len(x)))" in after(made, "train.py")


GRAPH = (
    HEAD
    + "from torch.utils.tensorboard import SummaryWriter\n"
    + NET
    + """
def get_network(options):
    return Net(options)


def train(epoch):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    net = get_network(3)
    """
    + DATA
    + """    loader = DataLoader(data, batch_size=16, shuffle=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    writer = SummaryWriter("tb")
    input_tensor = torch.Tensor(1, 4)
    writer.add_graph(net, input_tensor)
    for epoch in range(1, 3):
        train(epoch)
"""
)


def test_a_graph_is_drawn_of_the_model_itself_where_the_loop_is_in_a_function(tmp_path: Path) -> None:
    made = ported(tmp_path, {"train.py": GRAPH})
    assert "writer.add_graph(unwrapped(net), input_tensor)" in after(made, "train.py")


def test_a_download_in_an_own_module_is_asked_about(tmp_path: Path) -> None:
    sets = (
        HEAD + "from urllib import request\n\n\ndef training_set():\n    data = request.urlopen('http://x/y.tgz')\n"
        "    open('y.tgz', 'wb').write(data.read())\n    return TensorDataset(torch.zeros(64, 4))\n"
    )
    train = HEAD + "from data import training_set\n" + NET + "data = training_set()\n" + LOOP
    made = ported(tmp_path, {"train.py": train, "data.py": sets})
    assert [finding.file for finding in made.findings if finding.rule == "ask-download"] == [str(tmp_path / "data.py")]


def test_a_picture_that_is_scaled_before_it_is_saved_is_saved_by_one_process(tmp_path: Path) -> None:
    scaled = "\n\ndef scaled(x):\n    return ((x + 1) / 2).clamp(0, 1).reshape(-1, 1, 2, 2)\n\n\n"
    train = HEAD + "from torchvision.utils import save_image\n" + scaled + NET + DATA + LOOP
    made = ported(tmp_path, {"train.py": train + "    save_image(scaled(x), f'{epoch}.png')\n"})
    assert not questions(made)
    assert "    if RANK == 0:\n        save_image(scaled(x)" in after(made, "train.py")


def test_a_copy_of_what_one_process_saved_is_made_by_that_process(tmp_path: Path) -> None:
    save = (
        "\n\ndef save(state, best):\n    torch.save(state, 'last.pt')\n"
        "    if best:\n        shutil.copyfile('last.pt', 'best.pt')\n\n\n"
    )
    train = "import shutil\n" + HEAD + save + NET + "shutil.copy('here', 'there')\n" + DATA + LOOP
    text = after(ported(tmp_path, {"train.py": train + "    save(net.state_dict(), epoch == 1)\n"}), "train.py")
    assert "        if RANK == 0:\n            shutil.copyfile('last.pt', 'best.pt')" in text
    assert "\nshutil.copy('here', 'there')\n" in text  # every node may need its own
