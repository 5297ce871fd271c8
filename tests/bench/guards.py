"""Take away, one at a time, what keeps strangers out, and see that the tests of each of the thirteen ways in fail.

    sudo python tests/bench/guards.py [NUMBER…]

A test that passes without its guard shows nothing. Works in a clone of HEAD, in a folder that other accounts reach;
needs root, for the tests call the tool as other accounts do. Prints one line for each guard; exit 1 when a test
passes without its guard, or fails with all of them. About ten minutes on two cores.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0
"""Seconds after which a test counts as one that does not end, which is how some of them fail."""


@dataclass(frozen=True)
class Guard:
    """What keeps one way closed: the text of the code that is taken away, and the test that must notice."""

    way: int
    """Its number in the review with real accounts."""
    what: str
    edits: tuple[tuple[str, str, str], ...]
    """(file, text, what takes its place)."""
    tests: tuple[str, ...]


USERS = "tests/faults/test_{}_users.py"
GUARDS = (
    Guard(1, "an event of another account is asked about",
          (("hackathon/config/trust.py", "    if not own().strangers(found.writers):\n        return own()\n",
            "    return own()\n"),),
          (USERS.format("trust"),)),
    Guard(2, "templates of others are linted, and run without objects of Python",
          (("hackathon/jobs/render.py", "if not is_shipped(path):", "if False:"),
           ("hackathon/jobs/templates/sandbox.py", "class TemplateSandbox(ImmutableSandboxedEnvironment):",
            "class TemplateSandbox(jinja2.Environment):"),
           ("hackathon/jobs/templates/sandbox.py", "            table.clear()", "            pass"),
           ("hackathon/jobs/templates/sandbox.py", "        if not isinstance(obj, dict):\n            raise Sec",
            "        if not isinstance(obj, dict):\n            return super().getattr(obj, attribute)\n"
            "            raise Sec"),
           ("hackathon/jobs/templates/sandbox.py", '        raise SecurityError("[…]")',
            "        return super().getitem(obj, argument)"),
           ("hackathon/jobs/templates/sandbox.py", "        if isinstance(obj, jinja2.Undefined):",
            "        if not isinstance(obj, (jinja2.Undefined, BlockReference)):\n            return obj(*arguments)\n"
            "        if isinstance(obj, jinja2.Undefined):")),
          (USERS.format("foreign_code") + "::test_a_teams_template_runs_nothing_as_the_tutor",
           "tests/unit/jobs/test_template_sandbox.py")),
    Guard(3, "patterns of others run in a process with a limit",
          (("hackathon/logs/metrics.py", "apart = bool(wanted) and not _is_own(run)", "apart = False"),
           ("hackathon/logs/metrics.py", "if apart or any(map(may_take_long,", "if False and any(map(may_take_long,"),
           ("hackathon/logs/metrics.py", "        endless = may_never_end(pattern)", "        endless = False")),
          (USERS.format("foreign_results") + "::test_patterns_and_rules_of_one_team_cost_nobody_else",)),
    Guard(4, "an opened file belongs to the owner of the run",
          (("hackathon/access/beneath.py",
            "        if not own and not self.folder._any_owner and not (",
            "        if False and not ("),),
          (USERS.format("foreign_links") + "::test_links_of_a_participant_show_nothing_of_the_tutors",)),
    Guard(5, "a link gives no team the runs of another",
          (("hackathon/index/projects.py",
            "        if self._whose(real, within) is not None:\n            return False\n",
            "        return True\n"),),
          (USERS.format("foreign_results") + "::test_a_link_gives_no_team_the_runs_of_another",)),
    Guard(6, "folders of caches belong to the user alone",
          (("templates/jobs/rank.sh.j2",
            '[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && case',
            '[ -d "$1" ]; return; case'),),
          (USERS.format("scratch"),)),
    Guard(7, "variables of a crate that load code are refused",
          (("hackathon/jobs/foreign_variables.py",
            "    return name not in _HARMLESS and _REFUSED.fullmatch(name) is not None",
            "    return False"),),
          ("tests/unit/runs/test_foreign_crate.py",)),
    Guard(7, "values of a crate are letters",
          (("hackathon/jobs/foreign_variables.py",
            "    return in_double_quotes(plain_value(recorded))",
            "    return f'\"{recorded}\"'"),),
          ("tests/unit/runs/test_foreign_crate.py",)),
    Guard(8, "root acts with the organiser's rights",
          (("hackathon/access/safe_directories.py",
            "    if os.geteuid() != 0 or owner == 0:\n        yield",
            "    if True:\n        yield"),),
          (USERS.format("event") + "::test_root_opens_and_makes_nothing_that_the_organiser_could_not",)),
    Guard(9, "values in a check to paste are quoted",
          (("hackathon/diagnosis/check_command.py",
            "shlex.quote(value)\n        done = end",
            "value\n        done = end"),),
          ("tests/unit/diagnosis/test_check_command.py",
           USERS.format("foreign_code") + "::test_a_check_with_a_teams_path_runs_nothing_when_it_is_pasted")),
    Guard(10, "`cancel` compares the job with the scheduler's word",
          (("hackathon/runs/cancel.py", "    _require_own(run, job_id, job, sure=sure)\n", ""),),
          (USERS.format("cancel"),)),
    Guard(11, "connections that ask nothing get a share",
          (("hackathon/web/dashboard/crowd.py",
            "        if len(self._waiting) <= self.most:\n",
            "        if True:\n"),),
          ("tests/web/test_crowd.py",)),
    Guard(11, "a lock on a dead job's place ends",
          (("hackathon/schedulers/local/slots.py",
            "    if abs(time.time() - found.st_mtime) - _slept() <= STALE:",
            "    if True:"),),
          (USERS.format("slots"),)),
    Guard(11, "holes of logs are skipped",
          (("hackathon/text/files.py", 'if block.startswith(b"\\0") and', "if False and"),),
          ("tests/unit/diagnosis/test_sparse_logs.py",)),
    Guard(11, "what is no regular file is not opened for reading",
          (("hackathon/access/beneath.py", "        if not wanted(state.st_mode):", "        if False:"),),
          ("tests/unit/access/test_guarded_folder.py",)),
    Guard(11, "the board looks at a bounded number of files",
          (("hackathon/board/store.py", "    return names[:: -(-len(names) // MOST_STRAYS) or 1]",
            "    return names"),),
          (USERS.format("board"),)),
    Guard(12, "an umask of 000 is narrowed",
          (("hackathon/cli/main.py", "    os.umask(os.umask(0o077) | 0o002)\n", ""),),
          (USERS.format("foreign_results") + "::test_a_shell_with_umask_000_makes_runs_that_nobody_else_writes",)),
    Guard(13, "a form comes from a page of ours",
          (("hackathon/web/dashboard/access.py", "elif form and not same_origin(headers):", "elif False:"),),
          ("tests/web/test_acts.py::test_forms_of_other_pages_are_refused",)),
    Guard(13, "a form has a token of this browser",
          (("hackathon/web/dashboard/form_page.py", "if not self._guard.knows(token, session):", "if False:"),),
          ("tests/web/test_acts.py::test_a_token_is_of_one_browser_one_server_and_some_hours",)),
    Guard(13, "a form that is sent again does nothing again",
          (("hackathon/web/dashboard/form_guard.py", "        task = self._sent.get(key)\n", "        task = None\n"),),
          ("tests/web/test_acts.py::test_the_same_form_again_does_nothing_again",)),
    Guard(13, "a form runs commands about the account's own runs only",
          (("hackathon/web/dashboard/acts.py", "    if not own(run):", "    if False:"),),
          ("tests/web/test_acts.py::test_runs_of_others_are_neither_cancelled_nor_run",)),
    Guard(13, "a command that a form runs loads nothing from the project's folder",
          (("hackathon/web/dashboard/acts.py", '"-P", "-m"', '"-m"'),),
          ("tests/web/test_acts.py::test_one_s_own_run_is_cancelled_and_submitted_again_after_a_question",)),
)  # fmt: skip


def passes(clone: Path, tests: tuple[str, ...], base: Path) -> str:
    """Return `pass`, `fail` or `does not end` for tests of the clone."""
    options = ["-q", "-x", "-n", "0", "-m", "", "-p", "no:cacheprovider", f"--basetemp={base}"]
    words = [sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(clone)}
    try:
        done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return "fail" if done.returncode else "pass"


def main() -> int:
    """Return the exit code."""
    asked = {int(word) for word in sys.argv[1:]}
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        clone, base = Path(place) / "clone", Path(place) / "tests"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        for guard in GUARDS:
            if asked and guard.way not in asked:
                continue
            with_it = passes(clone, guard.tests, base)
            before = {file: (clone / file).read_text() for file, _, _ in guard.edits}
            for file, old, new in guard.edits:
                text = (clone / file).read_text()
                if text.count(old) != 1:
                    raise SystemExit(f"{file}: the guard {guard.what!r} is not found; mend this table")
                (clone / file).write_text(text.replace(old, new))
            without = passes(clone, guard.tests, base)
            for file, text in before.items():
                (clone / file).write_text(text)
            good = with_it == "pass" and without != "pass"
            wrong += not good
            mark = "" if good else "   <-- WRONG"
            print(f"{guard.way:2} {guard.what}: with it {with_it}, without it {without}{mark}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
