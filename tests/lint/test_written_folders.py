"""Who writes files, makes folders or starts programs elsewhere than in `access`, and why nobody else can misuse that.

A folder that the toolkit writes into or runs from is looked at first: `config.trust.writable_folder`. A new place that
writes by a name, makes a folder that may be there already, or starts a program in a folder fails this test until
somebody says here what keeps others' links and programs out.
"""

import ast
import itertools
from collections.abc import Iterator

from support import sources
from support.paths import ROOT

GUARDED = "in a folder that writable_folder has looked at"
SETTINGS = "in the user's settings, cache or state, which nobody else may own (text.paths)"
RUN = "in the user's run directory, which create has made in a guarded folder"
JOB = "in the job, in its own run directory"
FRESH = "in a folder of a random name that it has just made, or as a new file (O_EXCL)"
PRIVATE = "in a folder that access.private has looked at"
BOARD = "in the event's folders, whose owner and modes are those of the event (access.safe_directories)"
ASKED = "a file that the user named, which must not be there"

REASONS: dict[str, str] = {
    "board/directory.py": BOARD,
    "cli/board/board_io.py": FRESH,
    "cli/clusters/check.py": GUARDED,
    "cli/study/results.py": ASKED,
    "config/load.py": SETTINGS,
    "config/plug_ins.py": SETTINGS,
    "config/trust.py": "after --trust, in the project that it was said of",
    "diagnosis/bundle.py": ASKED,
    "diagnosis/examine.py": FRESH,
    "diagnosis/matcher.py": SETTINGS,
    "diagnosis/teach.py": "in the folder of rules whose files count only where they are the user's or the event's",
    "event/administrator.py": BOARD,
    "event/files.py": BOARD,
    "index/diagnoser.py": "to its own output",
    "logs/pattern_reader.py": "to its own output",
    "notify/outbox.py": SETTINGS,
    "notify/webhook.py": SETTINGS,
    "parallel/description/worker.py": FRESH,
    "parallel/live/checkpoint.py": JOB,
    "parallel/source/graphs.py": SETTINGS,
    "profiling/chainer_trace.py": JOB,
    "profiling/recorder.py": JOB,
    "profiling/tensorflow_trace.py": JOB,
    "profiling/traces/merged.py": RUN,
    "programs/scripts/fixes.py": ASKED,
    "runs/clean.py": RUN,
    "runs/crate/download.py": GUARDED,
    "runs/create.py": GUARDED,
    "runs/doctor.py": FRESH,
    "runs/environment/environments.py": GUARDED,
    "runs/outputs/fetch.py": FRESH,
    "scaling/cluster_measurements.py": SETTINGS,
    "scaling/draw.py": "to a descriptor of its own",
    "schedulers/cache.py": SETTINGS,
    "schedulers/known_nodes.py": SETTINGS,
    "schedulers/local/share.py": PRIVATE,
    "schedulers/local/state.py": PRIVATE,
    "schedulers/runner.py": "the scheduler's command, in the run directory: no module of Python is looked for there",
    "survey/collection.py": BOARD,
    "survey/create.py": BOARD,
    "survey/dropbox.py": BOARD,
    "survey/durable.py": BOARD,
    "survey/tokens.py": SETTINGS,
    "text/locale.py": "a new file (O_EXCL) in the toolkit's own folder: who can write there can write its programs",
    "text/files.py": "write_whole: a new file (O_EXCL) that is renamed, so that no link is followed",
    "tuning/driver.py": JOB,
    "tuning/observer.py": JOB,
    "usage/budget.py": SETTINGS,
    "web/dashboard/acts.py": "the toolkit itself with the command and arguments of a confirmed act",
    "web/page/figures.py": SETTINGS,
    "web/page/scripts.py": SETTINGS,
    "web/report/signed_files.py": FRESH,
    "web/site/build.py": FRESH,
    "web/site/manifest.py": SETTINGS,
    "web/site/publish.py": FRESH,
}


def test_who_writes_or_runs_in_a_folder_says_what_guards_it() -> None:
    writers = {}
    for path in sources.modules():
        name = path.relative_to(ROOT / "hackathon").as_posix()
        if not name.startswith(("access/", "runtime/")):
            lines = sorted(set(_writing(sources.nodes(path))))
            if lines:
                writers[name] = lines
    unknown = {name: lines for name, lines in writers.items() if name not in REASONS}
    assert unknown == {}, "say why nobody else can put a link or a program there"
    assert sorted(set(REASONS) - set(writers)) == [], "they write no more"


def test_no_program_is_started_as_a_module_in_a_folder_of_others() -> None:
    """`python -m NAME` takes NAME from the current folder, unless it is isolated (-I)."""
    wrong = []
    for path in sources.modules():
        for node in sources.nodes(path):
            if isinstance(node, ast.Tuple | ast.List):
                words = [item.value for item in node.elts if isinstance(item, ast.Constant)]
                if any(one == "-m" and isinstance(two, str) and two in ("pip", "venv", "ensurepip")
                       for one, two in itertools.pairwise(words)) and "-I" not in words:  # fmt: skip
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def _writing(nodes: tuple[ast.AST, ...]) -> Iterator[int]:
    """Yield the lines that write a file by its name, make a folder that may be there, or start a program in one."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if name in ("write_text", "write_bytes", "makedirs") or (name == "mkdir" and "exist_ok" in named):
            yield node.lineno
        elif name in ("open", "fdopen"):
            modes = [*node.args, *([named["mode"]] if "mode" in named else [])]
            if any(isinstance(mode, ast.Constant) and isinstance(mode.value, str) and len(mode.value) < 4
                   and set(mode.value) & set("wax") for mode in modes):  # fmt: skip
                yield node.lineno
        elif name in ("Popen", "run", "check_output", "call", "check_call") and "cwd" in named:
            folder = named["cwd"]
            yield from () if isinstance(folder, ast.Constant) and folder.value == "/" else (node.lineno,)
