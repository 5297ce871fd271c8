"""Build everything that a release consists of, and try it in fresh environments: `make release`.

    python bundle/release.py [FOLDER]    wheel, sdist, bundle, site, SHA256SUMS (default folder: dist)

Nothing is uploaded. What a person has to fill in first (authors, addresses, contacts) is listed; it is never invented.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
COMMANDS = (["--version"], ["clusters", "--json"], ["docs", "--json"], ["rules", "list", "--json"])
"""What the installed program must answer; each reads another kind of files that are shipped."""


def main() -> None:
    """Build, check, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--without", default="", help="parts to leave out: bundle,site,extras")
    options = parser.parse_args()
    left_out = options.without.split(",")
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder)
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(folder.glob("hackathon-*.*"))))
    if "bundle" not in left_out:
        _run(sys.executable, str(ROOT / "bundle" / "build.py"), "--output", str(folder / "hackathon.pyz"))
        try_program([sys.executable, str(folder / "hackathon.pyz")])
    if "site" not in left_out:
        build_site(folder)
    for python in pythons():
        try_wheel(python, wheel, "" if "extras" in left_out else "[all]")
    write_sums(folder)
    for line in missing():
        print(f"still empty: {line}")
    print(f"release {version()} in {folder}; nothing was uploaded")


def version() -> str:
    """Return the version of pyproject.toml."""
    text: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return text


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from it, and return the wheel."""
    for path in folder.glob("hackathon-*"):
        path.unlink()
    _run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT))
    return next(folder.glob("hackathon-*.whl"))


def build_site(folder: Path) -> None:
    """Build the documentation's site and pack it."""
    with tempfile.TemporaryDirectory() as place:
        pages, site = Path(place) / "pages", Path(place) / f"hackathon-{version()}-site"
        _run(sys.executable, str(ROOT / "docs" / "build.py"), str(pages))
        environment = os.environ | {"SITE_PAGES": str(pages), "NO_MKDOCS_2_WARNING": "1"}
        _run(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site), environment=environment)
        shutil.make_archive(str(folder / site.name), "gztar", place, site.name)


def pythons() -> Iterator[str]:
    """Yield the Pythons of this machine that the package supports, one of each version."""
    for number in PYTHONS:
        python = shutil.which(f"python{number}")
        # a command that only chooses between installations may find none behind it
        if python and subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            yield python


def try_wheel(python: str, wheel: Path, extras: str) -> None:
    """Install the wheel into a fresh environment and let it answer, outside the checkout."""
    with tempfile.TemporaryDirectory() as place:
        _run(python, "-m", "venv", place)
        _run(f"{place}/bin/python", "-m", "pip", "install", "--quiet", f"{wheel}{extras}")
        try_program([f"{place}/bin/hackathon"])
        print(f"{Path(python).name}: {wheel.name}{extras} works")


def try_program(program: list[str]) -> None:
    """Let a program answer as a user without any settings would ask."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8"}
        for words in COMMANDS:
            answer = _run(*program, *words, environment=environment, folder=home)
            if "--json" in words and not json.loads(answer):
                raise SystemExit(f"error: {' '.join(words)} answers nothing")


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS, which `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


def missing() -> Iterator[str]:
    """Yield what only the owners of the project know."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for key in ("authors", "urls"):
        if not project.get(key):
            yield f"pyproject.toml: project.{key}"
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff"):
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            if "TO BE FILLED IN" in line:
                yield f"{name}:{number}: {line.strip()}"


def _run(*command: str, environment: dict[str, str] | None = None, folder: Path | str = ROOT) -> str:
    answer = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        sys.stdout.write(answer.stdout)
        raise SystemExit(f"error: {' '.join(command)} ended with {answer.returncode}")
    return answer.stdout


if __name__ == "__main__":
    main()
