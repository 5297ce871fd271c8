"""Write the bundle, one file with the toolkit and all its dependencies: `make bundle`.

    python bundle/build.py                 wheels from the package index, for Python 3.11 to 3.14 on x86_64 and aarch64,
                                           with the versions and hashes of constraints.txt
    python bundle/build.py --wheels DIR    wheels from a folder (`pip download -d DIR`); without the Internet
    python bundle/build.py --installed     what is installed beside this Python, for this Python and machine only

The file is a shell script that ends in a zip: `__main__.py` with its helpers, `common.zip` with packages of Python
only, and for each Python and machine a zip with the compiled ones. The start unpacks two of these zips.
"""

import argparse
import hashlib
import importlib.metadata
import importlib.util
import io
import json
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONSTRAINTS = ROOT / "constraints.txt"
PARTS = ("__main__.py", "unpacking.py")
LIBRARIES = ((2, 17), (2, 28), (2, 34))
"""Versions of glibc that a wheel may need, best first: RHEL 7, 8, 9."""
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every member, so that the same content gives the same file."""

Files = dict[str, tuple[bytes, bool]]
"""Path in the bundle → content, and whether it is executable."""


def main() -> None:
    """Read the options and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "hackathon.pyz")
    parser.add_argument("--python", default="3.11,3.12,3.13,3.14", help="versions of Python, default %(default)s")
    parser.add_argument("--machine", default="x86_64,aarch64", help="processors, default %(default)s")
    parser.add_argument("--extras", default="web", help="extras of the toolkit, default %(default)s")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--wheels", type=Path, help="a folder with all wheels")
    source.add_argument("--installed", action="store_true", help="pack what is installed; no other Python")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        toolkit = own_wheel(Path(folder))
        if options.installed:
            packages = {this_tag(): list(installed(toolkit, options.extras))}
        else:
            packages = {}
            for python in options.python.split(","):
                for machine in options.machine.split(","):
                    tag = f"cp{python.replace('.', '')}-linux-{machine}"
                    wheels = download(toolkit, options, python, machine, Path(folder) / tag)
                    packages[tag] = [Package.of_wheel(wheel) for wheel in wheels]
        size = write(packages, options.output)
    for name in sorted({each.name for some in packages.values() for each in some}):
        print(f"  {name}")
    print(f"{options.output}: {size / 1e6:.1f} MB for {', '.join(packages)}")


class Package:
    """One package for one Python: its files, whether they are for every Python, and the glibc that they need."""

    def __init__(self, name: str, files: Files, pure: bool, library: tuple[int, int] | None) -> None:
        self.name = name
        self.files = files
        self.pure = pure
        self.library = library

    @classmethod
    def of_wheel(cls, wheel: Path) -> "Package":
        """Return what a wheel would install into site-packages; its scripts are left out."""
        files: Files = {}
        with zipfile.ZipFile(wheel) as archive:
            for each in archive.infolist():
                path = PurePosixPath(each.filename)
                if path.parts[0].endswith(".data"):
                    if path.parts[1] not in ("purelib", "platlib"):
                        continue
                    path = PurePosixPath(*path.parts[2:])
                if not each.is_dir() and path.name != "RECORD":
                    files[str(path)] = (archive.read(each), bool(each.external_attr >> 16 & 0o100))
        name, version, *_, platforms = wheel.stem.split("-")
        return cls(f"{name} {version}", files, platforms == "any", needed_library(platforms))


def this_tag() -> str:
    """Return the tag of the running Python, as `__main__.tag` does."""
    return f"cp{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}-{sys.platform}-{platform.machine()}"


def needed_library(platforms: str) -> tuple[int, int] | None:
    """Return the glibc that a wheel's platform tag asks for; None if it asks for none."""
    named = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
    found = [named[each] for each in re.findall(r"manylinux(?:1|2010|2014)(?=_)", platforms)]
    found += [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)", platforms)]
    return min(found, default=None)


def own_wheel(folder: Path) -> Path:
    """Return a wheel of this checkout; with hatchling and what the toolkit depends on at hand no network is needed."""
    if all(importlib.util.find_spec(name) for name in ("hatchling", "jinja2")):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    else:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(folder.glob("hackathon-*.whl"))


def download(toolkit: Path, options: argparse.Namespace, python: str, machine: str, folder: Path) -> list[Path]:
    """Return the wheels that one Python on one machine needs; ends the program when one is missing."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--implementation", "cp"]
    words += ["--python-version", python, "-d", str(folder)]
    for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
        words += ["--abi", abi]
    for major, minor in LIBRARIES:
        words += ["--platform", f"manylinux_{major}_{minor}_{machine}"]
        if (major, minor) == (2, 17):
            words += ["--platform", f"manylinux2014_{machine}"]
    own = f"hackathon[{options.extras}] @ {toolkit.resolve().as_uri()}"
    if options.wheels:
        words += ["--no-index", "--find-links", str(options.wheels.resolve())]
    else:
        words += ["--require-hashes", "-c", str(CONSTRAINTS)]
        own += f" --hash=sha256:{hashlib.sha256(toolkit.read_bytes()).hexdigest()}"
    folder.mkdir()
    requirements = folder / "requirements.txt"  # pip takes a hash from a file only
    requirements.write_text(own + "\n")
    if subprocess.run([*words, "-r", str(requirements)], check=False).returncode:
        sys.exit(f"error: no wheel for Python {python} on {machine} (see above); choose others: --python, --machine")
    return sorted(folder.glob("*.whl"))


def installed(toolkit: Path, extras: str) -> Iterator[Package]:
    """Yield the toolkit and what it depends on, as it is installed beside the running Python."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    own = Package.of_wheel(toolkit)
    yield own
    metadata = next(data for path, (data, _) in own.files.items() if path.endswith(".dist-info/METADATA"))
    lines = metadata.decode().splitlines()
    asked = [(line.partition(":")[2], extras.split(",")) for line in lines if line.startswith("Requires-Dist:")]
    seen: set[str] = set()
    while asked:
        text, among = asked.pop()
        requirement = Requirement(text)
        if requirement.marker and not any(requirement.marker.evaluate({"extra": each}) for each in among):
            continue
        name = canonicalize_name(requirement.name)
        if name in seen:
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(name)
        asked += [(each, [*requirement.extras, ""]) for each in distribution.requires or ()]
        files: Files = {}
        for path in distribution.files or ():
            if path.parts[0] == ".." or "__pycache__" in path.parts or path.name == "RECORD":
                continue
            files[str(path)] = (Path(str(path.locate())).read_bytes(), False)
        pure = "Root-Is-Purelib: true" in (distribution.read_text("WHEEL") or "")
        yield Package(f"{name} {distribution.version}", files, pure, None)


def write(packages: dict[str, list[Package]], output: Path) -> int:
    """Write the bundle and return its size in bytes."""
    everywhere = _same_everywhere(packages)
    common: Files = {}
    parts: dict[str, bytes] = {}
    for tag, some in packages.items():
        own: Files = {}
        for package in some:
            (common if package.name in everywhere else own).update(package.files)
        parts[f"{tag}.zip"] = _zip(own)
    parts["common.zip"] = _zip(common)
    digest = hashlib.sha256(b"".join(parts[name] for name in sorted(parts))).hexdigest()[:16]
    libraries = {
        tag: max((each.library for each in some if each.library), default=None) for tag, some in packages.items()
    }
    contents = f"DIGEST = {digest!r}\nCOMPILED = {libraries!r}\n"
    held = {tag: sorted(each.name for each in some) for tag, some in packages.items()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        for name in PARTS:
            _add(bundle, name, (HERE / name).read_bytes())
        _add(bundle, "contents.py", contents.encode())
        _add(bundle, "packages.json", json.dumps(held, indent=1).encode())
        for name in sorted(parts):
            _add(bundle, name, parts[name])  # stored: its members are compressed
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f"{output.name}.part")
    partial.write_bytes((HERE / "header.sh").read_bytes() + archive.getvalue())
    partial.chmod(0o755)
    partial.replace(output)
    return output.stat().st_size


def _same_everywhere(packages: dict[str, list[Package]]) -> set[str]:
    """Return the names with versions of packages that are Python only and belong into every Python's folder."""
    lists: Iterable[set[str]] = ({each.name for each in some if each.pure} for some in packages.values())
    return set.intersection(*lists)


def _zip(files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files):
            content, executable = files[path]
            _add(archive, path, content, executable)
    return stream.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    member = zipfile.ZipInfo(name, DATE)
    member.external_attr = (0o100755 if executable else 0o100644) << 16
    member.compress_type = archive.compression
    archive.writestr(member, content)


if __name__ == "__main__":
    main()
