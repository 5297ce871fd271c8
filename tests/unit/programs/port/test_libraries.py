"""`hackathon port` with Lightning, Trainer, Accelerate, Chainer and Keras: changes, questions, what stays as it is."""

import ast
import os
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.cli.main import run
from hackathon.programs.port.libraries import Target
from hackathon.programs.port.port import Ported, port
from hackathon.programs.port.source import SingleGpuProgram
from hackathon.text.errors import RequestError
from support.paths import RECIPES, ROOT, SAMPLES

FRAMEWORKS = ("lightning", "trainer", "accelerate", "chainer", "keras")
OWN_CODE = ROOT / "tests" / "recipes" / "own_code"
SURE = {
    "lightning": {"script", "arguments", "module"},
    "trainer": {"script", "arguments", "texts"},
    "accelerate": {"script", "functions", "trainer_class"},
    "chainer": {"script", "arguments", "loop", "extensions"},
    "keras": {"script", "callbacks", "loop"},
    "keras-multiworker": {"script"},
}
"""The programs of which nothing is asked."""
UNCHANGED = {("trainer", "script"), ("accelerate", "functions")}


def _cases() -> list[tuple[str, Path, Target]]:
    found: list[tuple[str, Path, Target]] = []
    for framework in FRAMEWORKS:
        for path in sorted((SAMPLES / "port" / framework).glob("*.py")):
            found.append((framework, path, "horovod"))
            if framework == "keras":
                found.append(("keras-multiworker", path, "multiworker"))
    return found


CASES = _cases()
NAMES = [f"{framework}-{path.stem}" for framework, path, _ in CASES]


def ported(text: str, target: Target = "horovod") -> Ported:
    return port(SingleGpuProgram(text.encode(), "train.py"), target)


def asked(made: Ported) -> set[str]:
    return {each.rule for each in made.findings if each.kind == "question"}


@pytest.mark.parametrize(("framework", "path", "target"), CASES, ids=NAMES)
def test_changes_are_the_reviewed_ones_and_made_once(framework: str, path: Path, target: Target) -> None:
    made = port(SingleGpuProgram(path.read_bytes(), path.name), target)
    said = "".join(f"{each.kind} {each.line} {each.rule}\n" for each in made.findings)
    golden = SAMPLES / "port" / "golden" / f"{framework}-{path.stem}.diff"
    if os.environ.get("HACKATHON_GOLDEN") == "write":
        golden.write_text(made.diff() + said)
    assert made.diff() + said == golden.read_text()
    assert made.status == "ported"
    assert made.sure is (path.stem in SURE[framework])
    assert (made.after == made.before) is ((framework, path.stem) in UNCHANGED)
    compile(made.after, "after", "exec", dont_inherit=True)
    for each in made.findings:
        if each.kind == "question" and each.line:
            assert f"# hackathon port: {each.message}\n".encode() in made.after
    # a program that was changed is not changed again
    if made.sure:
        again = port(SingleGpuProgram(made.after, "again.py"), target)
        assert again.after == made.after and again.sure
        assert again.status == ("ported" if framework in ("trainer", "accelerate") else "distributed")


@pytest.mark.parametrize(
    ("path", "framework"),
    [
        (RECIPES / "chainermn-mnist" / "train.py", "chainermn"),
        (RECIPES / "horovod-keras" / "train.py", "horovod"),
        (RECIPES / "horovod-torch" / "train.py", "horovod"),
        (OWN_CODE / "chainer_digits.py", "chainermn"),
        (OWN_CODE / "keras_digits.py", "tensorflow"),
        (OWN_CODE / "lightning_digits.py", "lightning"),
        (OWN_CODE / "horovod_synthetic.py", "horovod"),
    ],
    ids=lambda each: each.parent.name + each.stem if isinstance(each, Path) else each,
)
def test_distributed_programs_are_left_alone(path: Path, framework: str) -> None:
    made = port(SingleGpuProgram(path.read_bytes(), path.name))
    assert (made.framework, made.status, made.sure, made.after) == (framework, "distributed", True, made.before)


def test_a_program_that_reads_its_strategy_from_another_file_is_left_alone() -> None:
    path = RECIPES / "tensorflow-multiworker" / "train.py"
    made = port(SingleGpuProgram(path.read_bytes(), path.name))
    assert made.after == made.before and not made.sure


LIGHTNING = "import lightning as L\nimport torch\n"
CHAINER = """import chainer
from chainer import training
from chainer.training import extensions
model = chainer.links.Classifier(Net())
optimizer = chainer.optimizers.SGD().setup(model)
train, test = chainer.datasets.get_mnist()
it = chainer.iterators.SerialIterator(train, 8)
trainer = training.Trainer(training.StandardUpdater(it, optimizer))
trainer.run()
"""
KERAS = """import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, epochs=2)
"""
TAPE = """import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices(x).batch(4)
model, optimizer = tf.keras.Sequential(), tf.keras.optimizers.SGD()
for x in data:
    with tf.GradientTape() as tape:
        loss = model(x)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
ACCELERATE = """import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
loader = DataLoader(data)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x in loader:
    accelerator.backward(model(x))
"""
INSIDE = """import torch
from accelerate import Accelerator
def save(model):
    torch.save(model.state_dict(), "m")
def main():
    accelerator = Accelerator()
    model = accelerator.prepare(make())
    save(model)
main()
"""


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("ask-library-options", LIGHTNING + "L.Trainer(**options).fit(model)\n"),
        ("ask-library-devices", LIGHTNING + "L.Trainer(devices=4).fit(model)\n"),
        ("ask-library-devices", LIGHTNING + "L.Trainer(devices=[2]).fit(model)\n"),
        ("ask-library-devices", LIGHTNING + "L.Trainer(devices=1, strategy='dp').fit(model)\n"),
        ("ask-library-devices", LIGHTNING + "L.Trainer(num_nodes=nodes).fit(model)\n"),
        ("ask-library-cli", "from lightning.pytorch.cli import LightningCLI\nLightningCLI(Model)\n"),
        ("ask-download", LIGHTNING + "data = MNIST('.', download=True)\nL.Trainer().fit(model, data)\n"),
        ("ask-sampler", LIGHTNING + "d = torch.utils.data.DataLoader(x, batch_sampler=s)\nL.Trainer().fit(m, d)\n"),
        ("ask-file", LIGHTNING + "L.Trainer().fit(m)\nlog = open('log', 'w')\n"),
        ("ask-output", LIGHTNING + "t = L.Trainer()\nprint(t.fit(m))\n"),
        ("ask-split-seed", "from datasets import Dataset\nfrom transformers import Trainer\n"
                           "d = make().train_test_split(0.1)\nTrainer(m, train_dataset=d).train()\n"),
        ("ask-library-device", "import torch\nfrom transformers import Trainer\n"
                               "d = torch.device('cuda:0')\nTrainer(m)\n"),
        ("ask-accelerator", "from accelerate import Accelerator\nrun(Accelerator())\n"),
        ("ask-prepare", ACCELERATE.replace("for x in loader", "for x in DataLoader(data)")),
        ("ask-gather", ACCELERATE + "for x in loader:\n    right += model(x)\n"),
        ("ask-save", INSIDE),
        ("no-optimizer-chainer", "import chainer\nchainer.Link()\n"),
        ("ask-chainer-data", CHAINER.replace("(train, 8)", "(load(), 8)")),
        ("ask-chainer-data", CHAINER.replace("get_mnist()", "TransformDataset(d, lambda x: x), 1")),
        ("ask-chainer-iterator", CHAINER.replace("SerialIterator", "OrderSampler")),
        ("ask-chainer-share", CHAINER + "print(train[0])\n"),
        ("ask-chainer-device", CHAINER + "model.to_gpu(which())\n"),
        ("ask-chainer-device", CHAINER + "args = parser.parse_args()\nmodel.to_gpu(args.gpu)\n"),
        ("ask-chainer-comm", "import argparse\nparser.add_argument('--gpu', type=int, default=0)\n" + CHAINER
                             + "args = parser.parse_args()\nmodel.to_gpu(args.gpu)\n"),
        ("ask-multiprocess", CHAINER.replace("Serial", "Multiprocess")),
        ("ask-extension", CHAINER + "trainer.extend(mine)\n"),
        ("ask-break", CHAINER.replace("optimizer))", "optimizer), training.triggers.EarlyStoppingTrigger())")),
        ("no-loop-keras", "import tensorflow as tf\nprint(tf.constant(1))\n"),
        ("ask-keras-data", KERAS.replace("x, y,", "generator,")),
        ("ask-keras-data", "x = [one, two]\n" + KERAS),
        ("ask-keras-data", KERAS.replace("fit(x, y,", "fit(tf.data.TFRecordDataset('a'),")),
        ("ask-keras-data", KERAS.replace("model.fit(x, y", "def data(x):\n"
                                         "    return tf.data.Dataset.from_tensor_slices(x).batch(2)\n"
                                         "rest = data(z)\nmodel.fit(data(x)")),
        ("ask-keras-optimizer", KERAS.replace('"sgd"', "theirs")),
        ("ask-compile", KERAS.replace('optimizer="sgd", loss="mse"', "**options").replace("compile(", "compile(1, ")),
        ("ask-fit", KERAS.replace("epochs=2", "**options, epochs=2")),
        ("ask-fit", KERAS.replace("epochs=2", "steps_per_epoch=next(steps)")),
        ("ask-callback", KERAS.replace("epochs=2", "callbacks=[tf.keras.callbacks.TerminateOnNaN()]")),
        ("ask-callback", "class Own(tf.keras.callbacks.Callback):\n    def on_batch_end(self, *a):\n"
                         "        self.model.stop_training = True\n"
                         + KERAS.replace("epochs=2", "epochs=2, callbacks=[Own()]")),
        ("ask-callbacks", KERAS.replace("epochs=2", "epochs=2, callbacks=make()")),
        ("ask-reload", KERAS + "model.load_weights('best.h5')\n"),
        ("ask-mirrored", "import tensorflow as tf\ntf.distribute.MirroredStrategy()\n" + KERAS),
        ("ask-device", KERAS.replace("model.fit", "with tf.device('/GPU:1'):\n  model.fit")),
        ("ask-keras-3", "import keras\nkeras.ops.sum(1)\n" + KERAS),
        ("ask-keras-3", "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + KERAS),
        ("ask-train-on-batch", KERAS + "model.train_on_batch(x, y)\n"),
        ("ask-file", KERAS + "open('log.txt', 'w').write('x')\n"),
        ("ask-tape", TAPE.replace("tf.GradientTape()", "tf.GradientTape(persistent=True)")),
        ("ask-tape", TAPE + KERAS),
        ("ask-alike", TAPE.replace("model.trainable_variables)\n    opt", "variables)\n    opt")),
        ("ask-keras-data", TAPE.replace("in data", "in own_data()")),
    ],
)  # fmt: skip
def test_what_is_not_sure_is_asked(rule: str, text: str) -> None:
    made = ported(text)
    assert rule in asked(made), sorted(asked(made))
    assert not made.sure
    compile(made.after, "after", "exec")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("ask-tape-workers", TAPE),
        ("ask-workers-save", KERAS + "model.save('m.h5')\n"),
        ("ask-workers-scope", KERAS.replace("model = tf", "models = tf")),
        ("ask-keras-data", KERAS.replace("x, y,", "tf.data.Dataset.from_tensor_slices(x),")),
        ("ask-output", KERAS + "print(model.evaluate(x, y))\n"),
    ],
)
def test_what_is_not_sure_for_workers_is_asked(rule: str, text: str) -> None:
    made = ported(text, "multiworker")
    assert rule in asked(made), sorted(asked(made))


@pytest.mark.parametrize("text", [LIGHTNING + "L.Trainer(max_epochs=1).fit(m)\n", ACCELERATE, CHAINER, KERAS, TAPE])
def test_plain_programs_are_sure(text: str) -> None:
    made = ported(text)
    assert made.sure and made.status == "ported", asked(made)


def test_names_that_the_program_has_are_not_taken() -> None:
    after = ported("RANK = WORLD_SIZE = 1\n" + LIGHTNING + "L.Trainer().fit(m)\nprint(1)\n").after.decode()
    assert "WORLD_SIZE_ = int(" in after and "if RANK_ == 0:\n    print(1)" in after
    after = ported("comm = 2\n" + CHAINER + "print(1)\n").after.decode()
    assert "comm_ = chainermn.create_communicator" in after and "if comm_.rank == 0:" in after
    after = ported("import hvd\nshare = gpus = 1\n" + KERAS).after.decode()
    assert "import horovod.tensorflow.keras as hvd_" in after and "share_(x)" in after and "gpus_ = tf" in after


def test_other_users_of_tensorflow_and_chainer_are_no_keras_programs() -> None:
    loop = "import torch\nimport tensorflow as tf\nfor x in data:\n    loss.backward()\n"
    assert ported(loop).framework == "pytorch"
    assert ported("import tensorflow as tf\nimport sklearn\nPCA().fit(x)\n").status == "unknown"
    assert ported(KERAS + "scaler.fit(x)\nre.compile('a')\n").after.decode().count("hvd.callbacks.Metric") == 1


def test_gathering_is_seen_in_functions_and_missed_through_parameters() -> None:
    text = ACCELERATE + "def measure(batches):\n    for x in batches:\n        found(x)\nmeasure(loader)\n"
    assert asked(ported(text)) == {"ask-gather"}
    assert ported(text + "def found(x):\n    return accelerator.gather_for_metrics(x)\n").sure


def test_pools_are_no_data_sets() -> None:
    text = "import datasets\nfrom transformers import Trainer, TrainingArguments\nargs = TrainingArguments('o')\n"
    assert b"main_process_first" not in ported(text + "x = pool.map(f, y)\nTrainer(m, args).train()\n").after
    assert b"main_process_first" in ported(text + "x = data.map(f)\nTrainer(m, args).train()\n").after


@pytest.mark.parametrize("guard", ["rank == 0", "accelerator.is_main_process", "trainer.is_world_process_zero()"])
def test_lines_of_one_process_stay(guard: str) -> None:
    made = ported(ACCELERATE + f"if {guard}:\n    print(1)\n    torch.save(1, 'm')\n")
    assert made.after == made.before and made.sure


@pytest.mark.parametrize("page", ["from-one-gpu-to-many.md", "from-one-gpu-to-many.ja.md"])
def test_the_how_to_shows_what_the_command_does(page: str) -> None:
    text = (ROOT / "docs" / "how-to" / page).read_text()
    blocks = re.findall(r"```diff\n(.*?)```", text[text.index("## PyTorch Lightning") :], re.S)
    assert len(blocks) == 6
    for number, block in enumerate(blocks):
        lines = block.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        made = ported(before, "multiworker" if number == 5 else "horovod")
        assert made.after.decode() == after
        assert made.sure


def test_the_command_says_what_needs_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("from transformers import Trainer\nTrainer(model=m, args=a).train()\n")
    assert run(["port", "train.py", "--write"]) == 0
    out, err = capsys.readouterr()
    assert out == "" and "train.py: nothing needs to be changed" in err
    assert [each.name for each in tmp_path.iterdir()] == ["train.py"]
    assert run(["port", "train.py", "--strategy", "multiworker"]) == 2
    (tmp_path / "train.py").write_text(KERAS)
    assert run(["port", "train.py", "--write", "-o", "hvd.py"]) == 0
    assert "horovodrun -np 2 python hvd.py" in capsys.readouterr().err
    assert run(["port", "train.py", "--strategy", "multiworker", "--write"]) == 0
    assert "mpirun -np 2 python train.ported.py" in capsys.readouterr().err
    assert "MultiWorkerMirroredStrategy" in (tmp_path / "train.ported.py").read_text()
    assert run(["port", "hvd.py", "--strategy", "multiworker"]) == 0  # it is distributed already
    (tmp_path / "train.py").write_text(CHAINER)
    assert run(["port", "train.py", "--write", "-o", "chain.py"]) == 0
    assert "mpirun -np 2 python chain.py" in capsys.readouterr().err


def _statements() -> list[bytes]:
    """Return the statements of all sample programs, also those in functions, classes and loops."""
    found = set()
    for _, path, _ in CASES:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if isinstance(node, ast.stmt) and not isinstance(node, ast.Return) and not future:
                source = ast.get_source_segment(text, node, padded=True) or ""
                found.add(textwrap.dedent(source).encode() + b"\n")
    return sorted(found)


_PIECES = st.sampled_from(_statements())
_HEADS = st.sampled_from([LIGHTNING, ACCELERATE, CHAINER, KERAS, TAPE, "from transformers import Trainer\nTrainer()\n"])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(_HEADS, st.lists(_PIECES, max_size=12), st.sampled_from(["horovod", "multiworker"]))
def test_no_text_raises_and_what_is_made_is_python(head: str, lines: list[bytes], target: Target) -> None:
    raw = head.encode() + b"".join(lines)
    try:
        compile(raw, "before", "exec", dont_inherit=True)
        program = SingleGpuProgram(raw, "any.py")
    except (RequestError, SyntaxError):
        return
    made = port(program, target)
    compile(made.after, "after", "exec", dont_inherit=True)
    assert (not made.diff()) is (made.after == made.before)
