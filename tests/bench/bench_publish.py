"""Print how long publishing a large event takes, cold and warm, how much memory, and how large a site of 8 teams is.

    python tests/bench/bench_publish.py [--teams 100] [--runs 100] [--languages en,ja] [--keep FOLDER]

Each team has two studies of five sizes; the runs are repeats of their points. Cold: no index, no cache, no drawing from
before. The figures of the issue: cold < 60 s, warm < 2 s, memory < 500 MB; 8 teams, without crates and Vega, < 1 MB
plain and < 250 kB packed.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import yaml  # noqa: E402

from support.samples.runs import Sample, write_run, write_study  # noqa: E402

SIZES = (1, 2, 4, 8, 16)
CHILD = """
import gc, json, resource, sys, time
from pathlib import Path
begin = time.perf_counter()
from hackathon.config.load import load_event
from hackathon.index.gather import gather
from hackathon.web.site.publish import publish
folder, out, index = map(Path, sys.argv[1:4])
source = gather(folder, load_event(folder), ask=False, index=index)
read = time.perf_counter()
found = publish(source, out)
done = time.perf_counter()
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
own, children = (each.ru_maxrss / 1024 for each in usage)
print(json.dumps({"runs": len(source.summaries), "files": len(found.files), "made": len(found.made),
                  "warnings": found.warnings[:3], "read": read - begin, "publish": done - read, "all": done - begin,
                  "processor": sum(each.ru_utime + each.ru_stime for each in usage), "own": own, "children": children,
                  "sizes": found.files}))
"""


def write(folder: Path, teams: int, runs: int, languages: str) -> None:
    """Write an event whose teams have so many runs each."""
    names = [f"team{number:03d}" for number in range(teams)]
    event = {
        "title": "Bench", "dates": ["2026-03-01"], "place": "Kashiwa", "languages": languages.split(","),
        "teams": [{"name": name, "group": f"g{name}", "project": f"Problem {name}",
                   "members": [{"user": f"{name}{letter}", "kind": "master"} for letter in "abcde"]}
                  for name in names],
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(event))
    repeats = max(1, runs // (2 * len(SIZES)))
    for number, name in enumerate(names):
        for order, title in enumerate(("first", "tuned")):
            samples = [
                Sample(size, round(size * (900 + 10 * number) * (0.85 + 0.08 * order) ** doubling + repeat, 1))
                for doubling, size in enumerate(SIZES)
                for repeat in range(repeats)
            ]
            write_study(folder / name / "train", samples, title=f"{title}-{number}", name=f"{title}{number}", team=name,
                        start=1_772_326_800.0 + 40_000 * order)  # fmt: skip


def publish(folder: Path, work: Path) -> dict:
    """Publish in a process of its own and return what it told."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache"), "PYTHONPATH": str(ROOT), "HACKATHON_LANG": "en"}
    call = [sys.executable, "-c", CHILD, str(folder), str(work / "out"), str(work / "index" / "runs.sqlite3")]
    found = subprocess.run(call, env=environment, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def show(name: str, told: dict) -> None:
    """Print one publication."""
    print(
        f"{name:<28} {told['all']:6.1f} s  (index {told['read']:.1f}, site {told['publish']:.1f}; "
        f"of processor {told['processor']:.1f})  "
        f"{told['made']:>6} of {told['files']} files made  {told['own']:.0f} MB, a child {told['children']:.0f} MB",
        *told["warnings"],
        flush=True,
    )


def show_sizes(work: Path, told: dict) -> None:
    """Print what a site weighs, by kind of file."""
    kinds: Counter[str] = Counter()
    for name, size in told["sizes"].items():
        suffix = Path(name).suffix
        kind = "crates" if suffix == ".zip" else "vega.js" if name == "vega.js" else suffix.removeprefix(".")
        kinds[f"{kind} {name.partition('-')[0].partition('.')[0]}" if kind == "html" else kind] += size
    for kind, size in kinds.most_common():
        print(f"  {kind:<16} {size / 1000:8.0f} kB")
    plain = sum(size for kind, size in kinds.items() if kind not in ("crates", "vega.js"))
    packed = work / "site.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=9) as archive:
        for name in sorted(told["sizes"]):
            if not name.startswith("crates/") and name != "vega.js":
                archive.add(work / "out" / "site" / name, name)
    print(f"  without crates and Vega: {plain / 1000:.0f} kB, packed {packed.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, default=100)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--languages", default="en,ja", help="of the site, as in hackathon.yaml")
    parser.add_argument("--keep", type=Path, help="write into this folder and leave it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = given.keep or Path(temporary)
        small, large = base / "small", base / "large"
        write(small / "event", 8, 20, given.languages)
        told = publish(small / "event", small)
        show("8 teams x 20 runs, cold", told)
        show_sizes(small, told)
        begin = time.perf_counter()
        write(large / "event", given.teams, given.runs, given.languages)
        print(f"(the large event was written in {time.perf_counter() - begin:.0f} s)", flush=True)
        name = f"{given.teams} teams x {given.runs} runs"
        show(f"{name}, cold", publish(large / "event", large))
        show(f"{name}, warm", publish(large / "event", large))
        late = Sample(4, 3000.0, note="late")
        write_run(large / "event" / "team000" / "train" / "runs", late, 3, name="late", team="team000")
        show(f"{name}, one run more", publish(large / "event", large))


if __name__ == "__main__":
    main()
