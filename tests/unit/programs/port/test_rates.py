"""A printed throughput after `port`: rank 0 alone prints it, and the reader of logs takes it for that of all."""

import pytest

from hackathon.logs.words import CustomaryWords
from hackathon.programs.port.port import Ported, port
from hackathon.programs.port.source import SingleGpuProgram

HEAD = """import time
import torch
from torch import nn
from torch.utils.data import DataLoader
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train_set, test_set = make()
loader = DataLoader(train_set, batch_size=args.bs, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)
"""
LOOP = """for epoch in range(3):
    t0 = time.time()
    seen, total = 0, 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
        seen += len(x)
        {inside}
    dt = time.time() - t0
    {behind}
"""
LOOP_OF_A_FUNCTION = """
def train(loader):
    {inner}
    return total / seen, seen, seen / dt

loss, n, speed = train(loader)
"""


def program(behind: str = "pass", inside: str = "pass") -> str:
    return HEAD + LOOP.replace("{behind}", behind).replace("{inside}", inside)


def ported(text: str) -> Ported:
    return port(SingleGpuProgram(text.encode(), "train.py"))


def printed(made: Ported) -> str:
    (line,) = (each.strip() for each in made.after.decode().splitlines() if each.strip().startswith("print("))
    return line


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ('print(f"{seen / dt:.1f} samples/s")', 'print(f"{WORLD_SIZE * seen / dt:.1f} samples/s (total)")'),
        ('print(f"throughput: {(seen / dt):.1f} imgs/sec")',
         'print(f"throughput: {WORLD_SIZE * (seen / dt):.1f} imgs/sec (total)")'),
        ('print(f"loss {total / seen:.3f}, images/s: {round(seen / dt)}")',
         'print(f"loss {total / seen:.3f}, total images/s: {WORLD_SIZE * round(seen / dt)}")'),
        ('print(f"{len(loader.dataset) / dt:,.0f} images/s")',
         'print(f"{WORLD_SIZE * len(loader.sampler) / dt:,.0f} images/s (total)")'),
        ('print(f"{len(train_set) / dt:.1f} examples/s, {x.shape}")',
         'print(f"{len(train_set) / dt:.1f} examples/s (total), {x.shape}")'),
        ('print(f"{len(loader) * args.bs / dt:.1f} images/s")',
         'print(f"{WORLD_SIZE * len(loader) * args.bs / dt:.1f} images/s (total)")'),
        ('speed = seen / dt\n    print("%d: %.1f samples/s, loss %.3f" % (epoch, speed, total))',
         'print("%d: %.1f samples/s (total), loss %.3f" % (epoch, WORLD_SIZE * speed, total))'),
        ('speed = seen / dt\n    print("%.1f samples/s" % speed)',
         'print("%.1f samples/s (total)" % (WORLD_SIZE * speed))'),
        ('print("epoch {}: {:.1f} samples/s".format(epoch, seen / dt))',
         'print("epoch {}: {:.1f} samples/s (total)".format(epoch, WORLD_SIZE * seen / dt))'),
        ('print("speed:", seen / dt, "samples/s")', 'print("speed:", WORLD_SIZE * seen / dt, "samples/s (total)")'),
        ('print(f"{seen / dt if dt else 0:.1f} samples/s")',
         'print(f"{WORLD_SIZE * (seen / dt if dt else 0):.1f} samples/s (total)")'),
        ('print(f"total: {seen / dt:.1f} samples/s")', 'print(f"total: {WORLD_SIZE * seen / dt:.1f} samples/s")'),
        ('print(f"速度 {seen / dt:.1f} 枚/秒")', 'print(f"速度 {WORLD_SIZE * seen / dt:.1f} 枚/秒 (total)")'),
        ('print("{1:.1f} samples/s in epoch {0}".format(epoch, seen / dt))',
         'print("{1:.1f} samples/s (total) in epoch {0}".format(epoch, WORLD_SIZE * seen / dt))'),
        ('print("{rate:.1f} samples/s, {0}, {{x}}".format(epoch, rate=seen / dt))',
         'print("{rate:.1f} samples/s (total), {0}, {{x}}".format(epoch, rate=WORLD_SIZE * seen / dt))'),
        ('print("{:>{}} samples/s, loss {:.3f}".format(seen / dt, 9, total / seen))',
         'print("{:>{}} samples/s (total), loss {:.3f}".format(WORLD_SIZE * seen / dt, 9, total / seen))'),
        ('print("{1}/{0}: {2:.1f} samples/s".format(3, epoch, seen / dt, "more than needed"))',
         'print("{1}/{0}: {2:.1f} samples/s (total)".format(3, epoch, WORLD_SIZE * seen / dt, "more than needed"))'),
        ('print("\\N{EM DASH} {:.1f} samples/s".format(seen / dt))',
         'print("\\N{EM DASH} {:.1f} samples/s (total)".format(WORLD_SIZE * seen / dt))'),
        ('print("100%% done, %.1f samples/s" % (seen / dt))',
         'print("100%% done, %.1f samples/s (total)" % (WORLD_SIZE * (seen / dt)))'),
        ('speed = seen / dt\n    print("100%% done, %.1f samples/s" % speed)',
         'print("100%% done, %.1f samples/s (total)" % (WORLD_SIZE * speed))'),
        ('print("%*d: %.*f samples/s" % (5, epoch, 1, seen / dt))',
         'print("%*d: %.*f samples/s (total)" % (5, epoch, 1, WORLD_SIZE * seen / dt))'),
        ('print("%(e)d: %(r).1f samples/s" % {"r": seen / dt, "e": epoch})',
         'print("%(e)d: %(r).1f samples/s (total)" % {"r": WORLD_SIZE * seen / dt, "e": epoch})'),
        ('print(f"{seen / dt:.1f} samples/s, {9 * seen / dt:.1f} tokens/s")',
         'print(f"{WORLD_SIZE * seen / dt:.1f} samples/s (total), {WORLD_SIZE * 9 * seen / dt:.1f} tokens/s (total)")'),
    ],
)  # fmt: skip
def test_behind_an_epoch(given: str, made: str) -> None:
    found = ported(program(given))
    assert found.sure, found.diff()
    assert made in found.after.decode(), found.diff()
    assert "do-throughput" in {each.rule for each in found.findings}


def test_inside_the_loop() -> None:
    found = ported(program(inside='print(f"{args.bs * (i + 1) / (time.time() - t0):.1f} samples/s")'))
    assert found.sure
    assert printed(found) == 'print(f"{WORLD_SIZE * args.bs * (i + 1) / (time.time() - t0):.1f} samples/s (total)")'


def test_what_a_function_returns() -> None:
    inner = LOOP.replace("{inside}", "pass").replace("    {behind}\n", "").replace("\n", "\n    ").rstrip()
    text = HEAD + LOOP_OF_A_FUNCTION.replace("{inner}", inner)
    found = ported(text + 'print(f"{speed:.1f} samples/s, {n} samples")\n')
    assert found.sure, found.diff()
    assert printed(found) == 'print(f"{WORLD_SIZE * speed:.1f} samples/s (total), {n} samples")'
    found = ported(text + 'print(f"{n / 2.5:.1f} samples/s")\n')
    assert printed(found) == 'print(f"{WORLD_SIZE * n / 2.5:.1f} samples/s (total)")'


@pytest.mark.parametrize(
    "given",
    [
        'print(f"{seen / dt:.1f} samples/s/gpu")',  # the reader of logs multiplies
        'print(f"{i / dt:.1f} steps/s")',  # all processes make them together
        'print(f"{i / dt:.1f} it/s, loss {total / seen:.3f}")',
        'print(f"loss {total / seen:.4f} after {dt:.1f} s")',
        'print(f"test: {100 / dt:.1f} samples/s")',  # each process evaluates everything
        'print("target 100 samples/s")',
        'print(f"{len(test_set) / dt:.1f} samples/s")',
        'logger.info(f"{seen} of {total}")',
        'print("{1} samples, target {0} samples/s".format(900, seen))',
        'print("{1} samples, {0:.1f} s".format(dt, seen / dt))',
        'print("{0:.1f} steps/s, {1}".format(i / dt, seen / dt))',
        'print("{0} samples/s".format())',  # raises when it runs
        'print("%d%% samples/s" % (seen / dt))',
        'print("100%% of %d, 100%% samples/s" % seen)',
        'print("{{0}} samples/s".format(seen / dt))',
    ],
)
def test_what_is_no_such_throughput_stays(given: str) -> None:
    found = ported(program(given))
    assert given in found.after.decode()
    assert not {"do-throughput", "ask-throughput"} & {each.rule for each in found.findings}


@pytest.mark.parametrize(
    "given",
    [
        'print(f"{50000 / dt:.1f} samples/s")',  # the samples of all, or a number of its own?
        'print(f"{meter.rate():.1f} samples/s")',
        'print("{0:.1f} samples/s, {0} in all".format(seen / dt))',  # one value at two places
        'print("{0.rate:.1f} samples/s".format(meter))',
        'print("{:.1f} samples/s".format(*row))',
        'print("{rate:.1f} samples/s".format(**stats))',
        'print("%(rate).1f samples/s" % stats)',
        'print("%d: %.1f samples/s" % row)',
        'print(f"{speed=:.1f} samples/s")',
        'print(f"{len(test_loader) * args.bs / dt:.1f} samples/s")',
        'for a, b in test_loader: seen += len(a)\n    print(f"{seen / dt:.1f} samples/s")',
        'print(f"{(seen + len(train_set)) / dt:.1f} samples/s")',
    ],
)
def test_what_is_not_known_is_asked(given: str) -> None:
    found = ported(program(given))
    assert "ask-throughput" in {each.rule for each in found.findings if each.kind == "question"}
    assert "# hackathon port: " in found.after.decode() and "WORLD_SIZE * " not in found.after.decode()


def test_an_evaluation_inside_the_loop_is_asked_about() -> None:
    inside = "for a, b in test_loader: n += len(a)"
    found = ported(program('print(f"{n / dt:.1f} samples/s")', inside))
    assert "ask-throughput" in {each.rule for each in found.findings}
    found = ported(program('print(f"{seen / dt:.1f} samples/s")', inside))
    assert printed(found) == 'print(f"{WORLD_SIZE * seen / dt:.1f} samples/s (total)")'


def test_a_batch_may_be_called_as_the_data_are() -> None:
    text = program(inside='print(f"{len(data) * (i + 1) / (time.time() - t0):.1f} samples/s")').replace(
        "(x, y)", "data"
    )
    found = ported(text.replace("train_set, test_set", "data, test_set").replace("(train_set", "(data"))
    assert printed(found) == 'print(f"{WORLD_SIZE * len(data) * (i + 1) / (time.time() - t0):.1f} samples/s (total)")'


def test_a_function_that_computes_the_rate() -> None:
    rate = "def rate(count, seconds):\n    return count / seconds\n"
    found = ported(rate + program('print(f"{rate(seen, dt):.1f} samples/s")'))
    assert printed(found) == 'print(f"{WORLD_SIZE * rate(seen, dt):.1f} samples/s (total)")'
    endless = "def rate(count, seconds):\n    return rate(count, seconds)\n"
    found = ported(endless + program('print(f"{rate(seen, dt):.1f} samples/s")'))
    assert "ask-throughput" in {each.rule for each in found.findings}


def test_the_throughput_of_an_evaluation_stays() -> None:
    evaluation = """
def evaluate():
    n = 0
    for a, b in test_loader:
        n += len(a)
    print(f"{n / 2.5:.1f} samples/s")
evaluate()
"""
    found = ported(program() + evaluation)
    assert found.sure and 'print(f"{n / 2.5:.1f} samples/s")' in found.after.decode()


def test_the_reader_of_logs_knows_it_for_that_of_all() -> None:
    line = printed(ported(program('print(f"{seen / dt:.1f} samples/s")')))
    shown = eval(line.removeprefix("print").replace("WORLD_SIZE", "2"), {"seen": 100, "dt": 4.0})
    assert list(CustomaryWords().read(shown)) == [("samples_per_s/all", 50.0)]


@pytest.mark.parametrize(("loader", "rate"), [("loader", "v0"), ("v0", "len(v0)")])
def test_names_that_lead_to_each_other_in_many_ways_end(loader: str, rate: str) -> None:
    """Sixty ways from each of eight names to the next one: 60⁵ ways within the depth that is looked at."""
    chain = "".join(f"v{number} = v{number + 1}\n" * 60 for number in range(8))
    text = HEAD + chain + LOOP.replace("enumerate(loader)", f"enumerate({loader})")
    found = ported(text.replace("{inside}", "pass").replace("{behind}", f"print(f'{{{rate} / dt:.1f}} samples/s')"))
    asked = {each.rule for each in found.findings if each.kind == "question"}
    assert ("ask-throughput" in asked) is ((loader, rate) != ("v0", "len(v0)"))  # that are the batches of the loop
    assert ("ask-data" in asked) is (loader == "v0")
