"""A survey's form when everybody sends at the same moment, beside the bare writing of as many files, in one run.

    python tests/bench/bench_survey_serve.py [--people 200] [--rounds 5] [--folder DIR]

Each round: `people` answers at once to `hackathon survey serve`, each over a connection of its own, then `people` files
of the same size written one after another, each with fsync, in the same folder. The form writes two files for an answer
(the answer, the token's mark) and syncs two folders. Prints seconds, percentiles of the time until an answer is
confirmed, the ratio of the medians with the range over rounds, forms shown a second, and memory; judges nothing.
"""

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.survey.serving import Served, served, write_survey


async def send(port: int, head: str, body: bytes, times: list[float]) -> bytes:
    """Send a request over a connection of its own, note how long it took, and return what came back."""
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    said = await reader.read()
    writer.close()
    times.append(time.perf_counter() - begun)
    assert said.startswith(b"HTTP/1.1 200"), said[:200]
    return said


async def answers(port: int, tokens: list[str], times: list[float]) -> None:
    """Let everybody send at the same moment."""
    requests = []
    for token in tokens:
        form = urlencode({"t": token, "q-satisfaction": "4", "q-free": "たいへん勉強になりました。" * 5}).encode()
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(form)}\r\n"
        requests.append((head + "Content-Type: application/x-www-form-urlencoded\r\n\r\n", form))
    await asyncio.gather(*(send(port, head, form, times) for head, form in requests))


async def forms(port: int, tokens: list[str], times: list[float]) -> None:
    """Let everybody open the form at the same moment."""
    await asyncio.gather(
        *(send(port, f"GET /?t={token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"", times)
          for token in tokens)
    )  # fmt: skip


def bare(folder: Path, count: int) -> float:
    """Write files one after another, each with fsync, and return the seconds."""
    folder.mkdir()
    raw = ("x" * 500 + "\n").encode()
    begun = time.perf_counter()
    for number in range(count):
        descriptor = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, raw)
        os.fsync(descriptor)
        os.close(descriptor)
    return time.perf_counter() - begun


def memory(server: Served) -> float:
    """Return the server's resident MB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


def percentiles(times: list[float]) -> str:
    ordered = sorted(times)
    p50, p99 = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, most {ordered[-1] * 1000:.0f} ms"


def main() -> None:
    """Run the rounds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None, help="on the file system that is to be measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        survey = write_survey(folder / "event")
        tokens = survey.open(options.people * options.rounds)
        served_seconds, bare_seconds, sent, shown = list[float](), list[float](), list[float](), list[float]()
        with served(folder / "event") as server:
            first = memory(server)
            for turn in range(options.rounds):
                some = tokens[turn * options.people : (turn + 1) * options.people]
                asyncio.run(forms(server.port, some, shown))
                begun = time.perf_counter()
                asyncio.run(answers(server.port, some, sent))
                served_seconds.append(time.perf_counter() - begun)
                bare_seconds.append(bare(folder / f"bare-{turn}", options.people))
                ratio = served_seconds[-1] / bare_seconds[-1]
                said = f"{served_seconds[-1]:.2f} s, as many bare files {bare_seconds[-1]:.2f} s, ratio {ratio:.2f}"
                print(f"round {turn + 1}: {options.people} answers {said}", flush=True)
            last = memory(server)
        assert len(survey.answers()) == len(tokens)
        ratios = [one / other for one, other in zip(served_seconds, bare_seconds, strict=True)]
        print(f"answers: {percentiles(sent)}; median {statistics.median(served_seconds):.2f} s for {options.people}")
        print(f"ratio to bare files: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")
        print(f"forms: {percentiles(shown)}")
        print(f"memory: {first:.0f} MB at first, {last:.0f} MB after {len(tokens)} answers")


if __name__ == "__main__":
    main()
