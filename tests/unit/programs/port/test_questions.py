"""What `port` asks and what it does not ask: each question has a program that needs it and one that does not."""

from pathlib import Path

import pytest

from hackathon.programs.port.modules import read_project
from hackathon.programs.port.port import Ported, port

HEAD = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
"""
LOOP = """loader = DataLoader(data, batch_size=32, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)

    def first_state(self, size):
        return torch.zeros(size)

    def encode(self, x):
        return self.layer(x)


"""
OWN = LOOP.replace("nn.Linear(4, 1)", "Net()")
RL = """import gymnasium
env = gymnasium.make("CartPole-v1")
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
state, _ = env.reset(seed=1)
for step in range(1000):
    out = model(torch.as_tensor(state))
    state, reward, ended, cut, _ = env.step(int(out.argmax()))
    loss = -out.max() * reward
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TWO = """loader = DataLoader(data, batch_size=32, shuffle=True)
rest = DataLoader(data, batch_size=32)
one, two = nn.Linear(4, 1), nn.Linear(4, 1)
first = torch.optim.SGD(one.parameters(), lr=0.1)
second = torch.optim.SGD(two.parameters(), lr=0.1)


def show():
    x, _ = next(iter(rest))
    return x.sum()


for epoch in range(2):
    for x, y in loader:
        first.zero_grad()
        loss = (one(x) - y).pow(2).mean()
        loss.backward()
        first.step()
        second.zero_grad()
        other = (two(x) - y).pow(2).mean()
        other.backward()
        second.step()
    show()
"""
CHOSEN = LOOP.replace(
    "        optimizer.step()\n",
    """        if by_hand:
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-0.1)
        else:
            optimizer.step()
""",
)
BAR = """loader = DataLoader(data, batch_size=32, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
from tqdm import tqdm
for epoch in range(3):
    with tqdm(total=count) as bar:
        for x, y in loader:
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.update(x.shape[0])
"""
PLATEAU = "plateau = torch.optim.lr_scheduler.{}(optimizer)\n"

ASKED = {
    "a batch that is too small for BatchNorm": ("ask-batch-norm", LOOP.replace("32", "2") + "nn.BatchNorm1d(4)\n"),
    "a sum as the loss": ("ask-sum", LOOP.replace(".mean()", ".sum()")),
    "a loss that sums": (
        "ask-sum", LOOP.replace("(model(x) - y).pow(2).mean()", "criterion(model(x), y)")
        .replace("model =", "criterion = nn.MSELoss(reduction='sum')\nmodel ="),
    ),
    "a part of the loss is a sum": ("ask-sum", LOOP.replace(".mean()", ".mean() + model.weight.sum()")),
    "a loss of older programs": (
        "ask-sum", LOOP.replace("(model(x) - y).pow(2).mean()", "nn.MSELoss(size_average=False)(model(x), y)")
    ),
    "a loop that counts": ("ask-steps", RL),
    "other code gets the model": ("ask-handed", "from theirs import evaluate\n" + LOOP + "    evaluate(model, data)\n"),
    "a method that computes the loss": ("ask-method", NET + OWN.replace("(model(x)", "(model.encode(x)")),
    "actions whose values are part of the loss": (
        "ask-method", NET + OWN.replace(
            "        loss =",
            "        acts, values = model.encode(x)\n        acts = acts.cpu().numpy()\n        loss = values +",
        ),
    ),
    "actions that are used before they lose their gradients": (
        "ask-method", NET + OWN.replace(
            "        loss =",
            "        acts = model.encode(x)\n        loss = acts.mean()\n        acts = acts.detach()\n        loss +=",
        ),
    ),
    "a scheduler that looks at the loss": (
        "ask-step", LOOP.replace("for epoch", PLATEAU.format("ReduceLROnPlateau") + "for epoch")
        + "    plateau.step(loss)\n",
    ),
    "a second pass after one forward": (
        "ask-backward", LOOP.replace("loss.backward()", "loss.backward(retain_graph=True)\n        loss.backward()")
    ),
    "a helper that runs the model": (
        "ask-output", "def report(x):\n    return model(x)\n\n\n" + LOOP + "    print(report(x))\n"
    ),
    "metrics that gather": (
        "ask-output", "import torchmetrics\n" + LOOP + "    print(torchmetrics.functional.accuracy(x, y))\n"
    ),
    "a download by hand": (
        "ask-download", "from urllib.request import urlretrieve\nurlretrieve('http://a', 'b')\n" + LOOP
    ),
    "a rank that it reads": ("ask-rank", "import os\nprint(os.environ['SLURM_PROCID'])\n" + LOOP),
    "a loss decides about the end": ("ask-break", LOOP + "    if loss.item() < 1:\n        break\n"),
    "data that cannot be divided": (
        "ask-iterable", LOOP.replace("loader =", "from torchtext.datasets import Multi30k\ndata = Multi30k()\nloader =")
    ),
    "a checkpoint in a branch": (
        "ask-reload", LOOP + "    torch.save(model.state_dict(), 'best.pt')\nif epoch:\n"
        "    model.load_state_dict(torch.load('best.pt'))\n",
    ),
    "a checkpoint that an option names": (
        "ask-reload", "import argparse\nopts = argparse.ArgumentParser().parse_args()\n" + LOOP
        + "    torch.save(model.state_dict(), opts.best)\nif epoch:\n"
        "    model.load_state_dict(torch.load(opts.best))\n",
    ),
    "data that are prepared first": (
        "ask-reload", "import numpy, os\nif not os.path.exists('table.npy'):\n    numpy.save('table.npy', [1.0])\n"
        "def read():\n    return numpy.load('table.npy')\n\n\nread()\n" + LOOP,
    ),
}  # fmt: skip
"""Kind → question, program."""
NOT_ASKED = {
    "BatchNorm with a usual batch": LOOP + "nn.BatchNorm1d(4)\n",
    "a sum divided by the samples": LOOP.replace(".mean()", ".sum() / 32"),
    "a sum along one axis": LOOP.replace(".mean()", ".sum(dim=1).mean()"),
    "a sum that is only printed": LOOP + "    print(x.sum().item())\n",
    "harmless functions in printed lines": (
        "import os, platform\n" + LOOP
        + "    print(torch.tensor([1.0]).median(), os.path.realpath('out'), torch.cuda.memory_summary())\n"
        + "    print('{:.1f}'.format(max([1.0])), platform.node(), f'{torch.randn(2).abs().tolist()}')\n"
    ),
    "a helper in a printed line": "def text(n):\n    return str(n).rjust(8)\n\n\n" + LOOP + "    print(text(epoch))\n",
    "what is under rank_zero_only": (
        "from utilities import rank_zero_only\n\n\n@rank_zero_only\ndef show():\n    print(theirs())\n\n\n" + LOOP
    ),
    "a choice between two ways to update": "by_hand = False\n" + CHOSEN,
    "a split by a generator": (
        "from torch.utils.data import random_split\ndata, rest = random_split(data, [32, 32], torch.Generator())\n"
        + LOOP
    ),
    "a split with another name of the seed": (
        "torch.random.manual_seed(1)\ndata, rest = torch.utils.data.random_split(data, [32, 32])\n" + LOOP
    ),
    "a copy of the model for targets": LOOP.replace(
        "optimizer =", "target = nn.Linear(4, 1)\ntarget.load_state_dict(model.state_dict())\noptimizer ="
    ) + "    target.load_state_dict(model.state_dict())\n",
    "a copy in each step": (
        LOOP.replace("optimizer =", "target = nn.Linear(4, 1)\noptimizer =")
        + "        target.load_state_dict(model.state_dict())\n"
    ),
    "a folder": "import os\nos.makedirs('out')\nos.mkdir('more')\n" + LOOP,
    "a folder that may exist": "import os\ntry:\n    os.makedirs('out')\nexcept OSError:\n    pass\n" + LOOP,
    "a closure of an optimizer that never decides": LOOP.replace("optimizer.step()", "optimizer.step(lambda: loss)"),
    "a scheduler that counts": (
        LOOP.replace("for epoch", PLATEAU.format("CosineAnnealingWarmRestarts") + "for epoch")
        + "    plateau.step(epoch + 1)\n"
    ),
    "an option ends the loop": (
        "import argparse\nopts = argparse.ArgumentParser().parse_args()\n" + LOOP
        + "    if opts.dry_run:\n        break\n"
    ),
    "a loader of graphs": LOOP.replace("loader =", "from torch_geometric.loader import DataLoader\nloader ="),
    "weights that somebody else saved": (
        "def paint(path):\n    model.load_state_dict(torch.load(path))\n\n\n" + LOOP
        + "torch.save(model.state_dict(), 'best.pt')\nif x is None:\n    paint('given.pt')\n"
    ),
    "another option names the file": (
        "import argparse\nopts = argparse.ArgumentParser().parse_args()\n\n\ndef paint():\n"
        "    model.load_state_dict(torch.load(opts.given))\n\n\n" + LOOP
        + "torch.save(model.state_dict(), opts.folder + 'best.pt')\nif x is None:\n    paint()\n"
    ),
    "data that lie there": "import numpy\nnumpy.save('end.npy', [1.0])\nnumpy.load('table.npy')\n" + LOOP,
    "a method that makes a state": (
        NET + OWN.replace("        loss =", "        state = model.first_state(3)\n        loss =")
    ),
    "actions of an agent": (
        NET + OWN.replace(
            "        loss =",
            "        acts, rest = model.encode(x)\n        acts = acts.cpu().numpy()\n        env(acts)\n"
            "        loss =",
        )
    ),
    "an action at once": (
        NET + OWN.replace("        loss =", "        env(model.encode(x).argmax().item())\n        loss =")
    ),
    "a graph for TensorBoard": "import theirs\n" + LOOP + "theirs.writer.add_graph(model, x)\n",
    "a bar of samples": "count = 64\n" + BAR,
    "logging": "import logging\nlogging.basicConfig(level=logging.INFO)\n" + LOOP,
}  # fmt: skip
"""Programs of which nothing is asked."""


def ported(folder: Path, text: str) -> Ported:
    (folder / "train.py").write_text(HEAD + text)
    return port(read_project(folder, "train.py"))


def questions(made: Ported) -> set[str]:
    return {finding.rule for finding in made.findings if finding.kind == "question"}


@pytest.mark.parametrize("kind", ASKED)
def test_what_may_go_wrong_is_asked(tmp_path: Path, kind: str) -> None:
    rule, text = ASKED[kind]
    made = ported(tmp_path, text)
    compile(made.after, "after", "exec")
    assert rule in questions(made)


@pytest.mark.parametrize("kind", NOT_ASKED)
def test_what_is_right_is_not_asked(tmp_path: Path, kind: str) -> None:
    made = ported(tmp_path, NOT_ASKED[kind])
    compile(made.after, "after", "exec")
    assert (made.status, questions(made)) == ("ported", set())


@pytest.mark.parametrize("start", ["mp.Process(target=train, args=(data,)).start()", "mp.spawn(train, (data,), 2)"])
def test_a_training_in_processes_of_the_program_itself_is_not_ported(tmp_path: Path, start: str) -> None:
    body = "".join(f"    {line}\n" for line in LOOP.splitlines())
    text = f"import torch.multiprocessing as mp\ndef train(data):\n{body}\n\nif __name__ == '__main__':\n    {start}\n"
    made = ported(tmp_path, text)
    assert (made.status, questions(made), made.changes) == ("unknown", {"own-processes"}, False)
    other = text.replace("target=train", "target=print").replace("spawn(train", "spawn(print") + "    train(data)\n"
    assert ported(tmp_path, other).status == "ported"


def test_a_game_is_no_optimizer(tmp_path: Path) -> None:
    assert questions(ported(tmp_path, RL)) == {"ask-steps"}


def test_two_models_each_after_its_own_forward_pass(tmp_path: Path) -> None:
    assert questions(ported(tmp_path, TWO)) == {"ask-models"}


def test_the_changes_of_one_process(tmp_path: Path) -> None:
    def after(text: str) -> str:
        return ported(tmp_path, text).after.decode()

    assert 'torch.load("a.pt", map_location="cpu")' in after("w = torch.load(\"a.pt\")\n" + LOOP.replace(
        "optimizer =", "model.load_state_dict(w['model'])\noptimizer ="))  # fmt: skip
    assert "torch.load('a.pt')" in after("table = torch.load('a.pt')\n" + LOOP)
    assert "torch.load('a.pt', 'cpu')" in after(
        LOOP.replace("opt", "model.load_state_dict(torch.load('a.pt', 'cpu'))\nopt", 1)
    )
    assert "tqdm(total=-(-count // WORLD_SIZE), disable=RANK > 0)" in after(NOT_ASKED["a bar of samples"])
    assert "total=-(-(count + 1) // WORLD_SIZE)" in after("count = 63\n" + BAR.replace("=count", "=count + 1"))
    assert "total=3, disable" in after("from tqdm import tqdm\nbar = tqdm(total=3)\n" + LOOP)
    assert "level=logging.INFO if RANK == 0 else logging.WARNING" in after(NOT_ASKED["logging"])
    assert "os.makedirs('more', exist_ok=True)" in after(NOT_ASKED["a folder"])
    assert "add_graph(unwrapped(model), x)" in after(NOT_ASKED["a graph for TensorBoard"])
    assert "unwrapped(model).first_state(3)" in after(NOT_ASKED["a method that makes a state"])
    out = "import sys\n" + LOOP + "        sys.stdout.write('.')\n"
    assert "        if RANK == 0:\n            sys.stdout.write('.')" in after(out)


def test_a_file_is_opened_after_rank_0_has_written_it(tmp_path: Path) -> None:
    made = ported(tmp_path, LOOP + "with open('b.pt', 'wb') as s:\n    torch.save(model, s)\n"
                  "with open('b.pt', 'rb') as s:\n    model = torch.load(s)\n")  # fmt: skip
    assert made.after.decode().split("optimizer.step()\n")[1] == (
        "if RANK == 0:\n    with open('b.pt', 'wb') as s:\n        torch.save(unwrapped(model), s)\n"
        "if WORLD_SIZE > 1:\n    dist.barrier()\nwith open('b.pt', 'rb') as s:\n    model = torch.load(s)\n"
        "if WORLD_SIZE > 1:\n    dist.destroy_process_group()\n"
    )


def test_a_question_stands_above_the_line_that_was_moved_out(tmp_path: Path) -> None:
    text = LOOP.replace("DataLoader(data", "DataLoader(MNIST('.', download=True)")
    lines = ported(tmp_path, text).after.decode().splitlines()
    at = next(number for number, line in enumerate(lines) if "MNIST" in line)
    assert "every process downloads" in lines[at - 1] and "DataLoader(train_data" in lines[at + 1]


@pytest.mark.parametrize(
    "text",
    [
        "import chainer\nmodel = chainer.links.Linear(2)\noptimizer = chainer.optimizers.SGD().setup(model)\n"
        "train, test = chainer.datasets.get_mnist()\n",
        "import tensorflow as tf\n(x, y), _ = tf.keras.datasets.mnist.load_data()\nmodel = tf.keras.Sequential()\n"
        "model.compile(optimizer='sgd', loss='mse')\nmodel.fit(x, y)\n",
    ],
)
def test_data_that_a_library_downloads_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text)
    notes = [finding.rule for finding in port(read_project(tmp_path, "train.py")).findings]
    assert "note-download" in notes
