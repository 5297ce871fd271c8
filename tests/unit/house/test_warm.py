"""What runs in a fork of `support.warm` sees and does what it would in an interpreter of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import warm
from support.accounts import interpreter_for_others, public_folder, python_for_others
from support.patience import STRETCH

__all__ = ["public_folder"]

FACTS = """
import json, os, sys
mask = os.umask(0)
print(json.dumps({
    "argv": sys.argv, "path": sys.path[0], "folder": os.getcwd(), "mask": mask, "typed": sys.stdin.read(),
    "variables": {name: value for name, value in os.environ.items() if name != "_"},
    "streams": [(each.encoding.lower(), each.errors) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "executable": sys.executable, "name": __name__,
}))
"""
ENDS = {
    "code": "raise SystemExit(7)",
    "words": "import sys\\nsys.exit('gone')",
    "killed": "import os\\nos.kill(os.getpid(), 9)",
    "exception": "print('before')\\n{}['key']",
    "own words": "import sys\\nsys.excepthook = lambda *error: print(error[1], file=sys.stderr)\\n{}['key']",
    "deaf": "import os, signal\\nos.kill(os.getpid(), signal.SIGTERM)",
}


def _both(words: list[str], folder: Path, typed: str = "", **more: str) -> list[tuple[int, str, str]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
    found = []
    for python in (warm.with_toolkit(), sys.executable):
        done = subprocess.run(
            [python, *words], cwd=folder, env=kept | more, input=typed, capture_output=True, text=True,
            timeout=STRETCH * 60, umask=0o027, check=False,
        )  # fmt: skip
        found.append((done.returncode, done.stdout, done.stderr))
    return found


@pytest.mark.parametrize(
    "more",
    [
        {"LANG": "C.UTF-8"},
        {"LANG": "en_US.UTF-8", "PYTHONUNBUFFERED": "1"},
        {"LC_ALL": "C"},
        {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"},
        {"LANG": "C.UTF-8", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONHASHSEED": "0"},
    ],
    ids=str,
)
def test_a_program_sees_the_same(tmp_path: Path, more: dict[str, str]) -> None:
    (tmp_path / "facts.py").write_text(FACTS)
    forked, fresh = _both(["facts.py", "two words", "*"], tmp_path, "typed", **more)
    assert forked[0] == fresh[0] == 0, forked
    first, second = json.loads(forked[1]), json.loads(fresh[1])
    for each in (first, second):
        each["argv"][0] = str(tmp_path / each["argv"][0])  # runpy gives a program its whole path
        for name in ("LC_CTYPE", "PWD", "OLDPWD"):  # Python's own where the locale is C (PEP 538), and the shell's
            each["variables"].pop(name, None)
    assert first == second


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_the_same(tmp_path: Path, end: str) -> None:
    (tmp_path / "ends.py").write_text(ENDS[end].replace("\\n", "\n") + "\n")
    forked, fresh = _both(["ends.py"], tmp_path, LANG="C.UTF-8")
    assert forked[:2] == fresh[:2]
    assert forked[2].splitlines()[-1:] == fresh[2].splitlines()[-1:]


def test_a_program_that_does_not_exist_is_told_by_the_interpreter(tmp_path: Path) -> None:
    forked, fresh = _both(["absent.py"], tmp_path, LANG="C.UTF-8")
    assert forked == fresh and fresh[0] == 2 and "can't open file" in fresh[2]


def test_a_signal_to_the_client_reaches_the_program(tmp_path: Path) -> None:
    program = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\nprint('here', flush=True)\n"
    (tmp_path / "waits.py").write_text(f"{program}while True:\n    signal.pause()\n")
    with subprocess.Popen(
        [warm.with_toolkit(), "waits.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(STRETCH * 60) == 5


@pytest.mark.parametrize(("name", "forked_too"), [("hackathon-python", True), ("somebody-s", False)])
def test_what_a_job_lays_in_the_way_of_python_is_imported_first(tmp_path: Path, name: str, forked_too: bool) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "sitecustomize.py").write_text("import sys\nsys.before = [name for name in sys.path if name]\n")
    program = "import sys\nprint(sys.before[0], '' in sys.path, sys.path[0] in sys.before)\n"
    (tmp_path / "late.py").write_text(f"{program}print('hackathon.runs' in sys.modules)\n")
    forked, fresh = _both(["late.py"], tmp_path, LANG="C.UTF-8", PYTHONPATH=str(tmp_path / name))
    first = f"{tmp_path / name} False False\n"
    assert forked == (0, f"{first}{forked_too}\n", "") and fresh == (0, f"{first}False\n", "")


def test_a_program_of_another_account_is_that_account_s(public_folder: Path) -> None:
    (public_folder / "who.py").write_text(
        "import os\nprint(os.getresuid(), os.getresgid(), sorted(os.getgroups()))\n"
        "print(os.stat('/proc/self/fd').st_uid, os.listdir('/proc/self/fd') != [])\n"
        "try:\n    os.setuid(0)\nexcept PermissionError:\n    print('closed')\n"
    )
    packages = interpreter_for_others()[1]
    said = [
        subprocess.run(
            [python, "who.py"], cwd=public_folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": packages},
            capture_output=True, text=True, user=64001, group=64000, extra_groups=[64002, 64003], check=True,
        ).stdout
        for python, _ in (python_for_others(), interpreter_for_others())
    ]  # fmt: skip
    assert said[0] == said[1]
    assert said[0].startswith("(64001, 64001, 64001) (64000, 64000, 64000) [64002, 64003]\n64001 True\nclosed")
