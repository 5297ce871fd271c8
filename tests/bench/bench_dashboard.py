"""The dashboard under load on the loopback address: 10,000 runs, 50 viewers, then 50 streams for some minutes.

    python tests/bench/bench_dashboard.py [--runs 10000] [--viewers 50] [--seconds 30] [--minutes 5] [--kind now]
    python tests/bench/bench_dashboard.py --paint --projects 8 --runs 1600     first paint of every page in Chromium

With --paint each page of the menu and a run is opened in a browser that has nothing of it yet, twice: first
where the server has not made the page yet, then where it has.

The runs change all the time: one of them every second. Each viewer asks for the page, waits about a second and asks
again. Then every viewer keeps a stream open; memory and open files of the server are read before, meanwhile and after.
Prints figures and judges nothing.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hackathon.text.files import write_json

PROJECTS = 20
STATES = ("SUCCEEDED",) * 90 + ("FAILED",) * 6 + ("TIMEOUT",) * 2 + ("",) * 2


def make_runs(folder: Path, count: int, projects: int = PROJECTS) -> None:
    """Write projects with `count` runs in all; two of a hundred go on."""
    now = time.time()
    for number in range(count):
        project = folder / f"project-{number % projects:02d}"
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now - 86400 + 8 * number))
        run = project / "runs" / f"{stamp}-train-4p-{number:08d}"
        for name in ("client", "events", "metrics", "logs"):
            (run / name).mkdir(parents=True)
        request = {"name": "train", "scheduler": "slurm", "cluster": "slurm", "processes": 4, "nodes": 2}
        write_json(run / "request.json", {**request, "walltime": 3600, "note": f"try {number}"})
        begun = now - 86400 + 8 * number
        write_json(run / "client/created.json", {"t": begun, "user": f"u{number % 60:02d}"})
        write_json(run / "client/submitted.json", {"t": begun + 1, "job_id": str(number), "scheduler": "slurm"})
        lines = [{"t": begun + 10, "event": "started", "attempt": 1, "host": "node01", "job_id": str(number)}]
        steps = [{"t": begun + 10 + step, "step": step, "loss": 1 / (step + 1)} for step in range(10)]
        state = STATES[number % len(STATES)]
        if state:
            lines.append({"t": begun + 100, "event": "ended", "attempt": 1, "host": "node01", "exit_code": 0})
            final = {"state": state, "job_id": str(number), "exit_code": 0 if state == "SUCCEEDED" else 1}
            write_json(run / "final.json", {**final, "t_ended": begun + 100, "sealed": begun + 110})
        (run / "events/job.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in steps))


def read_memory(process: int) -> tuple[float, int]:
    """Return (resident MB, open files) of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    return (int(resident[1]) / 1024 if resident else 0.0), len(list(Path(f"/proc/{process}/fd").iterdir()))


async def ask(port: int, path: str, cookie: str = "") -> tuple[int, bytes, bytes]:
    """Return (status, head, body) of a request over a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
    writer.write(head.encode())
    answer = await reader.read()
    writer.close()
    first, _, body = answer.partition(b"\r\n\r\n")
    return int(first.split()[1]), first, body


async def view(port: int, path: str, cookie: str, until: float, pause: float, times: list[float]) -> None:
    """Ask for a page again and again over one connection, as a browser does, and note how long each took."""
    await asyncio.sleep(random.random() * pause)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        begun = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))  # type: ignore[index]
        times.append(time.perf_counter() - begun)
        assert head.startswith(b"HTTP/1.1 200"), head
        await asyncio.sleep(pause * (0.5 + random.random()))
    writer.close()


async def follow(port: int, path: str, cookie: str, told: list[float]) -> None:
    """Keep a stream open, and note when it tells something."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /stream?page={path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
    try:
        while line := await reader.readline():
            if line.startswith(b"event: changed"):
                told.append(time.monotonic())
    finally:
        writer.close()


async def change(going: list[Path]) -> None:
    """Let one run after another get on, one a second."""
    for step in range(1_000_000):
        run = going[step % len(going)]
        with (run / "metrics/rank-0.jsonl").open("a") as stream:
            stream.write(json.dumps({"t": time.time(), "step": 10 + step, "loss": 0.01}) + "\n")
        await asyncio.sleep(1.0)


def show_times(what: str, times: list[float]) -> None:
    """Print percentiles."""
    ordered = sorted(times)
    p50, p99 = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    text = f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, most {ordered[-1] * 1000:.1f} ms"
    print(f"{what}: {len(ordered)} requests, {text}", flush=True)


def enter(address: str) -> dict[str, Any]:
    """Return the cookie that the dashboard gives for the token in its address; no page is made."""
    parts = urlsplit(address)
    # the name ends in .localhost, which only a browser takes for this machine
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}", headers={"Host": parts.netloc})
    pair = (connection.getresponse().getheader("Set-Cookie") or "").partition(";")[0]
    connection.close()
    name, _, value = pair.partition("=")
    flags = {"httpOnly": True, "secure": False, "sameSite": "Strict", "expires": -1}
    return {"name": name, "value": value, "domain": parts.hostname, "path": "/", **flags}


def paint(address: str) -> None:
    """Print the first paint of pages in Chromium, each in a new context, before the server has made them and after."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    origin = address.partition("/enter")[0]
    script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        state = {"cookies": [enter(address)], "origins": []}
        paths = {kind: f"/en/{kind}" for kind in ("now", "teams", "runs", "scaling", "cluster")} | {"run": ""}
        for turn in ("not made yet", "made"):
            for kind in paths:
                context = browser.new_context(storage_state=state)
                page = context.new_page()
                if not paths[kind]:  # the first run of the list
                    page.goto(f"{origin}/en/runs")
                    paths[kind] = page.locator("main a[href*='/run?']").first.get_attribute("href") or ""
                    context.close()
                    context = browser.new_context(storage_state=state)
                    page = context.new_page()
                begun = time.perf_counter()
                page.goto(f"{origin}{paths[kind]}", wait_until="load")
                loaded = time.perf_counter() - begun
                while page.evaluate(script) < 0:  # the policy forbids what waits inside the page
                    page.wait_for_timeout(20)
                painted, size = page.evaluate(script), len(page.content()) / 1024
                text = f"first paint {painted:.0f} ms, loaded {loaded * 1000:.0f} ms, {size:.0f} KiB"
                print(f"{kind}, {turn}: {text}", flush=True)
                context.close()
        browser.close()


async def load(options: argparse.Namespace, process: int, address: str, going: list[Path]) -> None:
    """Put the server under load and print what came of it."""
    port, token = re.search(r":(\d+)/enter\?token=(\w+)", address).groups()  # type: ignore[union-attr]
    port, page = int(port), f"/en/{options.kind}"
    _, head, _ = await ask(port, f"/enter?token={token}")
    cookie = re.search(rb"set-cookie: ([^;]+)", head)[1].decode()  # type: ignore[index]
    begun = time.perf_counter()
    while True:  # until the runs are there
        status, _, body = await ask(port, page, cookie)
        if status == 200 and f">{len(going)}<".encode() in body:  # the tile that counts what goes on
            break
        await asyncio.sleep(0.5)
    print(f"all runs in the page after {time.perf_counter() - begun:.1f} s: {len(body) / 1024:.0f} KiB", flush=True)
    changing = asyncio.create_task(change(going))
    for pause in (1.0, 0.0):
        times: list[float] = []
        until = time.monotonic() + options.seconds
        await asyncio.gather(*(view(port, page, cookie, until, pause, times) for _ in range(options.viewers)))
        show_times(f"{options.viewers} viewers, {'about a second apart' if pause else 'without a pause'}", times)
    told: list[float] = []
    resident, files = read_memory(process)
    print(f"before the streams: {resident:.1f} MB, {files} open files", flush=True)
    streams = [asyncio.create_task(follow(port, page, cookie, told)) for _ in range(options.viewers)]
    times, begun = [], time.monotonic()
    end = begun + options.minutes * 60
    while time.monotonic() < end:
        step = min(end, time.monotonic() + 30)
        # what live.js does: fetch the page when the stream tells of it; here one viewer does, the streams all wait
        await view(port, page, cookie, step, 2.0, times)
        resident, files = read_memory(process)
        minutes = (time.monotonic() - begun) / 60
        print(f"{minutes:4.1f} min, {len(streams)} streams: {resident:.1f} MB, {files} open files", flush=True)
    show_times("meanwhile one more viewer", times)
    print(f"events told: {len(told)} ({len(told) / len(streams):.0f} a stream)", flush=True)
    for task in streams:
        task.cancel()
    await asyncio.gather(*streams, return_exceptions=True)
    changing.cancel()
    await asyncio.sleep(20)
    resident, files = read_memory(process)
    print(f"20 s after the streams: {resident:.1f} MB, {files} open files", flush=True)


def main() -> None:
    """Make the runs, start the dashboard, load it, end it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--kind", default="now")
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--paint", action="store_true", help="measure first paints only")
    parser.add_argument("--folder", type=Path, help="keep the runs here for another time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hk-bench-") as place:
        folder = Path(place)
        event, begun = options.folder or folder / "event", time.perf_counter()
        if not event.exists():
            make_runs(event, options.runs, options.projects)
            print(f"{options.runs} runs written in {time.perf_counter() - begun:.0f} s", flush=True)
        going = [run for run in event.glob("*/runs/*") if not (run / "final.json").exists()]
        (folder / "run").mkdir(mode=0o700)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder / "run"), "HACKATHON_LANG": "en"}
        command = [sys.executable, "-m", "hackathon", "dashboard", "--no-ask", "--port", "0", str(event)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = next(line for line in server.stdout if "token=" in line)
            try:
                if options.paint:
                    paint(address)
                else:
                    asyncio.run(load(options, server.pid, address, going))
            finally:
                begun = time.perf_counter()
                server.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    server.wait(30)
                print(f"ended {time.perf_counter() - begun:.2f} s after Ctrl-C, exit code {server.returncode}")


if __name__ == "__main__":
    main()
