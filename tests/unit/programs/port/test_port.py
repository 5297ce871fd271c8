"""`hackathon port`: what it changes, what it asks, what it leaves alone."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.port import Ported, port
from hackathon.programs.port.source import DEEPEST, LARGEST, SingleGpuProgram, read_program
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from support.paths import RECIPES, ROOT, SAMPLES

PROGRAMS = sorted((SAMPLES / "port" / "programs").glob("*.py"))
UNSURE = {
    "notebook": {"ask-notebook", "ask-output"},
    "stream": {"ask-iterable"},
}
"""The programs of which something is asked, and what."""
HEAD = """import torch
from torch import nn
from torch.utils.data import DataLoader
"""
LOOP = """
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=4, shuffle=True)
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""
GLOBAL = "model = Net()\ndef main():\n" + LOOP.split("2)\n")[1].replace("\n", "\n    ").join(("    ", "\nmain()\n"))
RETURNED = """
def make():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 1)
    return model, optimizer
model, optimizer = make()
""" + LOOP.split("0.1)\n")[1]


def ported(text: str) -> Ported:
    return port(SingleGpuProgram(text.encode(), "train.py"))


def asked(made: Ported) -> set[str]:
    return {each.rule for each in made.findings if each.kind == "question"}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda each: each.stem)
def test_changes_are_the_reviewed_ones_and_made_once(path: Path) -> None:
    made = port(SingleGpuProgram(path.read_bytes(), path.name))
    said = "".join(f"{each.kind} {each.line} {each.rule}\n" for each in made.findings)
    golden = path.parent.with_name("golden") / f"{path.stem}.diff"
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(made.diff() + said)
    assert made.diff() + said == golden.read_text()
    assert asked(made) == UNSURE.get(path.stem, set())
    assert made.sure is (path.stem not in UNSURE)

    again = port(SingleGpuProgram(made.after, "again.py"))
    assert (again.status, again.after, again.sure) == ("distributed", made.after, True)


@pytest.mark.parametrize("recipe", ["torch-ddp/train.py", "shared/processes.py"])
def test_distributed_programs_are_left_alone(recipe: str) -> None:
    made = port(SingleGpuProgram((RECIPES / recipe).read_bytes(), recipe))
    assert made.after == made.before
    assert made.status in ("distributed", "unknown")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("ask-models", HEAD + LOOP.replace("loader =", "second = torch.optim.SGD(other.parameters(), 1)\nloader =")),
        ("ask-data", HEAD + LOOP.replace("DataLoader(data, batch_size=4, shuffle=True)", "theirs.make_loader()")),
        ("ask-sampler", HEAD + LOOP.replace("batch_size=4, shuffle=True", "batch_sampler=Own(data)")),
        ("ask-loader", HEAD + LOOP.replace("batch_size=4, shuffle=True", "**options")),
        ("ask-rate", HEAD + LOOP + "    optimizer.param_groups[0]['lr'] *= 0.5\n"),
        ("ask-backward", HEAD + LOOP.replace("loss.backward()", "loss.backward()\n        more.backward()")),
        ("ask-share", HEAD + LOOP + "for x, y in loader:\n    right += (model(x) == y).sum()\n"),
        ("ask-reload", HEAD + LOOP + "torch.save(1, 'm')\nif best:\n    model.load_state_dict(torch.load('m'))\n"),
        ("ask-where-model", HEAD + GLOBAL), ("ask-returned", HEAD + RETURNED),
        ("ask-step", HEAD + LOOP.replace("SGD", "LBFGS").replace("optimizer.step()", "optimizer.step(closure)")),
        ("ask-step", HEAD + LOOP + "    plateau.step(loss.item())\n"),
        ("ask-split", HEAD + "data, rest = torch.utils.data.random_split(whole, [90, 10])\n" + LOOP),
        ("ask-output", "x = 1\n" + HEAD + "def test():\n    return model(x)\n" + LOOP + "    print(test())\n"),
        ("ask-break", HEAD + LOOP + "        if loss.item() < 0.1:\n            break\n"),
        ("ask-break", HEAD + LOOP + "    if loss.item() > best:\n        bad += 1\n    if bad > 3:\n        break\n"),
        ("ask-device", HEAD + LOOP.replace("nn.Linear(2, 2)", "nn.Linear(2, 2).to('cuda:1')")),
        ("ask-visible", "import os\n" + HEAD + "os.environ['CUDA_VISIBLE_DEVICES'] = '0'\n" + LOOP),
        ("ask-method", HEAD + LOOP.replace("model(x)", "model.encode(x)")),
        ("ask-epoch", HEAD + LOOP.replace("for epoch in range(3):", "while epoch < 3:")),
        ("ask-length", HEAD + LOOP + "    print(loss.item() / len(data))\n"),
        ("ask-alias", HEAD + LOOP.replace("optimizer =", "average = Average(model)\noptimizer =")),
        ("ask-logger", HEAD + "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n" + LOOP),
        ("ask-download", HEAD + "data = MNIST('.', download=True)\n" + LOOP),
        ("ask-exit", "import sys\n" + HEAD + LOOP + "sys.exit(0)\n"),
        ("ask-dataparallel", HEAD + LOOP.replace("optimizer =", "model = nn.DataParallel(model)\noptimizer =")),
        ("ask-accumulate", HEAD + LOOP.replace("        opt", "        n = n + 1\n        if n % 4:\n            opt")),
        ("ask-no-loader", HEAD + LOOP.replace("for x, y in loader", "if x").replace("for epoch in range(3)", "if 1")),
        ("no-loop", "import torch\nfrom fastai.vision.all import *\nlearn.fit(3)\n"),
        ("not-started", HEAD + "def train(loss):\n    loss.backward()\n"),
        ("no-framework", "import numpy\n"),
        ("ask-library-device", "import lightning as L\nL.Trainer(max_epochs=1).fit(model.cuda())\n"),
        ("ask-library-devices", "from pytorch_lightning import Trainer\nTrainer(gpus=1).fit(model)\n"),
        ("ask-library-device", "from accelerate import Accelerator\na = Accelerator()\nmodel.to('cuda')\n"),
    ],
)  # fmt: skip
def test_what_is_not_sure_is_asked(rule: str, text: str) -> None:
    made = ported(text)
    assert rule in asked(made)
    assert not made.sure
    place = next(each for each in made.findings if each.rule == rule)
    if place.line:
        assert f"# hackathon port: {place.message}\n".encode() in made.after
    compile(made.after, "after", "exec")


def test_a_plain_loop_is_sure() -> None:
    made = ported(HEAD + LOOP)
    assert made.sure and made.status == "ported"


@pytest.mark.parametrize(
    "condition",
    [
        "mean_rank < 3", "args.lora_rank", "use_ranking", "matrix_rank(x) == 2", "full_rank", "args.sort == 'rank'",
        "mode in ('rank', 'loss')", "ranked", "low_rank and epoch", "is_ranking",
    ],
)  # fmt: skip
def test_a_save_under_a_condition_that_holds_everywhere_becomes_one_process_s(condition: str) -> None:
    made = ported(HEAD + LOOP + f"if {condition}:\n    torch.save(model.state_dict(), 'm')\n")
    assert f"if {condition}:\n    if RANK == 0:\n        torch.save(" in made.after.decode(), made.after.decode()
    assert "do-save" in {each.rule for each in made.findings}


@pytest.mark.parametrize(
    "condition",
    [
        "args.local_rank == 0", "dist.get_rank() == 0", "hvd.rank() == 0", "is_main_process()", "not myRank",
        "trainer.is_global_zero", "rank in (-1, 0)", "int(os.environ['LOCAL_RANK']) == 0", "is_rank_0", "isRank0()",
        "os.environ.get('OMPI_COMM_WORLD_RANK', '0') == '0'", "comm.intra_rank == 0", "self.global_rank_ == 0",
        "accelerator.is_local_main_process", "xm.is_master_ordinal()", "is_rank_zero and epoch > 3",
    ],
)  # fmt: skip
def test_a_save_of_one_process_is_left_as_it_is(condition: str) -> None:
    made = ported("import os\n" + HEAD + LOOP + f"if {condition}:\n    torch.save(model.state_dict(), 'm')\n")
    assert f"if {condition}:\n    torch.save(" in made.after.decode()
    assert "do-save" not in {each.rule for each in made.findings}


def test_the_model_is_known_by_the_names_that_a_class_gives_it() -> None:
    text = """
class Trainer:
    def __init__(self, net):
        self.net = net

    def report(self):
        return self.net.fc.weight, len(self.net)

print(Trainer(model).report)
"""
    after = ported(HEAD + LOOP + text).after.decode()
    assert "return unwrapped(self.net).fc.weight, len(unwrapped(self.net))" in after


def test_names_that_the_program_has_are_not_taken() -> None:
    text = "RANK = 3\nWORLD_SIZE = 4\ndist = DistributedSampler = unwrapped = None\n"
    made = ported(HEAD + text + LOOP + "torch.save(model.state_dict(), 'm.pt')\n").after.decode()
    assert "RANK_ = int(" in made and "WORLD_SIZE_ = int(" in made
    assert "import torch.distributed as dist_\n" in made
    assert "import DistributedSampler as DistributedSampler_\n" in made
    assert "torch.save(unwrapped_(model).state_dict(), 'm.pt')" in made


def test_a_library_that_distributes_itself_needs_no_change() -> None:
    made = ported("from transformers import Trainer\nTrainer(model=m, args=a).train()\n")
    assert (made.status, made.sure, made.after) == ("ported", True, made.before)
    assert {each.rule for each in made.findings} == {"library-trainer", "note-trainer-batch"}


@pytest.mark.parametrize(
    ("raw", "line"),
    [(b"x = 1\nprint 'x'\n", 2), (b"x = '\xff'\n", 1), (b"\0", 1), (b"# coding: klingon\n", 1), (b"if x:\n", 1)],
)
def test_what_is_not_python_is_refused_with_its_line(raw: bytes, line: int) -> None:
    with pytest.raises(RequestError) as caught:
        SingleGpuProgram(raw, "old.py")
    assert caught.value.id == "port.syntax"
    assert caught.value.values["line"] == line


@pytest.mark.parametrize(
    "raw",
    [b"x = " + b"-" * 3000 + b"1\n", b"x = " + b"(" * 90 + b")" * 90, b"x = a" + b".b" * 5000,
     b"x = " + b"1 + " * 5000 + b"1", b"x = [" * 1 + b"[" * (DEEPEST + 20) + b"]" * (DEEPEST + 21)],
)  # fmt: skip
def test_a_deep_program_is_refused_or_reproduced(raw: bytes) -> None:
    try:
        program = SingleGpuProgram(raw, "deep.py")
    except RequestError as error:
        assert error.id in ("port.too_deep", "port.syntax")
    else:
        assert port(program).after == raw


def test_programs_of_others_are_data(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "train.py").write_text(f"open({str(mark)!r}, 'w')\n{HEAD}{LOOP}")
    assert port(read_program(tmp_path / "train.py")).status == "ported"
    assert not mark.exists()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"#" * (LARGEST + 1))
    (tmp_path / "binary").write_bytes(b"x = 1\n\0")
    for name in ("pipe", "long", "binary", ".", "missing"):
        with pytest.raises(RequestError) as caught:
            read_program(tmp_path / name)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("encoding", ["latin-1", "shift_jis", "utf-8-sig", "euc-jp"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_any_encoding_is_kept(encoding: str, language: str) -> None:
    line = "" if encoding == "utf-8-sig" else f"# coding: {encoding}\n"
    name = "é" if encoding == "latin-1" else "学習"
    raw = f"{line}{HEAD}# {name}\n{LOOP}    optimizer.param_groups[0]['lr'] = 1\n".encode(encoding)
    with speaking(language):
        made = port(SingleGpuProgram(raw, "train.py"))
        made.as_json()
    assert asked(made) == {"ask-rate"}
    assert f"# {name}\n" in made.after.decode(encoding)
    assert made.after.startswith(b"\xef\xbb\xbf") is (encoding == "utf-8-sig")
    compile(made.after, "after", "exec")


def test_a_long_program_is_refused() -> None:
    with pytest.raises(RequestError, match="bytes"):
        SingleGpuProgram(b"#" * (LARGEST + 1), "long.py")


_SOURCES = [
    path.read_bytes()
    for folder in ("recipes/torch-ddp", "recipes/shared", "recipes/horovod-keras", "tests/samples/port/programs")
    for path in sorted((ROOT / folder).glob("*.py"))
]
_PIECES = st.sampled_from(
    sorted({line + b"\n" for raw in _SOURCES for line in raw.split(b"\n")} | {b"\r\n", b"\t", b"\x0c\n"})
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_PIECES, max_size=12).map(b"".join) | st.text().map(lambda text: text.encode("utf-8", "replace")))
def test_no_text_raises_and_no_change_keeps_every_byte(raw: bytes) -> None:
    try:
        program = SingleGpuProgram(raw, "any.py")
    except RequestError:
        return
    assert Edits(program).made() == raw
    made = port(program)
    compile(made.after, "after", "exec", dont_inherit=True)
    assert (not made.diff()) is (made.after == made.before)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_line_ends_stay(end: bytes) -> None:
    raw = (HEAD + LOOP).encode().replace(b"\n", end)
    after = port(SingleGpuProgram(raw, "train.py")).after
    assert after.count(b"\n") == after.count(end)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(HEAD + LOOP)
    return tmp_path


def test_command_shows_and_writes_never_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "hackathon_runtime.py").write_text("x = 1\n")  # `init` put it there
    assert run(["port"]) == 0  # the only program here
    (folder / "hackathon_runtime.py").unlink()
    out, err = capsys.readouterr()
    assert out.startswith("--- train.py\n+++ train.ported.py\n@@")
    assert "hackathon port train.py --write" in err
    assert [each.name for each in folder.iterdir()] == ["train.py"]
    assert run(["port", "train.py", "--write"]) == 0
    assert (folder / "train.ported.py").read_bytes() == ported(HEAD + LOOP).after
    assert run(["port", "train.py", "--write"]) == 2
    assert run(["port", "train.py", "--write", "-o", "new.py"]) == 0
    assert run(["port", "train.py", "-o", "other.py"]) == 2
    assert run(["port", "new.py", "--write"]) == 0
    assert "already" in capsys.readouterr().err
    assert not (folder / "new.ported.py").exists()
    assert run(["port", "missing.py"]) == 2
    assert run(["port"]) == 2  # which one?


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("python -u train.py --lr {lr}", [], "`command: python -u train.ported.py --lr {lr}`"),
        ("python train.py --note 'a: b'", [], "`command: \"python train.ported.py --note 'a: b'\"`"),
        ("torchrun --nproc_per_node 2 train.py", ["-o", "ddp.py"], "`command: python ddp.py`"),
        ("./train.py --lr {lr}", [], "`command: python train.ported.py --lr {lr}`"),
        ("python other.py", [], "torchrun --standalone"),
        ("bash run.sh", [], "torchrun --standalone"),
        ("python -m train", [], "torchrun --standalone"),
        ("python train.py", ["-o", "../ddp.py"], "torchrun --standalone"),
    ],
)
def test_in_a_project_it_names_the_command_to_set(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, words: list[str], said: str
) -> None:
    (folder / "lab").mkdir()
    (folder / "train.py").rename(folder / "lab/train.py")
    project = {"name": "x", "command": command, "parameters": {"lr": 0.1}}
    (folder / "lab/project.yaml").write_text(json.dumps(project))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "lab")
        assert run(["port", "train.py", "--write", *words]) == 0
    told = capsys.readouterr().err
    assert said in told and ("hackathon try" in told) is said.startswith("`")


def test_json_has_the_shape_of_all_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").write_text(HEAD + LOOP + "    optimizer.param_groups[0]['lr'] *= 0.5\n")
    assert run(["port", "train.py", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["schema_version"] == 1
    (file,) = value["files"]
    assert (file["path"], file["dialect"], file["sure"]) == ("train.py", "pytorch", False)
    assert all(
        set(each) == {"line", "rule", "severity", "message", "effect", "replacement"} for each in file["findings"]
    )
    assert [each["rule"] for each in file["findings"] if each["severity"] == "error"] == ["ask-rate"]


def test_without_libcst_it_says_how_to_get_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["port", "train.py"]) == 2
    said = capsys.readouterr().err
    assert "pip install libcst" in said and "wheelhouse" in said


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    import subprocess
    import sys

    code = "import sys, hackathon.cli.main, hackathon.cli.port; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_loop_that_trains_and_evaluates_is_asked_about() -> None:
    text = (
        HEAD
        + """
def run_epoch(model, loader, optimizer=None):
    right = 0
    for x, y in loader:
        out = model(x)
        if optimizer is not None:
            nn.functional.cross_entropy(out, y).backward()
            optimizer.step()
        right += (out.argmax(1) == y).sum().item()
    return right / len(loader.dataset)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train = DataLoader(data, batch_size=4, shuffle=True)
test = DataLoader(held_out, batch_size=4)
for epoch in range(3):
    run_epoch(model, train, optimizer)
    accuracy = run_epoch(model, test)
"""
    )
    assert "ask-share" in asked(ported(text))
