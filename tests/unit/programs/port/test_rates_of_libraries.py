"""A printed throughput after `port` with Accelerate, Keras and Chainer: whose samples it counts, or a question."""

from types import SimpleNamespace

import pytest

from hackathon.cli.main import run
from hackathon.logs.words import CustomaryWords
from hackathon.programs.port.libraries import Target
from hackathon.programs.port.port import Ported, port
from hackathon.programs.port.source import SingleGpuProgram

ACCELERATE = """import time
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
train_set, test_set = make()
batches = len(loader)
loader = DataLoader(train_set, batch_size=args.bs, shuffle=True)
test_loader = DataLoader(test_set, batch_size=args.bs)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    t0, seen, both = time.time(), 0, 0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        seen += len(x)
        both += accelerator.gather(torch.tensor(len(x))).sum().item()
        {inside}
    dt = time.time() - t0
    {behind}
"""
TAPE = """import time
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(100).batch(BATCH)
test_data = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).batch(BATCH)
model, optimizer = tf.keras.Sequential(), tf.keras.optimizers.SGD()

def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss

for epoch in range(3):
    t0, seen = time.time(), 0
    for i, (x, y) in enumerate(data):
        loss = step(x, y)
        seen += x.shape[0]
        {inside}
    dt = time.time() - t0
    {behind}
"""
FIT = """import time
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
t0 = time.time()
model.fit(x_train, y_train, batch_size=BATCH, epochs=3)
dt = time.time() - t0
{behind}
"""
CHAINER = """import time
import chainer
from chainer import iterators, optimizers
model = chainer.links.Classifier(Net())
optimizer = optimizers.SGD()
optimizer.setup(model)
train, test = chainer.datasets.get_mnist()
whole = len(train)
train_iter = iterators.SerialIterator(train, args.batchsize)
test_iter = iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)
t0, seen, tested = time.time(), 0, 0
while train_iter.epoch < 3:
    batch = train_iter.next()
    x, t = chainer.dataset.concat_examples(batch)
    model.cleargrads()
    loss = model(x, t)
    loss.backward()
    optimizer.update()
    seen += len(batch)
    if train_iter.is_new_epoch:
        test_iter.reset()
        for test_batch in test_iter:
            tested += len(test_batch)
        dt = time.time() - t0
        {behind}
"""
UPDATER = """import time
import chainer
from chainer import training
model = chainer.links.Classifier(Net())
optimizer = chainer.optimizers.SGD().setup(model)
train, test = chainer.datasets.get_mnist()
it = chainer.iterators.SerialIterator(train, args.batchsize)
updater = training.StandardUpdater(it, optimizer)
trainer = training.Trainer(updater, (3, "epoch"))
t0 = time.time()
trainer.run()
dt = time.time() - t0
{behind}
"""


def ported(template: str, behind: str = "pass", inside: str = "pass", target: Target = "horovod") -> Ported:
    text = template.replace("{behind}", behind).replace("{inside}", inside)
    return port(SingleGpuProgram(text.encode(), "train.py"), target)


def rules(made: Ported) -> set[str]:
    return {each.rule for each in made.findings}


@pytest.mark.parametrize(
    ("template", "given", "made"),
    [
        (ACCELERATE, "seen / dt", "accelerator.num_processes * seen / dt"),
        (ACCELERATE, "args.bs * (i + 1) / dt", "accelerator.num_processes * args.bs * (i + 1) / dt"),
        (ACCELERATE, "len(loader) * args.bs / dt", "accelerator.num_processes * len(loader) * args.bs / dt"),
        (ACCELERATE, "len(loader.dataset) / dt", "len(loader.dataset) / dt"),
        (ACCELERATE, "len(train_set) / dt", "len(train_set) / dt"),
        (ACCELERATE, "accelerator.num_processes * seen / dt", "accelerator.num_processes * seen / dt"),
        (TAPE, "seen / dt", "hvd.size() * seen / dt"),
        (TAPE, "BATCH * (i + 1) / dt", "hvd.size() * BATCH * (i + 1) / dt"),
        (TAPE, "len(data) * BATCH / dt", "hvd.size() * len(data) * BATCH / dt"),
        (TAPE, "len(images) / dt", "len(images) / dt"),
        (TAPE, "images.shape[0] / dt", "images.shape[0] / dt"),
        (FIT, "3 * len(x_train) / dt", "3 * len(x_train) / dt"),
        (FIT, "3 * x_train.shape[0] / dt", "3 * x_train.shape[0] / dt"),
        (CHAINER, "seen / dt", "comm.size * seen / dt"),
        (CHAINER, "args.batchsize * train_iter.iteration / dt",
         "comm.size * args.batchsize * train_iter.iteration / dt"),
        (CHAINER, "len(train) / dt", "comm.size * len(train) / dt"),
        (CHAINER, "whole / dt", "whole / dt"),
        (CHAINER.replace("loss.backward()", "").replace(".update()", ".update(model, x, t)"), "seen / dt",
         "comm.size * seen / dt"),
        (UPDATER, "3 * len(train) / dt", "comm.size * 3 * len(train) / dt"),
        (UPDATER, "updater.iteration * args.batchsize / dt", "comm.size * updater.iteration * args.batchsize / dt"),
    ],
)  # fmt: skip
def test_the_rate_of_all_processes(template: str, given: str, made: str) -> None:
    found = ported(template, f'print(f"{{{given}:.1f}} samples/s")')
    assert "ask-throughput" not in rules(found) and "do-throughput" in rules(found), found.diff()
    assert f'print(f"{{{made}:.1f}} samples/s (total)")' in found.after.decode()


@pytest.mark.parametrize("template", [ACCELERATE, TAPE, CHAINER])
def test_nothing_else_is_asked_in_these_programs(template: str) -> None:
    assert ported(template, 'print(f"{seen / dt:.1f} samples/s")').sure


@pytest.mark.parametrize(
    ("template", "given"),
    [
        *((each, f'print(f"{rate}")')
          for each in (ACCELERATE, TAPE, CHAINER)
          for rate in ("{seen / dt:.1f} samples/s/gpu", "{seen / dt:.1f} steps/s", "test: {seen / dt} samples/s")),
        (ACCELERATE, 'print(f"{len(test_set) / dt:.1f} samples/s")'),
        (ACCELERATE, 'print(f"total: {both / dt:.1f} samples/s")'),  # it is the sum of all processes already
        (TAPE, 'print(f"{len(test_images) / dt:.1f} samples/s")'),
        (FIT, 'model.predict(x_test)\nprint(f"{len(x_test) / dt:.1f} samples/s")'),
        (CHAINER, 'print("target: 900 samples/s")'),
    ],
)  # fmt: skip
def test_what_is_no_such_throughput_stays(template: str, given: str) -> None:
    found = ported(template, given)
    assert given in found.after.decode() or given.split("\n")[-1] in found.after.decode()
    assert not {"do-throughput", "ask-throughput"} & rules(found)


@pytest.mark.parametrize(
    ("template", "rate"),
    [
        (ACCELERATE, "both / dt"),
        (ACCELERATE, "50000 / dt"),
        (ACCELERATE, "batches * args.bs / dt"),  # counted before `prepare()` divides
        (ACCELERATE, "len(test_loader) * args.bs / dt"),
        (ACCELERATE, "seen / accelerator.num_processes * len(train_set) / dt"),
        (ACCELERATE, 'int(os.environ["WORLD_SIZE"]) * seen / dt'),
        (ACCELERATE.replace("Accelerator()", "Accelerator(split_batches=True)"), "args.bs * (i + 1) / dt"),
        (ACCELERATE.replace("Accelerator()", "Accelerator(**options)"), "seen / dt"),
        (ACCELERATE.replace("optimizer, loader =", "optimizer =").replace("optimizer, loader)", "optimizer)")
         .replace("for i, (x, y) in enumerate(loader)", "for i, (x, y) in enumerate(DataLoader(train_set))"),
         "len(train_set) / dt"),
        (TAPE, "50000 / dt"),
        (TAPE, "meter.rate()"),
        (TAPE, "len(test_data) * BATCH / dt"),
        (TAPE, "(seen + len(images)) / dt"),
        (TAPE.replace("enumerate(data)", "enumerate(own_data())"), "len(images) / dt"),
        (TAPE.replace("GradientTape()", "GradientTape(persistent=True)"), "seen / dt"),
        (FIT, "BATCH * steps / dt"),
        (CHAINER, "60000 / dt"),
        (CHAINER, "tested / dt"),  # in the middle of a training
        (CHAINER, "seen / dt + whole / dt"),
        (UPDATER.replace("(train, args", "(load(), args"), "len(train) / dt"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_asked(template: str, rate: str) -> None:
    found = ported(template, f"print(f'{{{rate}:.1f}} samples/s')")
    assert "ask-throughput" in rules(found) and not found.sure
    assert f"print(f'{{{rate}:.1f}} samples/s')" in found.after.decode()


def test_where_the_number_of_processes_is_not_known_is_asked() -> None:
    early = "args = parser.parse_args()\nmodel.to_gpu(args.gpu)\n"
    first = 'print(f"{len(train) / dt:.1f} samples/s")\n'
    parser = "import argparse\nparser.add_argument('--gpu', type=int, default=0)\n"
    found = ported(parser + "import chainer\ntrain = load()\n" + first + UPDATER + early)
    assert "ask-throughput" in rules(found) and first in found.after.decode()
    report = 'def report(n, dt):\n    print(f"{n / dt:.1f} samples/s")\n'
    main = report + "def main():\n" + ACCELERATE.split("Accelerator\n", 1)[1].split("\n", 1)[1].replace("\n", "\n    ")
    main = main.replace("def main():\n", "def main():\n    accelerator = Accelerator()\n    ").replace(
        "        {in", "{in"
    )
    text = "import time\nimport torch\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\n"
    found = ported(text + main.rstrip().replace("{inside}", "        pass") + "\nmain()\n", "report(seen, dt)")
    assert "ask-throughput" in rules(found)


def test_the_print_of_accelerate() -> None:
    found = ported(ACCELERATE, 'accelerator.print(f"{seen / dt:.1f} images/s")')
    assert found.sure
    line = 'accelerator.print(f"{accelerator.num_processes * seen / dt:.1f} images/s (total)")'
    assert f"    {line}\n" in found.after.decode()


def test_a_loader_with_another_name_behind_prepare() -> None:
    text = ACCELERATE.replace("optimizer, loader =", "optimizer, own =").replace("enumerate(loader)", "enumerate(own)")
    found = ported(text, 'print(f"{len(own) * args.bs / dt:.1f} samples/s")')
    assert "{accelerator.num_processes * len(own) * args.bs / dt:.1f} samples/s (total)" in found.after.decode()
    found = ported(text, 'print(f"{len(own.dataset) / dt:.1f} samples/s")')
    assert "{len(own.dataset) / dt:.1f} samples/s (total)" in found.after.decode()


def test_a_program_of_accelerate_that_multiplies_by_itself() -> None:
    text = ACCELERATE.replace("batches = len(loader)", "all_of_them = args.bs * accelerator.num_processes")
    found = ported(text, 'print(f"{all_of_them * (i + 1) / dt:.1f} samples/s")')
    assert found.sure and "{all_of_them * (i + 1) / dt:.1f} samples/s (total)" in found.after.decode()
    found = ported(text, 'print(f"{(i + 1) * all_of_them // accelerator.num_processes / dt:.1f} samples/s")')
    assert "ask-throughput" in rules(found)


@pytest.mark.parametrize(
    "rate", ["seen / dt", "seen / dt if dt else 0", "round(seen / dt)", "len(loader.dataset) / dt"]
)
def test_a_ported_program_of_accelerate_is_not_changed_again(rate: str) -> None:
    first = ported(ACCELERATE, f'speed = {rate}\n    print(f"{{speed:.1f}} samples/s, {{{rate}:.2f}} images/s")')
    assert first.sure and first.after.decode().count("(total)") == 2
    again = port(SingleGpuProgram(first.after, "again.py"))
    assert again.sure and again.after == first.after


def test_the_other_target_of_keras() -> None:
    found = ported(FIT, 'print(f"{3 * len(x_train) / dt:.1f} samples/s")', target="multiworker")
    assert 'print(f"{3 * len(x_train) / dt:.1f} samples/s (total)")' in found.after.decode()
    found = ported(FIT, 'print(f"{BATCH * steps / dt:.1f} samples/s")', target="multiworker")
    assert "ask-throughput" in rules(found) and "strategy.num_replicas_in_sync" in found.after.decode()


@pytest.mark.parametrize("template", [ACCELERATE, TAPE, CHAINER])
def test_the_reader_of_logs_knows_it_for_that_of_all(template: str) -> None:
    found = ported(template, 'print(f"{seen / dt:.1f} samples/s")')
    (line,) = (each.strip() for each in found.after.decode().splitlines() if each.strip().startswith("print("))
    names = {
        "seen": 100, "dt": 4.0, "accelerator": SimpleNamespace(num_processes=2), "comm": SimpleNamespace(size=2),
        "hvd": SimpleNamespace(size=lambda: 2),
    }  # fmt: skip
    assert list(CustomaryWords().read(eval(line.removeprefix("print"), names))) == [("samples_per_s/all", 50.0)]


def test_the_command_exits_with_1_for_a_question(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    for rate, code in (("seen", 0), ("50000", 1)):
        line = f'print(f"{{{rate} / dt:.1f}} samples/s")'
        (tmp_path / "train.py").write_text(TAPE.replace("{behind}", line).replace("{inside}", "pass"))
        assert run(["port", "train.py"]) == code
