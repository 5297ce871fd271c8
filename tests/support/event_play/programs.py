"""What the six teams train: one takes a recipe, five bring a program of their own; all of them really learn."""

from dataclasses import dataclass

TRAIN = '''"""Logistic regression on two clouds of points; the processes average their gradients through sockets."""
import argparse, math, pickle, random, socket, struct, time
from hackathon_runtime import identity, rendezvous

me = identity()
options = argparse.ArgumentParser()
options.add_argument("--batch-size", type=int, default=256)
options.add_argument("--epochs", type=int, default=8)
options.add_argument("--communicator", choices=["naive", "pure_nccl"], default="naive")
args = options.parse_args()
if args.communicator == "pure_nccl":
    import chainermn
    chainermn.create_communicator("pure_nccl")


def send(stream, value):
    raw = pickle.dumps(value)
    stream.sendall(struct.pack("!I", len(raw)) + raw)


def receive(stream):
    def exactly(count):
        raw = b""
        while len(raw) < count:
            raw += stream.recv(count - len(raw)) or exit("a process went away")
        return raw

    return pickle.loads(exactly(struct.unpack("!I", exactly(4))[0]))


others = []
if me.world_size > 1:
    address, port = rendezvous(me)
    if me.rank == 0:
        with socket.create_server((address, port)) as server:
            others = [server.accept()[0] for _ in range(me.world_size - 1)]
    else:
        for attempt in range(6000):
            try:
                others = [socket.create_connection((address, port))]
                break
            except ConnectionRefusedError:
                time.sleep(0.1)


def average(numbers):
    """All-reduce: rank 0 collects, divides and tells."""
    if not others:
        return numbers
    if me.rank:
        send(others[0], numbers)
        return receive(others[0])
    parts = [numbers, *(receive(each) for each in others)]
    mean = [sum(column) / len(parts) for column in zip(*parts)]
    for each in others:
        send(each, mean)
    return mean


def points(seed, count):
    dice = random.Random(seed)
    for _ in range(count):
        label = dice.randrange(2)
        yield [dice.gauss(1.5 if label else -1.5, 1.0) for _ in range(8)] + [1.0], label


def sigmoid(value):
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


data = list(points(1 + me.rank, 20 * args.batch_size))
weights = [0.0] * 9
for epoch in range(args.epochs):
    begin = time.perf_counter()
    loss = 0.0
    for first in range(0, len(data), args.batch_size):
        slope = [0.0] * 9
        batch = data[first : first + args.batch_size]
        for features, label in batch:
            guess = sigmoid(sum(a * b for a, b in zip(weights, features)))
            loss -= math.log(max(1e-12, guess if label else 1 - guess))
            for number, feature in enumerate(features):
                slope[number] += (guess - label) * feature / len(batch)
        weights = [weight - 0.5 * each for weight, each in zip(weights, average(slope))]
    seconds = time.perf_counter() - begin
    rate = len(data) * me.world_size / seconds
    if me.rank == 0:
        print(SAID.format(epoch=epoch, rate=rate, loss=loss / len(data)))
if me.rank == 0:
    unseen = list(points(10**6, 2000))
    right = sum((sum(a * b for a, b in zip(weights, features)) > 0) == bool(label) for features, label in unseen)
    print(f"test accuracy {right / len(unseen):.4f}")
'''


@dataclass(frozen=True)
class Project:
    """How a team makes and measures its project."""

    recipe: str = ""
    line: str = ""
    """Own programs: what an epoch prints, a format of epoch, rate and loss."""
    pattern: str = ""
    """Own programs: where the throughput stands in it."""
    mode: str = "weak"

    @property
    def program(self) -> str:
        """The team's own train.py."""
        return TRAIN.replace("SAID.format", f"{self.line!r}.format")

    @property
    def settings(self) -> str:
        """What the team adds to the project.yaml that `hackathon init` made."""
        return (
            f"metrics:\n  samples_per_s: {{pattern: '{self.pattern}', unit: samples/s, "
            "reduce: median, skip_first: 1}\n"
            "  accuracy: {pattern: 'test accuracy ([0-9.]+)', reduce: last}\n"
            "check: {metric: accuracy, at_least: 0.97}\nscaling: {strong: {divide: batch_size}}\n"
        )


PROJECTS = {
    "Aurora": Project(recipe="torch-ddp"),
    "Borealis": Project(line="{epoch}/8  {rate:.0f} samples per s  {loss:.4f}", pattern="([0-9.]+) samples per s"),
    "ひので": Project(
        line="エポック {epoch}: 毎秒 {rate:.1f} 件（損失 {loss:.4f}）", pattern="毎秒 ([0-9.]+) 件", mode="strong"
    ),
    "Cumulus": Project(line="[{epoch}] {rate:.0f} points/s, loss={loss:.3f}", pattern="([0-9.]+) points/s"),
    "四つ葉": Project(line="epoch {epoch} throughput: {rate:.1f} loss {loss:.4f}", pattern="throughput: ([0-9.]+)"),
    "Nimbus": Project(line="Epoch {epoch} | {rate:.1f} ex/s | {loss:.5f}", pattern="\\| ([0-9.]+) ex/s"),
}
"""Team → what it trains."""
FAILS = "Cumulus"
"""The team whose first run really fails: it asks for a communicator that is not installed."""
