"""Compiled templates are kept privately, and code that another version compiled is not loaded."""

from pathlib import Path

import jinja2
import pytest
from jinja2 import DictLoader, Environment

from hackathon.access.private import private_cache
from hackathon.text.paths import user_cache
from hackathon.web.page import pages


def shown(folder: Path, version: str, compiled: list[str]) -> str:
    """Return what a template gives; `compiled`: grows where it had to be compiled."""

    class Counting(Environment):
        def _generate(self, source: object, name: str | None, *more: object, **options: object) -> str:
            compiled.append(version)
            return super()._generate(source, name, *more, **options)  # type: ignore[arg-type]

    cache = private_cache(folder, version)
    assert cache is not None
    return Counting(loader=DictLoader({"a": "{{ 1 + 1 }}"}), bytecode_cache=cache).get_template("a").render()


def test_a_template_is_compiled_once_for_each_version(tmp_path: Path) -> None:
    compiled: list[str] = []
    assert {shown(tmp_path / "kept", version, compiled) for version in ("1", "1", "2", "1")} == {"2"}
    assert compiled == ["1", "2"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "kept").iterdir())


def test_a_folder_that_others_can_read_holds_none(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    assert private_cache(tmp_path / "open", "1") is None


def test_pages_are_compiled_once_and_anew_for_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    make = pages.environment.__wrapped__
    make().get_template("teams.html.j2")
    folder = user_cache() / "pages"
    first = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert first
    monkeypatch.setattr(jinja2.Environment, "_generate", None)  # compiling would fail
    make().get_template("teams.html.j2")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pages, "__version__", "another")
    make().get_template("teams.html.j2")
    assert len(list(folder.iterdir())) == 2 * len(first)


def test_pages_need_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(pages, "user_cache", nobody)
    made = pages.environment.__wrapped__()
    assert made.bytecode_cache is None and made.get_template("teams.html.j2")
