"""Every way in which a person gets the numbers of runs, through public entry points: what each of them says.

Works on any version of the toolkit that has these entry points, so that an old one can be shown to disagree.
"""

import contextlib
import csv
import importlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import yaml
from starlette.testclient import TestClient

from hackathon.cli.main import run as hackathon
from support.planned_event import TEAM, WrittenEvent

PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="#000" d="M0,0L9,9"/></svg>'


def module(*names: str) -> ModuleType:
    """Return the first of these modules that this version has."""
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise ImportError(names[0])


@contextlib.contextmanager
def without_drawing() -> Iterator[None]:
    """Let pages have an empty picture in place of each drawing: what looks at no picture waits for none."""
    figures = module("hackathon.web.page.figures", "hackathon.web.page.figures")
    files = module("hackathon.web.page.scripts", "hackathon.web.page.scripts").FILES
    drawer = module("hackathon.scaling.drawer").Drawer
    kept, stays, script = figures.pictures, drawer.pictures, files["vega.js"]
    figures.pictures = lambda specs, form: [PICTURE for _ in specs]
    drawer.pictures = lambda self, specs, form: [PICTURE for _ in specs]
    files["vega.js"] = lambda cache: b"// Vega"
    try:
        yield
    finally:
        figures.pictures, drawer.pictures, files["vega.js"] = kept, stays, script


class Tables(HTMLParser):
    """A page: tables by class as rows of texts, list items, facts (name → value), words of pictures, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.descriptions: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.items: list[str] = []
        self.facts: dict[str, str] = {}
        self.text = ""
        self._rows: list[list[str]] | None = None
        self._where = ""
        self._name = ""
        self._quiet = 0
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if known.get("role") == "img":
            self.descriptions.append(known.get("aria-label") or "")
        if self._quiet or tag in ("script", "style", "svg") or known.get("aria-hidden") == "true":
            self._quiet += tag not in ("meta", "link", "br", "img", "input", "rect", "path", "line")
        elif known.get("class") == "spoken" and tag == "span":
            self._quiet += 1
        elif tag == "table":
            self._rows = self.tables.setdefault((known.get("class") or "").split(" ")[0], [])
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append("")
            self._where = "cell"
        elif tag == "li":
            self.items.append("")
            self._where = "item"
        elif tag in ("dt", "dd"):
            self._name = "" if tag == "dt" else self._name
            self._where = tag

    def handle_endtag(self, tag: str) -> None:
        if self._quiet:
            self._quiet -= 1
        elif tag == "table":
            self._rows = None
        elif tag in ("td", "th", "li", "dt", "dd", "ul", "ol", "dl", "div", "section"):  # an end may be implied
            self._where = ""

    def handle_data(self, data: str) -> None:
        if self._quiet:
            return
        self.text += f" {data}"
        if self._where == "cell" and self._rows and self._rows[-1]:
            self._rows[-1][-1] = " ".join(f"{self._rows[-1][-1]} {data}".split())
        elif self._where == "dt":
            self._name = f"{self._name} {data}".strip()
        elif self._where == "dd":
            self.facts[self._name] = f"{self.facts.get(self._name, '')} {data}".strip()
        elif self._where == "item" and self.items:
            self.items[-1] = " ".join(f"{self.items[-1]} {data}".split())


@dataclass
class Watched:
    """What the dashboard looks at: all runs of the event, as they are now."""

    found: Any
    version: int = 1

    def source(self) -> Any:
        """Return the runs."""
        return self.found

    def wait(self, version: int, timeout: float) -> int:
        """Return the version: nothing changes."""
        return self.version

    def stop(self) -> None:
        """Do nothing."""


@dataclass
class Readers:
    """All readers of one event. Nothing is asked of a scheduler."""

    event: WrittenEvent
    out: Path
    """A folder for what is made."""
    codes: dict[str, int] = field(default_factory=dict)

    def command(self, *words: str, folder: Path | None = None) -> str:
        """Run a command and return what it printed."""
        out = io.StringIO()
        before = Path.cwd()
        os.chdir(
            folder or next((self.event.homes[word] for word in words if word in self.event.homes), self.event.project)
        )
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                self.codes[" ".join(words)] = hackathon(list(words))
        finally:
            os.chdir(before)
        return out.getvalue()

    def results(self, name: str) -> dict[str, Any]:
        """Return `hackathon results NAME --json`."""
        found: dict[str, Any] = json.loads(self.command("results", name, "--json", "--no-ask"))
        return found

    def results_csv(self, name: str) -> list[dict[str, str]]:
        """Return `hackathon results NAME --format csv`."""
        return list(csv.DictReader(io.StringIO(self.command("results", name, "--format", "csv", "--no-ask"))))

    def results_table(self, name: str) -> tuple[list[list[str]], list[str]]:
        """Return the cells (without the head) and the remarks of `hackathon results NAME --format md`."""
        text = self.command("results", name, "--format", "md", "--no-ask").replace("\\", "")
        rows = [
            [cell.strip() for cell in line.strip("| \n").split("|")] for line in text.splitlines() if line[:1] == "|"
        ]
        return rows[2:], [line[2:] for line in text.splitlines() if line.startswith("- ")]

    def states(self) -> dict[str, str]:
        """Return run id → state as `hackathon status --json` tells it."""
        told = json.loads(self.command("status", "--json", "--no-ask") or '{"runs": []}')
        return {each["run_id"]: each["state"] for each in told["runs"]}

    def compared(self, old: str, new: str) -> list[dict[str, Any]]:
        """Return the points of `hackathon compare OLD NEW --json`; none when nothing can be compared."""
        text = self.command("compare", old, new, "--json", "--no-ask")
        points: list[dict[str, Any]] = json.loads(text)["points"] if text else []
        return points

    def ready(self, project: Path | None = None) -> dict[str, dict[str, Any]]:
        """Return item → facts of `hackathon ready --json` in a project."""
        told = json.loads(self.command("ready", "--no-job", "--no-post", "--json", folder=project))
        return {each["name"]: {**each["facts"], "ok": each["ok"]} for each in told["items"]}

    @cached_property
    def report(self) -> str:
        """The report of the event as Markdown."""
        with without_drawing():
            self.command("event", "report", "--to", str(self.out / "report"), "--no-ask", folder=self.event.folder)
        return (self.out / "report" / "report.md").read_text("utf-8")

    def report_of(self, team: str) -> str:
        """Return what the report says of a team."""
        return self.report.partition(f"\n### {team}\n")[2].partition("\n#")[0]

    def slides(self, team: str = TEAM) -> str:
        """Return a team's deck."""
        path = self.out / f"{team}.md"
        with without_drawing():
            self.command("slides", team, "--to", str(path), "--force", "--no-ask", folder=self.event.folder)
        return path.read_text("utf-8")

    @cached_property
    def site(self) -> Path:
        """The published site."""
        place = self.out / "published"
        with without_drawing():
            self.command("publish", "--to", str(place), "--doubtful", "--no-ask", folder=self.event.folder)
        assert self.codes[f"publish --to {place} --doubtful --no-ask"] == 0
        return next(path.parent for path in sorted(place.rglob("results.json")))

    def site_json(self, study: str) -> dict[str, Any]:
        """Return a study's JSON of the site."""
        found: dict[str, Any] = json.loads((self.site / f"study-{study}.json").read_text("utf-8"))
        return found

    def site_csv(self, study: str) -> list[dict[str, str]]:
        """Return a study's CSV of the site."""
        return list(csv.DictReader(io.StringIO((self.site / f"study-{study}.csv").read_text("utf-8"))))

    def site_all(self) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        """Return the table of all results as JSON and as CSV."""
        points = json.loads((self.site / "results.json").read_text("utf-8"))["points"]
        return points, list(csv.DictReader(io.StringIO((self.site / "results.csv").read_text("utf-8"))))

    def crate(self, run: str) -> dict[str, Any] | None:
        """Return the result in a run's crate, None when it has none."""
        path = self.site / "crates" / f"{run}.zip"
        if not path.is_file():
            return None
        with zipfile.ZipFile(path) as archive:
            found: dict[str, Any] = json.loads(archive.read("result.json"))
        return found

    def site_page(self, name: str) -> Tables:
        """Return a page of the site."""
        return Tables((self.site / f"{name}.html").read_text("utf-8"))

    @cached_property
    def client(self) -> TestClient:
        """A client of the dashboard's application."""
        server = module("hackathon.web.dashboard.server", "hackathon.web.dashboard.server")
        gather = module("hackathon.index.gather", "hackathon.index.gather").gather
        load_event = importlib.import_module("hackathon.config.load").load_event
        folder = self.event.folder
        found = gather(folder, load_event(folder), ask=False, index=self.out / "index.sqlite3")
        from dataclasses import replace

        watch = Watched(replace(found, live=True))
        return TestClient(server.Dashboard(watch, lambda: "Planned", self.out))

    def dashboard(self, kind: str, key: str = "") -> Tables:
        """Return a page of the dashboard."""
        query = f"?key={quote(key, safe='')}" if key else ""
        with without_drawing():
            answer = self.client.get(f"/en/{kind}{query}")
        assert answer.status_code == 200, (kind, key, answer.status_code)
        return Tables(answer.text)

    def key(self, identifier: str) -> str:
        """Return the key of a run's or study's page."""
        return f"{self.event.homes.get(identifier, self.event.project)}//{identifier}"


def allow(event: WrittenEvent, **rules: object) -> None:
    """Let an event publish what these rules allow."""
    path = event.folder / "hackathon.yaml"
    value = yaml.safe_load(path.read_text("utf-8"))
    value["publish"] = {**value["publish"], **rules}
    path.write_text(yaml.safe_dump(value), "utf-8")


def number_in(text: str) -> Sequence[str]:
    """Return the numbers in a text as they are written."""
    return re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", text)
