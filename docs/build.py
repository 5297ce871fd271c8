"""Write all pages of the documentation as files, complete with the lists that the program makes of itself.

    python docs/build.py FOLDER     KIND/NAME.md and KIND/NAME.ja.md, first pages (`make docs`: build/docs)

It is also the hook by which hatchling puts these pages, and the translations as gettext reads them, into a wheel
(pyproject.toml). A checkout and an editable installation make both when they are needed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent


def build(folder: Path) -> list[Path]:
    """Write the pages into a folder and return their files; a process for each language, as help texts have one."""
    files = []
    for language in ("en", "ja"):
        for page in _pages(language):
            ending = ".md" if page["language"] == "en" else f".{page['language']}.md"
            path = folder / page["kind"] / (page["name"] + ending)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page["text"], encoding="utf-8")
            files.append(path)
    return sorted(set(files))


def first_pages(folder: Path) -> list[Path]:
    """Write what only a site needs: its first pages and CONTRIBUTING.md."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    (folder / "contributing.md").write_text(contributing, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "assets", folder / "assets", dirs_exist_ok=True)
    (folder / "examples").mkdir(exist_ok=True)
    for notebook in (ROOT / "docs" / "examples").glob("*.ipynb"):
        shutil.copy(notebook, folder / "examples")
    return [
        folder / "contributing.md",
        *(Path(shutil.copy(page, folder)) for page in (ROOT / "docs").glob("index*.md")),
    ]


def _pages(language: str) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as nothing:  # settings of the user are no part of the pages
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]  # pip builds with libraries that it names
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "XDG_CONFIG_HOME": nothing}
        answer = subprocess.run(
            [sys.executable, "-m", "hackathon", "--lang", language, "docs", "--json"],
            cwd=nothing, env=environment, stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
    if answer.returncode:
        raise SystemExit(
            f"error: {sys.executable} cannot make the pages of the documentation (see above)\n"
            f"hint: it needs what hackathon depends on: pip install the `dependencies` of {ROOT / 'pyproject.toml'}"
        )
    pages: list[dict[str, str]] = json.loads(answer.stdout)["pages"]
    return pages


class Hook(BuildHookInterface):
    """Adds the pages and the compiled translations to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write pages and translations into a folder that lives as long as this hook."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        top = Path(self.folder.name)
        for path in build(top):
            build_data["force_include"][str(path)] = f"hackathon/_shipped/docs/{path.relative_to(top)}"
        sys.path.insert(0, str(ROOT))
        from hackathon.text.locale import mo

        for source in sorted((ROOT / "hackathon" / "locale").glob("*/LC_MESSAGES/*.po")):
            name = source.relative_to(ROOT).with_suffix(".mo")
            compiled = top.joinpath(*name.parts)
            compiled.parent.mkdir(parents=True)
            compiled.write_bytes(mo(source.read_text(encoding="utf-8")))
            build_data["force_include"][str(compiled)] = str(name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pages = build(Path(sys.argv[1])) + first_pages(Path(sys.argv[1]))
    print(f"{len(pages)} pages in {sys.argv[1]}")
