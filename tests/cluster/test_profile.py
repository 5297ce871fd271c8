"""`hackathon profile` with a real training of two ranks: what was planted is found, what was not is not claimed.

The program notes its own times, and how long it had no CPU while it computed. They are the truth, so that no test
depends on how busy the machine is: shares agree within 3 points, and on a busy machine within what the program lost.
"""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from hackathon.profiling.shares import PARTS
from hackathon.profiling.traces.findings import DATA, DEVIATIONS, LATE
from support.backends import Backend, LocalBackend, Site, until
from support.paths import TESTS
from support.patience import STRETCH
from support.traces import gloo_traces

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(600)]
PROGRAM = TESTS / "cluster/profiled_program.py"
SKIP, STEPS = 2, 6
FIRST = SKIP + 5 + 1 + 1
"""Number of the first recorded step from 0: behind those passed over, those timed, and the profiler's own."""
WORDS = ("profile", "--json", "--yes", "--launcher", "local", "--processes", "2", "--skip", str(SKIP),
         "--steps", str(STEPS))  # fmt: skip
POINTS = 0.03
FAULTS = "--loader 0.02 --host 0.03 --late 0.05 --size 100"
HEALTHY = "--size 500"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("profile"))
    made.trains = True
    yield made
    made.stop()


def project(backend: Backend, folder: Path, options: str) -> Site:
    site = Site(backend, folder, {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project(f"python train.py {options}", name=folder.name)
    (site.folder / "train.py").write_bytes(PROGRAM.read_bytes())
    return site


def command(site: Site, *words: str, code: int | None = 0) -> bytes:
    return site.run(*WORDS, *words, code=code, seconds=400)


@pytest.fixture(scope="module")
def profiles(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Site, dict[str, Any]]]:
    """`faults` (recorded by a command that was cut off and called again) and `healthy` → its project and profile."""
    folder = tmp_path_factory.mktemp("projects")
    made: dict[str, tuple[Site, dict[str, Any]]] = {}

    def faulty() -> None:
        site = project(backend, folder / "faults", FAULTS)
        first = site.start(*WORDS)
        runs = site.folder / "runs"
        until(lambda: list(runs.glob("2*/events/rank-0.jsonl")), "the run's beginning")
        until(lambda: list(runs.glob("2*/client/submitted.json")), "the end of its submission: then the command waits")
        first.send_signal(signal.SIGINT)
        stderr = first.communicate(timeout=STRETCH * 120)[1]
        assert first.returncode == 130 and b"stopped waiting" in stderr, stderr
        made["faults"] = site, json.loads(command(site, "--html", "page.html", "--trace", "merged.json.gz"))

    def healthy() -> None:
        site = project(backend, folder / "healthy", HEALTHY)
        made["healthy"] = site, json.loads(command(site))

    threads = [threading.Thread(target=each) for each in (faulty, healthy)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(made) == {"faults", "healthy"}
    return made


def notes_of(run: Path) -> list[list[list[float]]]:
    """Return, of each rank, its moments in each recorded step."""
    notes = [
        [json.loads(line) for line in (run / f"notes-{rank}.jsonl").read_text().splitlines()[FIRST : FIRST + STEPS]]
        for rank in range(2)
    ]
    assert all(len(each) == STEPS for each in notes)
    return notes


def truth(run: Path) -> list[dict[str, float]]:
    """Return what each rank noted of the recorded steps: seconds per step, and the step's length."""
    notes = notes_of(run)
    found = []
    for own, other in (notes, notes[::-1]):
        last = [max(one[3], another[3]) for one, another in zip(own, other, strict=True)]
        found.append({
            "data": fmean(each[1] - each[0] for each in own),
            # the end of the last optimizer's step has the writing of the trace in it
            "host": fmean(each[2] - each[1] for each in own) + fmean(each[5] - each[4] for each in own[:-1]),
            "waiting": fmean(came - each[3] for came, each in zip(last, own, strict=True)),
            "communication": fmean(each[4] - came for came, each in zip(last, own, strict=True)),
            "without-cpu": fmean(max(0.0, each[3] - each[2] - each[6]) for each in own),
            "seconds": (own[-1][4] - own[0][0]) / STEPS,
        })  # fmt: skip
    return found


def loads_throughout(run: Path) -> bool:
    """Return whether, by the ranks' own notes, loading is beyond its limit and the noise of the steps on every rank."""
    for own in notes_of(run):
        mean = (own[-1][4] - own[0][0]) / STEPS
        shares = [(each[1] - each[0]) / mean for each in own]
        if fmean(shares) - DEVIATIONS * stdev(shares) / STEPS**0.5 < DATA + POINTS:
            return False
    return True


def is_late_throughout(run: Path) -> bool:
    """Return whether, by the ranks' own notes, rank 1 is late beyond the limit and the noise of the steps."""
    first, second = notes_of(run)
    mean = max((each[-1][4] - each[0][0]) / STEPS for each in (first, second))
    shares = [(late[3] - waits[3]) / mean for waits, late in zip(first, second, strict=True)]
    points = POINTS + max(each["without-cpu"] / each["seconds"] for each in truth(run))
    return fmean(shares) - DEVIATIONS * stdev(shares) / STEPS**0.5 >= LATE + points


def longest_gap(run: Path, rank: int) -> float:
    """Return how long a rank can have computed nothing at once: it slept, had no CPU, or was between two steps."""
    notes = notes_of(run)[rank]
    inside = max(each[2] - each[1] + max(0.0, each[3] - each[2] - each[6]) for each in notes)
    return inside + max(each[5] - each[4] for each in notes[:-1])


def run_of(site: Site) -> Path:
    (found,) = (site.folder / "runs").glob("2*")
    return found


@pytest.mark.parametrize("name", ["faults", "healthy"])
def test_shares_are_those_that_the_program_noted(profiles: dict[str, tuple[Site, dict[str, Any]]], name: str) -> None:
    site, found = profiles[name]
    assert found["processes"] == 2 and found["run"] == run_of(site).name and found["remarks"] == []
    told = truth(run_of(site))
    # between a note and the operator behind it a rank may lose its CPU, as it does within the operators
    points = POINTS + max(noted["without-cpu"] / noted["seconds"] for noted in told)
    for rank, noted in zip(found["ranks"], told, strict=True):
        length = noted["seconds"]
        assert rank["steps"] == STEPS and rank["seconds"] == pytest.approx(length, rel=points)
        assert sum(rank[part] for part in PARTS) == pytest.approx(rank["seconds"], rel=0.01)
        for part in ("data", "waiting"):
            assert rank[part] / length == pytest.approx(noted[part] / length, abs=points), (part, rank, noted)
        # waking up after a collective, and waiting for a CPU between two operators, leave no trace: they may count as
        # the host's
        assert rank["host"] / length >= noted["host"] / length - points, (rank, noted)
        most = noted["host"] + noted["communication"] + noted["without-cpu"]
        assert rank["host"] / length <= most / length + points, (rank, noted)


def test_what_was_planted_is_named(profiles: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    site, found = profiles["faults"]
    named = {each["id"]: each for each in found["findings"]}
    noted = truth(run_of(site))
    points = POINTS + max(each["without-cpu"] / each["seconds"] for each in noted)
    if is_late_throughout(run_of(site)):
        assert found["late_rank"] == 1 and named["late-rank"]["rank"] == 1
        assert named["late-rank"]["share"] == pytest.approx(noted[0]["waiting"] / noted[0]["seconds"], abs=points)
    assert "loader" in named or not loads_throughout(run_of(site))
    assert found["gaps"][0]["seconds"] >= 0.08
    assert found["gaps"][0]["rank"] == 1 or longest_gap(run_of(site), 0) > 0.08, found["gaps"]
    assert found["operators"][0]["name"] and found["memory_bytes"]["process"] > 50e6
    assert found["overhead"]["steps"] >= 6 and found["overhead"]["plain_seconds"] > 0.1


def test_a_healthy_program_gives_no_claim_that_its_own_times_do_not_bear_out(
    profiles: dict[str, tuple[Site, dict[str, Any]]],
) -> None:
    site, found = profiles["healthy"]
    noted = truth(run_of(site))
    parts = {"loader": "data", "communication": "communication", "late-rank": "waiting", "host-bound": "host"}
    limits = {"loader": 0.10, "communication": 0.25, "late-rank": 0.05, "host-bound": 0.25}
    for each in found["findings"]:
        more = ("communication", "without-cpu") if each["id"] == "host-bound" else ()
        most = max(sum(rank[part] for part in (parts[each["id"]], *more)) / rank["seconds"] for rank in noted)
        points = POINTS + max(rank["without-cpu"] / rank["seconds"] for rank in noted)
        assert most >= limits[each["id"]] - points, (each, noted)


def test_flops_are_exact_and_the_device_is_measured_in_the_job(
    profiles: dict[str, tuple[Site, dict[str, Any]]],
) -> None:
    """Four products of 500 × 500 matrices, and a layer of 16 × 4 for 8 samples with the gradient of its weights."""
    site, found = profiles["healthy"]
    roof = found["roofline"]
    assert roof["flops"] == pytest.approx(4 * 2 * 500**3 + 2 * 2 * 8 * 16 * 4, rel=5e-6)
    assert roof["flops_per_s"] == pytest.approx(roof["flops"] / found["step"]["seconds"], rel=1e-3)
    peak = roof["peaks"]["flops_per_s"]["fp32"]
    assert peak["source"] == "probe" and roof["mfu"] == pytest.approx(roof["flops_per_s"] / peak["value"], rel=1e-3)
    # on a machine that others use, the probe may be the slower one by as much as they take
    assert 0 < roof["mfu"] < STRETCH
    assert roof["peaks"]["bytes_per_s"]["value"] > 0
    (product,) = (each for each in roof["operators"] if each["name"] == "aten::mm")
    assert product["bound"] == ("memory" if product["flops_per_byte"] < peak["value"]
                                / roof["peaks"]["bytes_per_s"]["value"] else "compute")  # fmt: skip
    text = site.run("profile", found["run"][-8:]).decode()
    assert "MFU" in text and "measured in this job" in text


def test_its_run_is_no_result_and_is_shown_again(profiles: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    site, found = profiles["faults"]
    assert site.run("results", code=2) == b""
    record = json.loads((run_of(site) / "request.json").read_text())
    assert record["tags"] == ["try", "profile"] and record["walltime"] <= 600
    again = json.loads(site.run("profile", "--json", found["run"][-8:]))
    assert again == found and len(list((site.folder / "runs").glob("2*"))) == 1
    text = site.run("profile", found["run"][-8:], "--lang", "ja").decode()
    assert "オーバーヘッド" in text
    assert "ランク 1 が遅れています" in text or not is_late_throughout(run_of(site))


def test_the_page_and_the_merged_trace_are_written(profiles: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    import gzip

    site, _ = profiles["faults"]
    assert "Rank 1 is late" in (site.folder / "page.html").read_text() or not is_late_throughout(run_of(site))
    page = (site.folder / "page.ja.html").read_text()
    assert "ランク 1 が遅れています" in page or not is_late_throughout(run_of(site))
    events = json.loads(gzip.decompress((site.folder / "merged.json.gz").read_bytes()))["traceEvents"]
    named = {each["args"]["name"].split(" (")[0] for each in events if each["name"] == "process_name"}
    assert named == {"rank 0 CPU", "rank 1 CPU"}


def test_traces_of_others_need_no_project(backend: Backend, tmp_path: Path) -> None:
    site = Site(backend, tmp_path)
    files = [trace.write(tmp_path, packed=True).name for trace in gloo_traces(2, {0: 9.0})]
    found = json.loads(site.run("profile", "--json", "--from", *files))
    assert found["late_rank"] == 0 and found["run"] is None and found["overhead"] is None
    (tmp_path / "torn.json").write_bytes(gloo_traces(1, {})[0].text()[:3000])
    process = site.start("profile", "--from", "torn.json")
    stdout, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 0 and b"damaged" in stderr and b"Traceback" not in stderr, stdout
    (tmp_path / "none.json").write_text("hello")
    process = site.start("profile", "--from", "none.json")
    assert b"not a trace" in process.communicate(timeout=STRETCH * 60)[1] and process.returncode == 2


def test_a_program_that_cannot_be_recorded_says_why(tmp_path: Path) -> None:
    site = Site(LocalBackend(tmp_path), tmp_path / "none", {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py", name="none")
    (site.folder / "train.py").write_text("print('no torch here')\n")
    process = site.start(*WORDS)
    stderr = process.communicate(timeout=STRETCH * 120)[1].decode()
    assert process.returncode == 1 and "did not import torch" in stderr, stderr
    # the run has no trace, so that its program is run once more, as it was
    (site.folder / "train.py").write_text("import no_such_package\n")
    first = run_of(site)
    process = site.start("profile", first.name[-8:], "--yes", "--json")
    stderr = process.communicate(timeout=STRETCH * 120)[1].decode()
    assert process.returncode == 1 and "did not import torch" in stderr, stderr
    (second,) = [each for each in (site.folder / "runs").glob("2*") if each != first]
    assert (second / "source/train.py").read_text() == "print('no torch here')\n"
    assert json.loads((second / "request.json").read_text())["tags"] == ["try", "profile"]
    process = site.start(*WORDS, "--command", "python -c pass")
    assert process.communicate(timeout=STRETCH * 120) and process.returncode == 1
    (third,) = [each for each in (site.folder / "runs").glob("2*") if each not in (first, second)]
    assert json.loads((third / "request.json").read_text())["command"] == ["python", "-c", "pass"]
    site.write_project("python train.py", name="none", framework="jax")
    process = site.start("profile", "--yes")
    stderr = process.communicate(timeout=STRETCH * 60)[1].decode()
    assert process.returncode == 2 and "jax.profiler" in stderr, stderr


def test_nobody_at_a_terminal_must_confirm_where_it_costs(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "asked", HEALTHY)
    process = site.start("profile", "--cluster", "miyabi-g", "--group", "gz00")
    stderr = process.communicate(timeout=STRETCH * 60)[1]
    assert process.returncode == 2 and b"--yes" in stderr, stderr
    assert not list((site.folder / "runs").glob("2*"))
