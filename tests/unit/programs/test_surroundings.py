"""`check` names what a job lacks: a terminal, a keyboard, a screen, and a Python that reads notebooks."""

import contextlib
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.programs.training.read import read_project
from hackathon.programs.training.situation import TrainingSituation
from hackathon.runs.source.selection import select

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


# ---- paths: a run works in a copy of the project


READ_HERE = {
    "open": ("lines = open('data/train.txt').read()\n", 1),
    "open in a print": ("print(len(open('data/train.txt').read()))\n", 1),
    "a data set": ("from torchvision import datasets\ndata = datasets.ImageFolder('data')\n", 2),
    "a root": ("from torchvision import datasets\ndata = datasets.MNIST(root='data', download=True)\n", 2),
    "joined": ("import os\npath = os.path.join('data', 'train.txt')\n", 2),
    "pathlib": ("from pathlib import Path\ntext = Path('./data/train.txt').read_text()\n", 2),
    "numpy": ("import numpy as np\narray = np.load('data/x.npy')\n", 2),
    "an option": ("parser.add_argument('--data-dir', default='data')\n", 1),
    "a constant": ("DATA_DIR = 'data/'\n", 1),
}
FINE_HERE = {
    "a key": "x = batch['data']\n",
    "a column": "x = row.get('data')\ny = table.rename('data')\n",
    "a word": "print('data', len(x))\nif name == 'data':\n    pass\n",
    "an attribute": "x = getattr(batch, 'data')\nregister('data', 3)\n",
    "a name of an option": "parser.add_argument('data')\n",
    "what is copied": "lines = open('words/list.txt').read()\n",
    "what is excluded": "lines = open('linked/a.bin').read()\n",
    "what is not there": "lines = open('nothing/train.txt').read()\n",
    "what the program writes": "import os\nos.makedirs('out', exist_ok=True)\nopen('out/log.txt')\n",
    "what it may find": "import os\nif os.path.exists('out/last.pt'):\n    torch.load('out/last.pt')\n",
    "what it opens to write": "stream = open('out/log.txt', 'w')\n",
    "where it saves": "torch.save(model, 'out/last.pt')\nparser.add_argument('--output-dir', default='out')\n",
    "beside the file": "import os\npath = os.path.join(os.path.dirname(__file__), 'data')\n",
}
ABOVE = {
    "a data set": "from torchvision import datasets\ndata = datasets.MNIST('../data', train=True, download=True)\n",
    "an option": "parser.add_argument('--data', default='../../data')\n",
    "open": "text = open('../data/x.txt').read()\n",
    "a constant": "data_root = '../data/'\n",
}
NOT_ABOVE = {
    "beside the file": "import os\nopen(os.path.join(os.path.dirname(__file__), '../data/x.txt'))\n",
    "beside the file, by pathlib": "from pathlib import Path\nopen(Path(__file__).parent / '../data/x.txt')\n",
    "a text": "print('see ../data for the data')\nhelp = '../data'\n",
    "an address": "url = 'https://example.org/../data'\n",
    "what is written": "torch.save(model, '../models/last.pt')\n",
    "an absolute path": "text = open('/data/../data/x.txt').read()\n",
}


def _project(folder: Path, text: str, command: str = "python train.py") -> Path:
    """Write a project in git, whose data and output are ignored; skips the test where git is missing."""
    if not shutil.which("git"):
        pytest.skip("no git")
    project = folder / "project"
    files = {
        ".gitignore": "data/\nout/\nlinked/\n",
        "project.yaml": f"name: x\ncommand: {command}\ncluster: laptop\nexclude: [linked]\n",
        "train.py": text + TRAIN, "data/train.txt": "a", "data/x.npy": "a", "out/last.pt": "a", "out/log.txt": "a",
        "linked/a.bin": "a", "words/list.txt": "a", "../data/x.txt": "a",
    }  # fmt: skip
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


def _checked(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, list[tuple[str, int, str]]]:
    """Return rule → (file, line, message) of `check --json`."""
    with contextlib.chdir(folder):
        run(["check", "--json", *options])
    rules: dict[str, list[tuple[str, int, str]]] = {}
    for report in json.loads(capsys.readouterr().out)["files"]:
        for finding in report["findings"]:
            rules.setdefault(finding["rule"], []).append((report["path"], finding["line"], finding["message"]))
    return rules


@pytest.mark.parametrize(("text", "line"), READ_HERE.values(), ids=list(READ_HERE))
def test_data_that_git_ignores_is_named_with_the_line_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    ((file, at, message),) = _checked(_project(tmp_path, text), capsys)["not-in-copy"]
    assert (file, at) == ("train.py", line) and "`exclude: [data]`" in message


@pytest.mark.parametrize("text", FINE_HERE.values(), ids=list(FINE_HERE))
def test_other_words_and_paths_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert not {"not-in-copy", "above-project"} & set(_checked(_project(tmp_path, text), capsys))


@pytest.mark.parametrize("text", ABOVE.values(), ids=list(ABOVE))
def test_a_path_above_the_project_is_named_with_the_absolute_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    ((file, _, message),) = _checked(_project(tmp_path, text), capsys)["above-project"]
    assert file == "train.py" and (f"({tmp_path}/data" in message or f"({tmp_path.parent}/data" in message)


@pytest.mark.parametrize("text", NOT_ABOVE.values(), ids=list(NOT_ABOVE))
def test_other_texts_with_dots_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert "above-project" not in _checked(_project(tmp_path, text), capsys)


def test_in_place_every_path_is_right(tmp_path: Path) -> None:
    project = _project(tmp_path, "open('data/train.txt')\nopen('../data/x.txt')\n")
    situation = TrainingSituation(processes=2, copy=select(project), in_place=True)
    assert not _named(project, situation)
    assert _named(project, replace(situation, in_place=False)) == {"not-in-copy", "above-project"}


def _named(project: Path, situation: TrainingSituation) -> set[str]:
    reports = read_project(project, "python train.py", situation)
    rules = {finding.rule for report, _ in reports for finding in report.findings}
    return rules & {"not-in-copy", "above-project"}


def test_paths_in_the_command_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "python train.py --data ../data --list=data/train.txt --output-dir ../out words/list.txt"
    rules = _checked(_project(tmp_path, "", command), capsys)
    assert [(file, line) for file, line, _ in rules["above-project"]] == [("project.yaml", 2)]
    assert "`../data`" in rules["above-project"][0][2]


def test_a_module_that_is_not_copied_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`init` ignores `runs` and `studies`; a package of the user with that name is part of the program."""
    project = _project(tmp_path, "from studies import first\n")
    (project / "studies").mkdir()
    for name in ("__init__.py", "first.py"):
        (project / "studies" / name).write_text("lr = 0.1\n")
    assert "not-in-copy" not in _checked(project, capsys)
    (project / ".gitignore").write_text("studies/\n")
    assert {message.split()[0] for _, _, message in _checked(project, capsys)["not-in-copy"]} == {
        "studies/__init__.py", "studies/first.py",
    }  # fmt: skip


def test_init_does_not_ignore_folders_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert (tmp_path / ".gitignore").read_text().splitlines() == ["runs/", "__pycache__/", ".venv/"]


def test_init_links_the_data_that_git_ignores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = "lines = open('data/train.txt').read() + open('linked/a.bin').read()\n"
    project = _project(tmp_path, reads + "torch.save(model, 'out/last.pt')\nopen('../data/x.txt')\n")
    (project / "project.yaml").unlink()
    monkeypatch.chdir(project)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert "a link to data, linked" in capsys.readouterr().err
    assert 'exclude: ["data", "linked"]' in (project / "project.yaml").read_text().splitlines()
    found = _checked(project, capsys)
    assert "not-in-copy" not in found and "above-project" in found


@pytest.mark.parametrize("alone", [True, False])
def test_init_links_nothing_without_git_or_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool) -> None:
    project = _project(tmp_path, "text = open('checkpoints/a.pt')\n" if alone else FINE_HERE["where it saves"])
    (project / "project.yaml").unlink()
    (project / "checkpoints").mkdir()
    (project / "checkpoints" / "a.pt").write_text("a")
    if alone:
        (project / ".git").rename(tmp_path / "elsewhere")
    monkeypatch.chdir(project)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert "exclude:" not in (project / "project.yaml").read_text()


# ---- lines of the environment


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("source {here}/conda like/envs/my env/bin/activate", "{here}/conda"),
        ("source /no/such/venv/bin/activate", "/no/such/venv/bin/activate"),
        ("export PATH=/no/such/bin:$PATH", "/no/such/bin"),
        (". ~/no-such-venv/bin/activate", "~/no-such-venv/bin/activate"),
    ],
)
def test_a_path_of_an_environment_line_that_is_not_here_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, path: str
) -> None:
    message = _notes(tmp_path, capsys, line)
    assert f"{path.format(here=tmp_path)} is not seen on this machine" in message


@pytest.mark.parametrize(
    "line",
    [
        'source "{here}/my env/activate"',
        "source {here}/plain/activate",
        "module load cuda/12.1 gcc/11",
        "export PATH=$HOME/no/such:$PATH",
        "source $ROOT/no/such/activate",
        "export OPTIONS=-O2/fast",
        "conda activate torch  # /no/such/path",
        "ls /no/such/*",
    ],
)
def test_other_lines_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    for name in ("my env/activate", "plain/activate"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert "not seen on this machine" not in _notes(tmp_path, capsys, line)


def _notes(folder: Path, capsys: pytest.CaptureFixture[str], line: str) -> str:
    """Return what `check` prints beside its answer."""
    text = json.dumps(line.format(here=folder))
    (folder / "project.yaml").write_text(f"name: x\ncommand: python train.py\ncluster: laptop\nenvironment: [{text}]\n")
    (folder / "train.py").write_text(TRAIN)
    with contextlib.chdir(folder):
        run(["check"])
    return capsys.readouterr().err
