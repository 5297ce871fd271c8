"""`check` names what a job lacks: a terminal, a keyboard, a screen, and a Python that reads notebooks."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.programs.training.read import read_project
from hackathon.programs.training.situation import TrainingSituation

TERMINAL, KEYBOARD, SCREEN = "needs-terminal", "needs-keyboard", "needs-screen"
RULES = {TERMINAL, KEYBOARD, SCREEN}
TRAIN = "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel(x).sum().backward()\n"
BAR = "_, term_width = os.popen('stty size', 'r').read().split()\n"
NEEDS = {
    "the bar of kuangliu": ("import os\n" + BAR, TERMINAL, 2),
    "a command's output": ("import subprocess\nsize = subprocess.check_output(['stty', 'size'])\n", TERMINAL, 2),
    "the size without a default": ("import os\nwidth = os.get_terminal_size().columns\n", TERMINAL, 2),
    "in a function that is called": (
        "import os\ndef bar():\n    return os.get_terminal_size()[0]\nprint('=' * bar())\n",
        TERMINAL,
        3,
    ),
    "a question": ("lr = float(input('learning rate? '))\n", KEYBOARD, 1),
    "a question at the end of an epoch": ("for epoch in range(3):\n    input('go on?')\n", KEYBOARD, 2),
    "a password": ("import getpass\ntoken = getpass.getpass()\n", KEYBOARD, 2),
    "a picture": ("import matplotlib.pyplot as plt\nplt.plot(losses)\nplt.show()\n", SCREEN, 3),
    "a picture of OpenCV": ("import cv2\ncv2.imshow('x', image)\n", SCREEN, 2),
}
HARMLESS = {
    "a size with a default": "import shutil\nwidth = shutil.get_terminal_size().columns\n",
    "a size that may be missing": "import os\ntry:\n    n = os.get_terminal_size()[0]\nexcept OSError:\n    n = 80\n",
    "a size on a terminal only": "import os, sys\nif sys.stdout.isatty():\n    n = os.get_terminal_size()[0]\n",
    "an exit code": "import os\nos.system('stty sane')\n",
    "another command": "import os\nhost = os.popen('hostname').read()\n",
    "words about it": "help = 'the size as stty size prints it; input() is not needed'\n",
    "a tensor of that name": "input = torch.zeros(2)\noutput = model(input)\n",
    "a module of that name": "input = torch.nn.Linear(2, 2)\noutput = input(x)\n",
    "a parameter of that name": "def forward(input):\n    return input(x)\nforward(model)\n",
    "a method of that name": "data = reader.input('a.txt')\n",
    "a question that is an option": "if args.interactive:\n    input('go on?')\n",
    "a question before something is deleted": "if args.clean:\n    answer = input('delete? ')\n",
    "a function that nobody calls": "def ask():\n    return input('?')\n",
    "a picture for a file": "import matplotlib.pyplot as plt\nplt.savefig('loss.png')\n",
    "a picture without a window": (
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.show()\n"
    ),
    "a picture that is an option": "import matplotlib.pyplot as plt\nif args.show:\n    plt.show()\n",
    "a picture in a helper": "import matplotlib.pyplot as plt\ndef imshow(image):\n    plt.show()\n",
    "another method of that name": "dialog.show()\n",
}


def _rules(folder: Path, text: str) -> dict[str, list[int]]:
    (folder / "project.yaml").write_text("name: x\ncommand: python train.py\n")
    (folder / "train.py").write_text(text + TRAIN)
    lines: dict[str, list[int]] = {}
    for report, _ in read_project(folder, "python train.py", TrainingSituation(processes=2)):
        for finding in report.findings:
            if finding.rule in RULES:
                lines.setdefault(finding.rule, []).append(finding.line)
    return lines


@pytest.mark.parametrize(("text", "rule", "line"), NEEDS.values(), ids=list(NEEDS))
def test_what_needs_a_person_is_named(tmp_path: Path, text: str, rule: str, line: int) -> None:
    assert _rules(tmp_path, text) == {rule: [line]}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=list(HARMLESS))
def test_what_works_in_a_job_is_not(tmp_path: Path, text: str) -> None:
    assert _rules(tmp_path, text) == {}


@pytest.mark.parametrize("command", ["python train.ipynb", "torchrun train.ipynb", "python -u ./train.ipynb --lr 1"])
def test_a_notebook_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.ipynb").write_text('{"cells": []}')
    (tmp_path / "project.yaml").write_text(f"name: x\ncommand: {command}\ncluster: laptop\n")
    assert run(["check", "--json"]) == 2
    (finding,) = (
        finding
        for report in json.loads(capsys.readouterr().out)["files"]
        for finding in report["findings"]
        if finding["rule"] == "notebook"
    )
    assert finding["severity"] == "error" and "jupyter nbconvert --to script train.ipynb" in finding["message"]
    assert run(["submit"]) == 2 and not list(tmp_path.glob("runs/*/request.json"))


def test_init_refuses_a_notebook_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my train.ipynb").write_text('{"cells": []}')
    assert run(["init", "--command", "python 'my train.ipynb'"]) == 2
    assert "jupyter nbconvert --to script 'my train.ipynb'" in capsys.readouterr().err
    assert not (tmp_path / "project.yaml").exists()


@pytest.mark.parametrize(
    "command", ["jupyter nbconvert --to notebook --execute train.ipynb", "python train.py a.ipynb"]
)
def test_a_notebook_that_another_program_reads_is_not(tmp_path: Path, command: str) -> None:
    (tmp_path / "project.yaml").write_text(f"name: x\ncommand: {command}\n")
    (tmp_path / "train.py").write_text(TRAIN)
    reports = read_project(tmp_path, command, TrainingSituation(processes=1))
    assert "notebook" not in {finding.rule for report, _ in reports for finding in report.findings}
