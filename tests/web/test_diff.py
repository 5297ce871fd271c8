"""Two runs side by side: only what differs, in what was asked, in source and environment, and in what came out."""

import json
import os
from pathlib import Path

import pytest

from hackathon.config.event import Event, Publish
from hackathon.index.catalog import Catalog
from hackathon.index.studies import run_key
from hackathon.text.messages import speaking
from hackathon.web.views.diff import SHOWN_IN_ALL, DiffPage, values
from support.pages.rendered import Page
from support.pages.run_page import HOSTILE, check_structure, html_of, poison
from support.samples.rich_runs import source_of, write_rich


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "train"
    write_rich(folder, 0, note="first try")
    write_rich(folder, 1, lr=0.8, note="learning rate × 8")
    return folder


def key_of(source: Catalog) -> str:
    second, first = source.summaries
    return f"{run_key(first)}|{run_key(second)}"


def view_of(source: Catalog, key: str = "", language: str = "en") -> DiffPage:
    with speaking(language):
        found = values(source, key or key_of(source))
    assert found is not None
    view: DiffPage = found["view"]
    return view


def changes_of(view: DiffPage, name: str) -> dict[str, tuple[str, str, str]]:
    (part,) = [each for each in view.parts if each.name == name]
    return {change.name: (change.left, change.right, change.ratio) for change in part.changes}


def test_only_what_differs_is_shown_and_the_rest_is_counted(project: Path) -> None:
    view = view_of(source_of(project, live=True))
    assert changes_of(view, "request") == {"parameter lr": ("0.1", "0.8", "")}
    japanese = view_of(source_of(project, live=True), language="ja")
    assert changes_of(japanese, "request") == {"パラメータ lr": ("0.1", "0.8", "")}
    results = changes_of(view, "results")
    assert results == {"samples_per_s": ("4,460", "4,560", "1.022 ×")}
    assert changes_of(view, "environment") == {}
    assert {part.name: part.same for part in view.parts}["environment"] >= 9
    assert list(changes_of(view, "source")) == ["SHA-256 of the source"]
    (file,) = view.files
    assert (file.name, file.kind) == ("train.py", "changed")
    assert [line for line in file.lines if line[0] in ("add", "gone")] == [
        ("gone", "-    lr = 0.1"),
        ("add", "+    lr = 0.8"),
    ]


def test_lines_of_files_go_out_only_where_the_event_allows_it(project: Path) -> None:
    for source, shown in (
        (source_of(project), False),
        (source_of(project, event=Event("E", publish=Publish(source=True))), True),
        (source_of(project, live=True), True),
    ):
        page = html_of(source, key_of(source), kind="diff")
        assert ("+    lr = 0.8" in page) == shown and "train.py" in page


def test_states_times_and_failures_differ_too(project: Path) -> None:
    write_rich(project, 2, failed=True)
    source = source_of(project)
    third, _, first = source.summaries
    results = changes_of(view_of(source, f"{run_key(first)}|{run_key(third)}"), "results")
    assert results["State"][:2] == ("SUCCEEDED", "FAILED") and next(iter(results)) == "State"
    assert "rank 1" in results["Reason"][1]
    assert results["accuracy"][2].startswith("0.9")


def test_packages_and_modules_differ_by_name_and_hosts_do_not(project: Path) -> None:
    _, second = sorted((project / "runs").iterdir())
    for path in (second / "env").iterdir():
        host = json.loads(path.read_text())
        host |= {"host": "b099", "kernel": host["kernel"].replace(host["host"], "b099"), "modules": ["cuda12/12.4"]}
        host["packages"] = {"torch": "2.4.0", "numpy": "1.19.5", "pip": "21.3", "horovod": "0.28.1"}
        path.write_text(json.dumps(host))
    found = changes_of(view_of(source_of(project)), "environment")
    assert found == {
        "Modules": ("cuda9/9.1.85 openmpi/gdr/2.1.2/gnu", "cuda12/12.4", ""),
        "torch": ("1.10.2", "2.4.0", ""),
        "horovod": ("–", "0.28.1", ""),
    }


def test_files_that_came_went_are_binary_long_or_not_kept(project: Path) -> None:
    first, second = sorted((project / "runs").iterdir())
    contents = {
        "new.py": "x = 1\n",
        "gone.py": "y = 2\n",
        "data.bin": b"\0\1",
        "long.txt": "z\n" * 9000,
        "away.py": None,
        "empty.py": "",
    }
    for run, names in (
        (first, ("gone.py", "data.bin", "long.txt", "away.py", "ends.py")),
        (second, ("new.py", "data.bin", "long.txt", "away.py", "ends.py", "empty.py")),
    ):
        contents["ends.py"] = "x = 1\r\n" if run == first else "x = 1\n"
        record = json.loads((run / "source.json").read_text())
        for name in names:
            content = contents[name]
            if content is not None:
                (run / "source" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            record["files"][name] = f"{run.name} {name}"
        record["files"]["same.py"] = "11"
        record["links"] = {"latest": run.name}
        (run / "source.json").write_text(json.dumps(record))
    view = view_of(source_of(project, live=True))
    found = {each.name: (each.kind, bool(each.lines), each.why) for each in view.files}
    assert found == {
        "away.py": ("changed", False, "its content was not saved"),
        "data.bin": ("changed", False, "not a text file"),
        "empty.py": ("new", False, "empty file"),
        "ends.py": ("changed", False, "its lines are equal; line endings or encoding may differ"),
        "gone.py": ("gone", True, ""),
        "latest": ("changed", False, f"→ {first.name} · → {second.name}"),
        "long.txt": ("changed", False, "too long to compare line by line"),
        "new.py": ("new", True, ""),
        "train.py": ("changed", True, ""),
    }
    assert view.same_files == 1
    page = html_of(source_of(project), key_of(source_of(project)), kind="diff")
    assert "only on the left" in page and "Equal files: 1" in page


def test_a_change_of_everything_is_shown_in_part(project: Path) -> None:
    for order, run in enumerate(sorted((project / "runs").iterdir())):
        record = json.loads((run / "source.json").read_text())
        for number in range(150):
            name = f"file-{number:03d}.py"
            (run / "source" / name).write_text("".join(f"{order} {line}\n" for line in range(500)))
            record["files"][name] = f"{order}{number}"
        (run / "source.json").write_text(json.dumps(record))
    view = view_of(source_of(project, live=True))
    assert sum(len(each.lines) for each in view.files) <= SHOWN_IN_ALL
    assert view.files[0].left_out > 0 and view.files_left == 151 - len(view.files)


def test_a_file_that_leads_outside_is_not_compared(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("TOP-SECRET\n")
    first, second = sorted((project / "runs").iterdir())
    (second / "source/train.py").unlink()
    (second / "source/train.py").symlink_to(tmp_path / "secret")
    (first / "source/train.py").unlink()
    os.mkfifo(first / "source/train.py")
    page = html_of(source_of(project, live=True), key_of(source_of(project)), kind="diff")
    assert "TOP-SECRET" not in page and "its content was not saved" in page


def test_a_record_can_not_name_a_file_outside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("TOP-SECRET\n")
    for run in (project / "runs").iterdir():
        record = json.loads((run / "source.json").read_text())
        record["files"] = {"../../../../secret": run.name, str(tmp_path / "secret"): run.name}
        (run / "source.json").write_text(json.dumps(record))
    assert "TOP-SECRET" not in html_of(source_of(project, live=True), key_of(source_of(project)), kind="diff")


def test_sides_change_and_unknown_runs_have_no_page(project: Path) -> None:
    source = source_of(project)
    view = view_of(source)
    swapped = view_of(source, view.swapped)
    assert (swapped.left, swapped.right) == (view.right, view.left)
    assert changes_of(swapped, "results")["samples_per_s"][2] == "0.978 ×"
    first = run_key(source.summaries[0])
    for key in ("", "|", first, f"{first}|", f"|{first}", f"{first}|nothing//there"):
        assert values(source, key) is None, key
    same = view_of(source, f"{first}|{first}")
    assert not any(part.changes for part in same.parts) and not same.files


def test_a_folder_may_have_the_sign_between_the_keys(tmp_path: Path) -> None:
    project = tmp_path / "a|b" / "train"
    write_rich(project, 0)
    write_rich(project, 1)
    assert view_of(source_of(project)).left.id.startswith("20260301-100000")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_hostile_text_is_shown_as_text(project: Path, language: str) -> None:
    for run in (project / "runs").iterdir():
        poison(run)
    first, _ = sorted((project / "runs").iterdir())
    request = json.loads((first / "request.json").read_text())
    request["parameters"] = {HOSTILE: "other"}
    (first / "request.json").write_text(json.dumps(request))
    source = source_of(project, team=HOSTILE)
    page = html_of(source, key_of(source), language, kind="diff")
    check_structure(page)
    assert "&lt;script&gt;alert(1)" in page and "\x1b" not in page and "\u202e" not in page
    assert "alert(1)" in Page(page).text and f'lang="{language}"' in page


def test_runs_without_files_are_compared(project: Path) -> None:
    import shutil

    source = source_of(project)
    for run in (project / "runs").iterdir():
        for entry in run.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    page = html_of(source, key_of(source), kind="diff")
    check_structure(page)
    assert "Neither side has a record" in page
