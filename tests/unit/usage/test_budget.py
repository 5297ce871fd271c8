"""Requests held against a team's budget before they are submitted."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.access.permissions import user_name
from hackathon.config.cluster import Cluster, Node, Rates
from hackathon.config.event import Budget, Event, EventCluster, Member, Team, own_team
from hackathon.jobs.cost import cost
from hackathon.text.errors import RequestError
from hackathon.usage.admission import budget_text, judge
from hackathon.usage.budget import Standing, standing
from support import warm
from support.patience import STRETCH
from support.runs import request, sealed, without_rights, write

NOW = 1_548_400_000.0
LAB = Cluster(name="lab", scheduler="fake", node=Node(cores=4, gpus=2), rates=Rates(per_node_hour=1, per_gpu_hour=2))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    yield


def event_of(budget: Budget | None, *teams: Team) -> Event:
    return Event(title="t", clusters={"lab": EventCluster(budget=budget)}, teams=list(teams) or [Team("aurora")])


def asks(folder: Path, **changes: Any) -> Any:
    return request(
        folder, **{"cluster": "lab", "walltime": 3600, "gpus_per_node": 2, "processes_per_node": 2, **changes}
    )


def used(project: Path, name: str, hours: float, **record: Any) -> Path:
    """Write a sealed run that took so many hours."""
    run = project / "runs" / f"20190124-120000-small-1p-{name:a<8}"
    write(run / "request.json", {"nodes": 1, "gpus_per_node": 2, "processes_per_node": 2, "walltime": 10**6,
                                 "cluster": "lab", "scheduler": "fake", **record})  # fmt: skip
    write(run / "final.json", {"job_id": name, "attempt": 1, **sealed(NOW - 3600 * hours - 60, NOW - 60)})
    return run


def stand(
    folder: Path, event: Event, *requests: Any, repeat: int = 1, project: str = "aurora", **options: Any
) -> Standing:
    asked = list(requests) or [asks(folder)]
    found = standing(event, folder, asked, options.pop("cluster", LAB), folder / project, repeat=repeat, now=NOW)
    assert found is not None
    return found


def test_what_is_used_waits_and_is_asked_for_is_told(tmp_path: Path) -> None:
    used(tmp_path / "aurora", "one", 2.0)
    used(tmp_path / "aurora" / "second", "two", 1.0)
    used(tmp_path / "borealis", "three", 50.0)
    used(tmp_path / "aurora", "elsewhere", 50.0, cluster="other")
    waits = used(tmp_path / "aurora", "waits", 1.0, walltime=1800, nodes=2)
    (waits / "final.json").unlink()
    for fact in ("created", "submitting", "submitted"):
        write(waits / "client" / f"{fact}.json", {"t": NOW - 10, "job_id": "1"})
    found = stand(tmp_path, event_of(Budget(node_hours=6.0, tokens=30.0)))
    node, tokens = found.lines
    assert (node.used, node.waiting, node.request, node.left) == (3.0, 1.0, 1.0, 2.0)
    assert (tokens.used, tokens.waiting, tokens.request, tokens.left) == (15.0, 5.0, 5.0, 10.0)
    assert (found.team, found.over, found.spent, found.folders, found.unread) == ("aurora", False, False, 2, 0)
    assert judge(found, refuse=True) == []
    text = budget_text(found)
    assert "3.00 of 6.00 used" in text and "up to 1.00 by queued" in text and "2.00 left" in text


def test_nearest_request_is_offered(tmp_path: Path) -> None:
    used(tmp_path / "aurora", "one", 3.3)
    event = event_of(Budget(node_hours=5.0))
    found = stand(tmp_path, event, repeat=3)
    assert (found.over, found.spent, found.walltime, found.jobs) == (True, False, 34 * 60, 1)
    with pytest.raises(RequestError) as caught:
        judge(found, refuse=True)
    assert caught.value.exit_code == 2 and "--walltime 00:34:00 or 1 job of" in str(caught.value.hint)
    (warning,) = judge(found, refuse=False)
    assert "may exceed the budget of team aurora" in warning


def test_spent_budget_refuses_only_what_needs_it(tmp_path: Path) -> None:
    used(tmp_path / "aurora", "one", 5.0)
    event = event_of(Budget(gpu_hours=10.0))
    found = stand(tmp_path, event)
    assert found.spent and found.walltime is None
    with pytest.raises(RequestError) as caught:
        judge(found, refuse=True)
    assert caught.value.id == "usage.refused_spent"
    without = stand(tmp_path, event, asks(tmp_path, gpus_per_node=0))
    assert not without.over  # it takes no GPU


def test_budget_of_nothing_is_spent(tmp_path: Path) -> None:
    assert stand(tmp_path, event_of(Budget(node_hours=0.0))).spent


def test_without_limits_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "aurora" / "runs").mkdir(parents=True)
    for budget in (None, Budget()):
        assert standing(event_of(budget), tmp_path, [asks(tmp_path)], LAB, tmp_path / "aurora", now=NOW) is None
    assert not (tmp_path / "cache").exists()


def test_job_holds_the_gpus_that_it_asked_for(tmp_path: Path) -> None:
    used(tmp_path / "aurora", "one", 1.0, processes_per_node=1)
    cluster = replace(LAB, scheduler="slurm", dialect={"gpu_request": "gres"})
    alone = replace(LAB, scheduler="slurm", dialect={"gpu_request": "gres", "exclusive": True})
    written = tmp_path / "templates" / "clusters" / "lab.yaml"
    written.parent.mkdir(parents=True)
    for profile, hours in ((LAB, 2.0), (cluster, 1.0), (alone, 2.0)):
        value = {"name": "lab", "scheduler": "slurm", "node": {"cores": 4, "gpus": 2}, "dialect": profile.dialect}
        written.write_text(json.dumps(value))
        found = stand(tmp_path, event_of(Budget(gpu_hours=99.0)), asks(tmp_path, processes_per_node=1), cluster=profile)
        assert (found.lines[0].used, found.lines[0].request) == (hours, hours)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    left=st.floats(0.001, 50),
    shapes=st.lists(st.tuples(st.integers(1, 9), st.integers(60, 90_000)), min_size=1, max_size=4),
    repeat=st.integers(1, 3),
)
def test_what_is_offered_fits_and_a_minute_more_does_not(
    tmp_path: Path, left: float, shapes: list[tuple[int, int]], repeat: int
) -> None:
    requests = [asks(tmp_path, nodes=nodes, walltime=seconds) for nodes, seconds in shapes]
    found = stand(tmp_path, event_of(Budget(node_hours=left)), *requests, repeat=repeat)
    whole = cost(requests, LAB, repeat).node_hours
    assert found.over == (whole > left + 1e-9)
    if not found.over:
        return
    offered = found.walltime or 0
    assert offered % 60 == 0 and cost(requests, LAB, repeat, offered).node_hours <= left + 1e-6
    longest = max(seconds for _, seconds in shapes)
    assert offered + 60 > longest or cost(requests, LAB, repeat, offered + 60).node_hours > left
    if found.jobs:
        assert cost(requests[:1], LAB, found.jobs).node_hours <= left + 1e-6


def test_team_is_that_of_the_folder_then_of_the_account_then_as_said(tmp_path: Path) -> None:

    me = user_name(os.geteuid())
    teams = [Team("aurora"), Team("borealis", members=[Member(me)]), Team("cirrus")]
    event = event_of(None, *teams)
    (tmp_path / "aurora").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "aurora")

    def name(project: str, claimed: str | None, teams: Event = event) -> str | None:
        found = own_team(teams, tmp_path, tmp_path / project, claimed)
        return found.name if found else None

    assert name("aurora/deep/er", "cirrus") == "aurora"
    assert name("alias/p", "cirrus") == "aurora"
    assert name("aurora-2", "cirrus") == "borealis"  # not a member of whom it names
    nobody = event_of(None, Team("aurora"), Team("cirrus"))
    assert name("elsewhere", "cirrus", nobody) == "cirrus"
    assert name("elsewhere", "gone", nobody) is None and name("elsewhere", None, nobody) is None
    wide = event_of(None, Team("チーム\u3000オーロラ", members=[Member(me)]))
    assert name("elsewhere", None, wide) == "チーム\u3000オーロラ"  # as it is written, not as it is shown


def test_who_is_in_no_team_is_told(tmp_path: Path) -> None:
    found = stand(tmp_path, event_of(Budget(node_hours=0.0)), project="elsewhere")
    assert found.team == "" and not found.over
    (warning,) = judge(found, refuse=True)
    assert "neither this project nor your account" in warning


def test_folders_that_can_not_be_read_are_told() -> None:
    with without_rights() as place:
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        for user in ("alice", "bob", "carol"):
            used(place / "home" / user / "p", user[:2], 1.0)
        (place / "home" / "bob").chmod(0)
        (place / "home" / "carol" / "p" / "runs").chmod(0)
        members = [Member(user) for user in ("alice", "bob", "carol", "dora")]
        team = Team("aurora", members=members, folders=["home/{user}"])
        found = stand(place, event_of(Budget(node_hours=9.0), team), asks(place), project="home/alice/p")
        assert (found.folders, found.unread, found.lines[0].used) == (3, 2, 1.0)
        assert "counted: 1 of 3 folders" in budget_text(found)
        (place / "home" / "carol" / "p" / "runs").chmod(0o700)


def test_new_project_counts_at_once(tmp_path: Path) -> None:
    """The team's folders are not searched at every submission; the own project always counts."""
    event = event_of(Budget(node_hours=9.0))
    used(tmp_path / "aurora" / "first", "one", 1.0)
    assert stand(tmp_path, event, project="aurora/first").lines[0].used == 1.0
    used(tmp_path / "aurora" / "second", "two", 2.0)
    assert stand(tmp_path, event, project="aurora/second").lines[0].used == 3.0


# ---- through the command line


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of a team, on a cluster whose jobs run on this machine."""
    event = tmp_path / "event"
    clusters = event / "templates" / "clusters"
    clusters.mkdir(parents=True)
    (clusters / "lab.yaml").write_text(
        "name: lab\nscheduler: local\nnode: {cores: 2, gpus: 0}\nprocesses_per_node: 1\nlaunchers: [local]\n"
    )
    (event / "aurora").mkdir()
    (event / "aurora" / "project.yaml").write_text(
        "name: small\nteam: aurora\ncommand: 'true'\ncluster: lab\nprocesses: 1\nwalltime: 01:00:00\n"
    )
    return event / "aurora"


def hackathon(project: Path, *words: str, code: int = 0) -> tuple[str, str]:
    done = subprocess.run(
        [warm.with_toolkit(), "-m", "hackathon", *words], cwd=project, capture_output=True, text=True, timeout=120,
        env={**os.environ, "HACKATHON_LANG": "en", "HACKATHON_LOCAL_DIR": str(project.parent / "jobs")},
    )  # fmt: skip
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout, done.stderr


def write_event(project: Path, hours: float, when: str) -> None:
    value = {"title": "t", "teams": [{"name": "aurora"}], "when_spent": when,
             "clusters": {"lab": {"budget": {"node_hours": hours}}}}  # fmt: skip
    (project.parent / "hackathon.yaml").write_text(json.dumps(value))


def test_every_way_to_submit_is_held_against_the_budget(project: Path) -> None:
    write_event(project, 2.0, "warn")
    moment = time.time()
    run = project / "runs" / "20190124-120000-small-1p-aaaaaaaa"
    out, _ = hackathon(project, "check")
    assert "0.00 of 2.00 used, this request needs at most 1.00, 2.00 left" in out
    out, err = hackathon(project, "submit", "--json")
    assert "budget" not in err
    run = Path(json.loads(out)["runs"][0]["path"])
    end = moment + 60
    while not (run / "events" / "job.jsonl").exists() or "ended" not in (run / "events" / "job.jsonl").read_text():
        assert time.time() < end
        time.sleep(0.05)
    write_event(project, 0.5, "refuse")
    before = sorted((project / "runs").iterdir())
    for words in (("submit",), ("submit", "--repeat", "2"), ("submit", "--segments", "2"), ("submit", "--preflight"),
                  ("submit", "--dry-run"), ("scale", "--processes", "1"), ("rerun", run.name),
                  ("rerun", run.name, "--walltime", "2h"), ("shell", "--dry-run"), ("check",)):  # fmt: skip
        _, err = hackathon(project, *words, code=2)
        assert "Refused: this may exceed the budget of team aurora on lab" in err, words
        assert "Traceback" not in err
    assert sorted((project / "runs").iterdir()) == before and not (project / "studies").exists()
    out, _ = hackathon(project, "check", "--json", code=2)
    assert not json.loads(out)["ok"] and json.loads(out)["budget"]["amounts"][0]["over"]
    _, err = hackathon(project, "submit", code=2)
    assert "--walltime 00:29:00" in err or "--walltime 00:30:00" in err
    hackathon(project, "check", "--walltime", "20m")
    write_event(project, 0.5, "warn")
    _, err = hackathon(project, "submit", "--dry-run")
    assert "warning: this request may exceed the budget" in err


def test_event_usage_on_the_command_line(project: Path) -> None:
    _, err = hackathon(project, "event", "usage", code=2)
    assert "No hackathon.yaml" in err
    write_event(project, 2.0, "warn")
    used(project, "one", 1.0)
    out, err = hackathon(project, "event", "usage", "--no-ask")
    assert out.splitlines()[1].split()[:5] == ["aurora", "lab", "1", "node-hours", "1.000"] and "Days in" in err
    target = project / "usage.csv"
    hackathon(project, "event", "usage", str(project.parent), "--no-ask", "--csv", str(target))
    assert target.read_bytes().startswith(b"\xef\xbb\xbfteam,in_event,")
    out, _ = hackathon(project, "event", "usage", "--no-ask", "--csv", "-", "--by", "team,day")
    assert out.startswith("team,in_event,") and out.count("\n") == 2
    for words, text in (
        (("--since", "yesterday"), "--since 'yesterday' is neither"),
        (("--json", "--csv", "-"), "both write to standard output"),
        (("--csv", str(project / "no" / "such" / "place")), "cannot be written"),
    ):
        _, err = hackathon(project, "event", "usage", "--no-ask", *words, code=2)
        assert text in err
    out, _ = hackathon(project, "event", "usage", "--no-ask", "--json", "--until", "2019-01-25")
    assert json.loads(out)["rows"][0]["node_hours"] == 1.0
    out, _ = hackathon(project, "event", "usage", "--no-ask", "--json", "--since", "2019-01-26")
    assert json.loads(out)["rows"][0]["node_hours"] == 0.0


def test_submission_without_an_event_loads_nothing_of_budgets(project: Path) -> None:
    (project.parent / "templates").rename(project / "templates")
    code = (
        "import sys\nfrom hackathon.cli.main import run\n"
        "end = run(['submit', '--dry-run'])\nassert not end, end\n"
        "print([name for name in sys.modules if name.startswith('hackathon.usage')], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=60 * STRETCH
    )
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
