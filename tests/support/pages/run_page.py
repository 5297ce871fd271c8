"""The page of one run, as text: how it is made from a source, what holds for its structure, and hostile text in it."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from hackathon.index.catalog import Catalog
from hackathon.jobs.script import SCRIPTS
from hackathon.text.messages import speaking
from hackathon.web.page.pages import Site, render
from hackathon.web.routing.registry import values_of
from hackathon.web.views import run as run_module
from support.pages.rendered import Page
from support.samples.rich_runs import EVIDENCE
from support.samples.runs import HOSTS

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}日本\x1b[31m\u202e"


def html_of(source: Catalog, key: str, language: str = "en", kind: str = "run", *, pictures: bool = False) -> str:
    """Return a page as a way out would make it, where every page has an address; `pictures`: with drawings."""
    addresses = {"run": "run.html", "diff": "diff.html", "team": "team.html", "study": "study.html"}
    with speaking(language), pytest.MonkeyPatch.context() as patch:
        if not pictures:
            patch.setattr(run_module, "drawn", lambda figures, _: (list(figures), ""))
        made = values_of(kind, key, source)
    assert made is not None
    template, values = made
    site = Site("Hackathon")
    page: str = render(template, site, language, lambda kind, key: addresses.get(kind), here=kind, **values)
    return page


def check_structure(text: str) -> None:
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert not {"script", "iframe", "img", "object", "embed", "form", "base"} & set(tags)
    assert not [
        attributes
        for _, attributes in page.tags
        if any(name == "style" or name.startswith("on") for name in attributes)
    ]
    assert tags.count("table") == tags.count("caption")


def poison(run: Path) -> None:
    """Put HOSTILE into every text of a run."""
    request = json.loads((run / "request.json").read_text())
    request |= {"name": HOSTILE, "cluster": HOSTILE, "queue": HOSTILE, "command": [HOSTILE], "metric": HOSTILE}
    request |= {
        "parameters": {HOSTILE: HOSTILE},
        "origins": {f"parameters.{HOSTILE}": HOSTILE},
        "variables": {HOSTILE: HOSTILE},
    }
    (run / "request.json").write_text(json.dumps(request))
    for name in (*SCRIPTS, "source.diff"):
        (run / name).write_text(f"+{HOSTILE}\n-{HOSTILE}\n@@ {HOSTILE}\n")
    final = json.loads((run / "final.json").read_text())
    (run / "final.json").write_text(json.dumps({**final, "reason": HOSTILE, "hosts": [HOSTILE]}))
    source = json.loads((run / "source.json").read_text())
    source |= {"digest": HOSTILE, "git": {"commit": HOSTILE, "branch": HOSTILE}, "files": {HOSTILE: HOSTILE}}
    (run / "source.json").write_text(json.dumps(source))
    with (run / "events/job.jsonl").open("a") as stream:
        for event in ("warned", HOSTILE):
            stream.write(
                json.dumps({"t": 1.7e9, "event": event, "text": HOSTILE, "host": HOSTILE, "about": HOSTILE}) + "\n"
            )
    lines = [{"t": 1.7e9 + i, HOSTILE: i, f"loss {HOSTILE}": 1 + i, "samples_per_s": "NaN"} for i in range(9)]
    (run / "metrics/rank-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    name = HOSTILE.replace("/", "|")
    (run / "logs/rank-0.log").write_text(f"{HOSTILE}\n{EVIDENCE} {HOSTILE}\n")
    (run / f"logs/{name}.log").write_text(HOSTILE)
    shutil.copy(run / f"telemetry/{HOSTS[0]}.csv", run / f"telemetry/{name}.csv")
    names = ("host", "python", "mpi", "kernel")
    host = {**dict.fromkeys(names, HOSTILE), **{key: [HOSTILE] for key in ("modules", "gpus", "interfaces")}}
    for path in (run / "env").iterdir():
        path.write_text(json.dumps({**host, "packages": {"torch": HOSTILE}}))
