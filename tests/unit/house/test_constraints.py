"""constraints.txt: what the tests and the bundle take from the package index, by version and hash."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.paths import ROOT

EXTRAS = ("mpi", "share", "web", "dev")
PIN = re.compile(r"^([a-z0-9._-]+)==([^\s;]+)(?: ; .*?)?((?: *\\\n +--hash=sha256:[0-9a-f]{64})+)", re.MULTILINE)


def test_every_dependency_is_pinned_as_pyproject_allows() -> None:
    """A dependency that is added or raised needs `make constraints`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins: dict[str, list[str]] = {}
    for name, version, _ in PIN.findall((ROOT / "constraints.txt").read_text()):
        pins.setdefault(canonicalize_name(name), []).append(version)
    listed = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    for line in listed:
        requirement = Requirement(line)
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert versions, f"{line}: run `make constraints`"
        assert any(requirement.specifier.contains(version) for version in versions), (line, versions)


def test_every_line_has_a_hash() -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert len(PIN.findall(text)) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE)) > 50
