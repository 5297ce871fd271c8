"""Whose files each command reads, and which test shows that they do no harm: nothing that reads stays off the list.

Rows are inputs that somebody else can write, columns are the commands that read them. A cell is a test; what a row does
not name does not read that input, for the reason that the row gives. A search of the code keeps the list complete: a
new place that opens or parses a file fails a test until somebody says here whose file it is.
"""

import ast

import pytest

from hackathon.cli.main import COMMANDS
from support import sources
from support.paths import ROOT

FAULTS, UNIT = "tests/faults", "tests/unit"
LINKS = f"{FAULTS}/test_foreign_links_users.py::test_links_of_a_participant_show_nothing_of_the_tutors"
FORMATS = f"{FAULTS}/test_foreign_formats.py::test_files_of_a_run"
DESCRIPTOR = f"{UNIT}/access/test_run_reading.py::test_commands_open_files_of_runs_from_the_descriptor_of_the_run"
TRUST = f"{FAULTS}/test_trust_users.py::test_a_strangers_event_above_is_asked_about_and_runs_nothing"
PROJECT = f"{FAULTS}/test_trust_users.py::test_a_strangers_project_above_is_read_and_not_run"
TUTOR = f"{FAULTS}/test_trust_users.py::test_a_tutor_reads_a_teams_project_and_runs_it_only_with_trust"
WRITTEN = f"{FAULTS}/test_foreign_formats.py::test_files_that_people_write"
TEMPLATE = f"{FAULTS}/test_foreign_code_users.py::test_a_teams_template_runs_nothing_as_the_tutor"
COMPILED = f"{FAULTS}/test_foreign_code_users.py::test_compiled_templates_of_another_account_are_not_loaded"
BOARD = f"{FAULTS}/test_board_users.py::test_links_fifos_folders_and_big_files_are_passed_over_without_waiting"
BOUNDS = f"{UNIT}/index/test_bounds.py::test_a_link_to_another_teams_runs_gives_nobody_anything"
SLOW = f"{UNIT}/diagnosis/test_rule_limits.py::test_a_project_with_slow_rules_hides_no_cause_of_another"
ENDLESS = f"{UNIT}/diagnosis/test_rule_limits.py::test_a_rule_that_does_not_end_costs_itself_only"
CRATE = f"{FAULTS}/test_foreign_code_users.py::test_a_strangers_crate_is_refused_and_its_values_stay_text"
SURVEY = f"{FAULTS}/test_survey_users.py::test_a_hostile_user_reads_and_alters_nothing"
JOBS = f"{UNIT}/runs/test_job_owner.py"
FOLDERS = f"{FAULTS}/test_trust_users.py::test_nothing_is_written_to_or_run_from_a_strangers_folder"
SCRIPT = f"{UNIT}/programs/test_lint.py::test_scripts_of_others_are_data"

STUDIES = ("scale", "try", "profile", "speedup", "tune", "microbatch", "compress")
"""Commands that run a project's program to measure it."""

THREATS: dict[str, tuple[dict[str, str], str]] = {
    "job script written by hand": (
        dict.fromkeys(("lint", "convert", "adopt", "doctor"), SCRIPT),
        "reads no scripts of people",
    ),
    "training program": (
        {"port": f"{UNIT}/programs/port/test_port.py::test_programs_of_others_are_data"},
        "reads no programs, or only its own user's",
    ),
    "graph and devices of a plan": (
        {"plan": f"{UNIT}/parallel/test_plan_files.py::test_anything_that_is_not_a_graph_is_refused"},
        "plans no partition",
    ),
    "model file that is planned": (
        {"plan": f"{UNIT}/parallel/test_graph_cache.py::test_code_of_another_account_runs_with_trust_alone"},
        "captures no model",
    ),
    "table of measurements": (
        {"predict": f"{UNIT}/prediction/test_table.py::test_tables_of_others_are_data"},
        "reads no table of measurements",
    ),
    "file of a run": (
        {
            "status": DESCRIPTOR, "results": LINKS, "compare": DESCRIPTOR, "logs": LINKS, "diagnose": LINKS,
            "top": LINKS, "dashboard": f"{UNIT}/index/test_foreign.py::test_nothing_of_the_tutor_s_is_shown",
            "publish": LINKS, "slides": FORMATS, "event": FORMATS, "ready": FORMATS, "board": LINKS, "ask": LINKS,
            "standup": FORMATS,
            "notify": FORMATS, "scale": DESCRIPTOR, "tune": DESCRIPTOR, "submit": DESCRIPTOR, "rerun": DESCRIPTOR,
            "cancel": f"{FAULTS}/test_cancel_users.py::test_cancel_ends_no_job_that_anothers_files_name",
            "adopt": f"{JOBS}::test_adopt_takes_no_job_of_another", "clean": FORMATS, "doctor": DESCRIPTOR,
            "fetch": f"{UNIT}/runs/test_outputs.py::test_no_link_leads_out_of_the_run",
            "clusters": DESCRIPTOR, "predict": DESCRIPTOR, "export": DESCRIPTOR,
            "profile": f"{UNIT}/profiling/traces/test_recording.py::test_a_link_is_no_trace",
        },
        "makes or shows something before there is a run",
    ),
    "link in the place of a run, of its files or of `runs`": (
        dict.fromkeys(("top", "dashboard", "publish", "event", "slides", "submit", "predict", *STUDIES), BOUNDS)
        | dict.fromkeys(("results", "logs", "diagnose", "board", "ask"), LINKS)
        | {"status": DESCRIPTOR, "compare": DESCRIPTOR},
        "reads no runs of others, or only one that its user names",
    ),
    "study": (
        dict.fromkeys(
            (*STUDIES, "results", "compare", "top", "dashboard", "publish", "slides", "event", "predict", "check"),
            f"{FAULTS}/test_foreign_formats.py::test_a_study",
        ),
        "reads single runs",
    ),
    "metric pattern of a run": (
        dict.fromkeys(
            ("results", "compare", "top", "dashboard", "publish", "slides", "event", "ready", "predict", "check",
             *STUDIES),
            f"{UNIT}/logs/test_patterns.py::test_a_pattern_that_takes_long_is_ended_and_told_with_its_project",
        ),
        "shows no numbers of a run",
    ),
    "project": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "rerun", "ready", "env", "data"), PROJECT)
        | {"plan": PROJECT}
        | dict.fromkeys(("status", "results", "logs", "diagnose", "top", "dashboard", "publish", "event"), TUTOR),
        "reads no project.yaml of others",
    ),
    "event": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "plan", "rerun", "ready", "env", "data"), TRUST)
        | dict.fromkeys(("trust", "board", "survey", "rules", "ask", "standup"), TRUST)
        | dict.fromkeys(("event", "dashboard", "top", "publish", "slides", "notify", "clusters", "recipes"), WRITTEN)
        | {"predict": WRITTEN},
        "the event has no say in it",
    ),
    "job template": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "ready", "rerun", "clusters"), TEMPLATE),
        "renders no script",
    ),
    "cluster profile": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "plan", "rerun", "ready", "env", "data"), TRUST)
        | {"clusters": WRITTEN, "doctor": WRITTEN},
        "asks no cluster",
    ),
    "failure rule": (
        {"diagnose": ENDLESS, "rules": ENDLESS, "top": SLOW, "publish": SLOW, "dashboard": SLOW, "board": ENDLESS,
         "ask": ENDLESS, "event": SLOW, "slides": SLOW, "notify": SLOW, "status": ENDLESS, "submit": ENDLESS,
         "scale": ENDLESS, "try": ENDLESS, "speedup": ENDLESS},
        "diagnoses nothing",
    ),
    "recipe": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "plan", "ready", "env", "data", "rerun"), TRUST)
        | {"recipes": WRITTEN, "init": WRITTEN, "results": WRITTEN, "compare": WRITTEN},
        "needs no recipe",
    ),
    "requirements of a recipe or project": (
        {"env": f"{UNIT}/runs/test_environments.py::test_a_strangers_files_do_not_say_where_packages_come_from"},
        "installs nothing",
    ),
    "questionnaire": (dict.fromkeys(("survey", "publish", "event", "dashboard"), WRITTEN), "shows no survey"),
    "drop box and token": (
        {"survey": SURVEY, "publish": SURVEY, "event": SURVEY, "dashboard": SURVEY}, "shows no answers"
    ),
    "trace of a profiler": (
        dict.fromkeys(
            ("profile", "results", "compare"),
            f"{UNIT}/profiling/traces/test_stream.py::test_whatever_lies_in_a_file_is_read_or_refused",
        ),
        "reads no traces",
    ),
    "crate": ({"rerun": CRATE, "compare": f"{FAULTS}/test_foreign_formats.py::test_a_crate"}, "takes no crate"),
    "entry of the board": (
        dict.fromkeys(("board", "ask", "standup", "dashboard", "publish", "top", "event", "ready", "slides"), BOARD)
        | {"notify": BOARD, "diagnose": BOARD},
        "does not read the board",
    ),
    "folder that is written, or that a program is started from": (
        dict.fromkeys(("submit", "scale", "env", "data"), FOLDERS)
        | dict.fromkeys(("rerun", "try", "profile", "speedup", "tune", "microbatch", "compress", "doctor", "shell"),
                        f"{UNIT}/access/test_written.py::test_a_folder_of_others_is_refused")
        | dict.fromkeys(("publish", "export"), f"{UNIT}/access/test_written.py::test_a_folder_of_others_is_refused"),
        "writes only in the user's own settings and cache, or what the user names",
    ),
    "second reader of a script": (
        {
            "submit": "tests/cluster/test_gridengine_lab.py::test_no_value_of_a_script_becomes_an_option",
            "render": f"{UNIT}/jobs/test_render.py::test_the_short_script_has_no_line_of_a_value_either",
            "lint": f"{UNIT}/programs/test_lint.py::test_grid_engine_reads_texts_and_here_documents_too",
        },
        "writes and judges no job script",
    ),
    "cache": (
        dict.fromkeys(("check", "render", "submit", *STUDIES, "shell", "ready", "rerun", "plan"), COMPILED)
        | dict.fromkeys(
            ("diagnose", "top", "dashboard", "publish", "event", "results", "clusters", "predict"),
            f"{UNIT}/config/test_trust.py::test_a_cache_of_another_account_is_not_used",
        ),
        "keeps nothing between two calls",
    ),
    "temporary folder of a node": (
        dict.fromkeys(
            ("submit", "scale", "tune", "shell", "rerun", "ready"),
            f"{FAULTS}/test_scratch_users.py::test_caches_lie_in_a_folder_of_the_users_alone",
        )
        | {"data": f"{FAULTS}/test_scratch_users.py::test_data_that_somebody_else_staged_are_not_read"},
        "starts no job",
    ),
    "peer on loopback": (
        {"dashboard": f"{FAULTS}/test_dashboard_users.py"
                      "::test_another_user_neither_reads_the_token_nor_sees_it_in_the_list_of_processes"},
        "listens on no port",
    ),
    "secret by its value": (
        dict.fromkeys(("publish", "event"), "tests/web/test_secrets_by_value.py::test_a_value_goes_wherever_it_stands"),
        "gives nothing out",
    ),
    "socket": (
        {"dashboard": f"{FAULTS}/test_dashboard_users.py::test_another_user_s_socket_is_not_taken_for_ours",
         "survey": f"{FAULTS}/test_survey_users.py::test_a_flood_of_one_user_keeps_nobody_away"},
        "listens to nobody",
    ),
    "form that a browser sends": (
        {"dashboard": "tests/web/test_acts.py::test_forms_of_other_pages_are_refused", "survey": SURVEY},
        "takes no forms",
    ),
    "environment variable of a crate": (
        {"rerun": f"{UNIT}/runs/test_foreign_crate.py::test_variables_that_load_code_are_refused_by_name"},
        "the environment is the user's own",
    ),
    "list of processes": (
        {"dashboard": f"{FAULTS}/test_dashboard_users.py"
         "::test_another_user_neither_reads_the_token_nor_sees_it_in_the_list_of_processes",
         "survey": SURVEY},
        "has no secret",
    ),
    "answer of a scheduler": (
        {"status": f"{JOBS}::test_status_does_not_show_the_job_of_another",
         "cancel": f"{JOBS}::test_cancel_leaves_jobs_of_others_alone",
         "adopt": f"{JOBS}::test_adopt_takes_no_job_of_another",
         "event": f"{FAULTS}/test_foreign_formats.py::test_answers_of_accounting",
         "submit": f"{JOBS}::test_a_job_of_somebody_else_with_the_runs_name_is_not_the_submission",
         "scale": f"{JOBS}::test_a_job_of_somebody_else_with_the_runs_name_is_not_the_submission"},
        "asks the scheduler only through these commands' functions",
    ),
}  # fmt: skip
"""Input → (command → test, why the other commands do not matter)."""

GUARD, OWN, WRITES, PROC = "the guard itself", "the user's own file", "writes", "/proc"
SHIPPED, CHILD = "comes with the toolkit", "talks to a child of its own"
READERS: dict[str, tuple[str, str]] = {
    "access/beneath.py": ("Beneath._top _Walk.down", GUARD),
    "access/guarded_folder.py": ("GuardedFolder.open GuardedFolder.value", GUARD),
    "access/guarded_path.py": ("GuardedPath.open_regular GuardedPath.open GuardedPath.read_text", GUARD),
    "access/ownership.py": ("look _overflow _mapped", GUARD),
    "access/private.py": ("open_private", GUARD),
    "access/publish.py": ("publish publish_path _rename", WRITES),
    "access/safe_directories.py": ("parent_below make_way give _stepped", GUARD),
    "access/written.py": ("writable_folder _subfolder open_log", GUARD),
    "access/trust_record.py": ("entries", "a private file, checked"),
    "board/directory.py": ("make_place", WRITES),
    "board/entry.py": ("decode", "entry of the board"),
    "board/store.py": ("_own_folder _opened _Reader.take_people _Reader._take", "entry of the board"),
    "cli/board/board_io.py": ("_edited", OWN),
    "cli/clusters/check.py": ("_live write_new", OWN),
    "cli/docs.py": ("Page.text Page.title", SHIPPED),
    "cli/reference/clusters.py": ("listing", SHIPPED),
    "cli/init.py": ("_formats_told", OWN),
    "cli/main.py": ("_system_error", "/dev/null"),
    "cli/run/logs.py": ("_raw", "file of a run"),
    "cli/study/results.py": ("_describe", WRITES),
    "cli/survey/open.py": ("command", WRITES),
    "cli/survey/serve.py": ("command _serve", "drop box and token"),
    "config/load.py": ("recall", "cache"),
    "config/plug_ins.py": ("_recall", "cache"),
    "config/validate.py": ("_checked", "cache"),
    "diagnosis/bundle.py": ("_packed", WRITES),
    "diagnosis/cache.py": ("_noted", "cache"),
    "diagnosis/facts.py": ("_rows", "file of a run"),
    "diagnosis/matcher.py": ("_recall", "cache"),
    "diagnosis/silent/data.py": ("combines", "file of a run"),
    "diagnosis/silent/training.py": ("placed", "file of a run"),
    "diagnosis/teach.py": ("_lines _added _alone", "failure rule"),
    "event/administrator.py": ("write_script", WRITES),
    "event/directories.py": ("_make", WRITES),
    "event/files.py": ("write_event _replace", WRITES),
    "event/table.py": ("_Reader._rows", OWN),
    "index/diagnoser.py": ("Examiner.cause main", CHILD),
    "index/entry.py": ("loaded", "cache"),
    "index/store.py": ("RunStore._open", "cache"),
    "index/studies.py": ("_results", "cache"),
    "index/uses.py": ("use_in", "cache"),
    "jobs/environments.py": ("lacks_framework", OWN),
    "jobs/image_mpi.py": ("_by_label", "answer of a container program"),
    "jobs/installed.py": ("_text", OWN),
    "jobs/settings.py": ("values_of", "the command line"),
    "logs/formats.py": ("_chainer_log", "file of a run"),
    "logs/pattern_reader.py": ("_asked main", CHILD),
    "notify/outbox.py": ("Sent.claim", WRITES),
    "notify/webhook.py": ("send", "an answer that is not read"),
    "parallel/description/measure.py": ("free_memory", PROC),
    "parallel/live/checkpoint.py": ("_write Checkpoint.__init__", f"{WRITES}; {OWN}"),
    "parallel/plan/fields.py": ("read_object", "graph and devices of a plan"),
    "parallel/source/graphs.py": ("_kept", "model file that is planned"),
    "prediction/table.py": ("_lines", "table of measurements"),
    "profiling/chainer_trace.py": ("ChainerProfiler.export_chrome_trace", WRITES),
    "profiling/recorder.py": ("Recorder._put", WRITES),
    "profiling/tensorflow_events.py": ("planes_in", OWN),
    "profiling/tensorflow_trace.py": ("TensorflowProfiler.export_chrome_trace", WRITES),
    "profiling/traces/merged.py": ("_opened", WRITES),
    "programs/scripts/fixes.py": ("put", WRITES),
    "readiness/job.py": ("sample main", OWN),
    "readiness/probe.py": ("submit_probe told_by", "file of a run"),
    "readiness/security.py": ("_umask", PROC),
    "readiness/wanted.py": ("_imports", OWN),
    "rehearsal/profile_run.py": ("recorder_files", SHIPPED),
    "rehearsal/told.py": ("_by_meter", "file of a run"),
    "runs/adopt.py": ("_line _script", "file of a run"),
    "runs/chain.py": ("segment_of", "file of a run"),
    "runs/crate/archive.py": ("Crate.record read_inside _Archive.__init__ _Archive.read _json", "crate"),
    "runs/crate/download.py": ("_transfer sha256 unpack", "data whose digest the project names"),
    "runs/create.py": ("_put _write_rest", f"{WRITES}; {SHIPPED}"),
    "runs/environment/environments.py": ("_only_builder _run", WRITES),
    "runs/environment/install_plan.py": ("_text", "requirements of a recipe or project"),
    "runs/outputs/fetch.py": ("fetch", "file of a run"),
    "runs/outputs/walk.py": ("RecordedSource.has_recorded_content", "file of a run"),
    "runs/rerun.py": ("_script", "file of a run"),
    "runs/source/snapshot.py": ("write with_runtime _opened", OWN),
    "runs/study.py": ("_read_reservation", "study"),
    "runtime/hackathon_runtime.py": (
        "_Lines.append _from_tf_config deadline environment.packages -",
        "in the job, its own files and variables",
    ),
    "scaling/draw.py": ("main serve", CHILD),
    "scaling/drawer.py": ("Drawer._drawn_here", CHILD),
    "scaling/plot.py": ("filled pictures", SHIPPED),
    "schedulers/kubernetes/manifest.py": ("_filled", SHIPPED),
    "schedulers/kubernetes/parse.py": ("objects", "an answer of kubectl, bounded by the runner"),
    "schedulers/pbs/machine.py": ("nodes", CHILD),
    "schedulers/local/commands.py": ("_value", CHILD),
    "schedulers/local/processes.py": ("with_variable", PROC),
    "schedulers/local/share.py": ("UnitTicket.start UnitTicket._take", "a private folder, checked"),
    "schedulers/local/slots.py": ("Ticket.join _read", "tickets of all users, bounded"),
    "schedulers/local/state.py": ("_own_folder create _next_number _take script_of", "a private folder, checked"),
    "schedulers/local/supervisor.py": (
        "launch _leave_the_terminal Supervisor._start_script Supervisor._become_script",
        "a private folder, checked",
    ),
    "survey/collection.py": ("Collection.open", "a private folder, checked"),
    "survey/dropbox.py": ("drop _write read_box _read_one", "drop box and token"),
    "survey/durable.py": ("put replace_bytes sync_folder held", WRITES),
    "survey/gather.py": ("_take", "drop box and token"),
    "survey/importing.py": ("_Reader._read_saved _key", "drop box and token"),
    "survey/spreadsheet.py": ("_rows", "drop box and token"),
    "survey/workbook.py": ("_check_parts", "bytes in memory, sizes checked"),
    "text/files.py": ("write_whole open_regular known_json objects_of _value", "regular files only, bounded"),
    "text/locale.py": ("catalogue", "the toolkit's own files"),
    "text/uptime.py": ("boot process_status", PROC),
    "tuning/batches.py": ("_text", SHIPPED),
    "tuning/observer.py": ("Observer.predict", "the job's own files"),
    "tuning/driver.py": ("read_object start_program memory_of main", "the job's own files and /proc"),
    "tuning/measurement.py": ("SingleProcess.measurement", SHIPPED),
    "tuning/microbatch/search.py": ("place_wrapper", OWN),
    "web/crate/crate.py": ("collect pack shipped_hashes _object", "file of a run"),
    "web/dashboard/endpoint.py": ("_only_one port_door", "socket"),
    "web/dashboard/server.py": ("_digest", SHIPPED),
    "web/listing/log.py": ("log_page", "file of a run"),
    "web/masking/masked_page.py": ("_data", "what was made a moment ago"),
    "web/page/figures.py": ("_theme _read", "cache"),
    "web/page/pages.py": ("style", SHIPPED),
    "web/page/plot_forms.py": ("forms", SHIPPED),
    "web/page/scripts.py": ("vega_bundle _notices _page_file.read", "cache"),
    "web/report/files.py": ("_style", SHIPPED),
    "web/report/slide_files.py": ("_style", SHIPPED),
    "web/report/signed_files.py": ("write_together", WRITES),
    "web/report/word.py": ("_plain_zip", "what was made a moment ago"),
    "web/site/leak_check.py": ("_texts _read", "what was made a moment ago"),
    "web/site/plot_files.py": ("parted", "what was made a moment ago"),
    "web/site/switch.py": ("publication swap _led", OWN),
    "web/survey_form/offline.py": ("script", SHIPPED),
}
"""Module → (its functions that open or parse, the input or why it does not matter)."""

_CALLS = {
    "json.load", "json.loads", "yaml.load", "yaml.safe_load", "sqlite3.connect", "csv.reader", "csv.DictReader",
    "tarfile.open", "zipfile.ZipFile", "pickle.load", "pickle.loads", "marshal.load", "open", "os.open", "os.fdopen",
}  # fmt: skip
NAMES = {name for names in COMMANDS.values() for name in names}
_METHODS = {"open", "read_text", "read_bytes", "fdopen"}


def test_every_cell_is_a_test_that_exists_or_a_reason() -> None:
    assert {command for cells, _ in THREATS.values() for command in cells} - NAMES == set()
    assert [name for name, (cells, others) in THREATS.items() if not cells or not others] == []
    wrong = []
    for cell in sorted({test for cells, _ in THREATS.values() for test in cells.values()}):
        path, _, function = cell.partition("::")
        if not (ROOT / path).is_file() or f"def {function}(" not in sources.text(ROOT / path):
            wrong.append(cell)
    assert wrong == []


def test_every_command_that_reads_what_others_write_is_in_the_table() -> None:
    """The rest only writes what the user said, or shows what comes with the toolkit."""
    apart = NAMES - {command for cells, _ in THREATS.values() for command in cells}
    assert apart == {"completion", "docs", "plugins", "schema"}


def test_every_place_that_opens_or_parses_a_file_is_listed() -> None:
    found = {str(path.relative_to(sources.CODE)): _readers(sources.tree(path)) for path in sources.modules()}
    listed = {name: set(functions.split()) for name, (functions, _) in READERS.items()}
    new = {name: sorted(functions - listed.get(name, set())) for name, functions in found.items()}
    gone = {name: sorted(functions - found.get(name, set())) for name, functions in listed.items()}
    assert {name: functions for name, functions in new.items() if functions} == {}, "whose file is it? READERS says so"
    assert {name: functions for name, functions in gone.items() if functions} == {}


@pytest.mark.parametrize(
    "planted",
    ["def f(p):\n    return p.read_text()", "class A:\n    def f(self, p):\n        return json.load(p)",
     "def f(p):\n    with open(p) as s:\n        pass", "x = sqlite3.connect('y')"],
)  # fmt: skip
def test_a_planted_reader_is_found(planted: str) -> None:
    assert len(_readers(ast.parse(planted))) == 1
    assert _readers(ast.parse("def f(p):\n    return p.name.opened()")) == set()


def _readers(tree: ast.Module) -> set[str]:
    """Return the functions (dotted; `-` at the top) that open or parse a file by a call that names how."""
    found = set()

    def walk(node: ast.AST, names: tuple[str, ...]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = (*names, node.name)
        if isinstance(node, ast.Call):
            called = _called(node.func)
            if called in _CALLS or ("." in called and called.rpartition(".")[2] in _METHODS):
                found.add(".".join(names) or "-")
        for child in ast.iter_child_nodes(node):
            walk(child, names)

    walk(tree, ())
    return found


def _called(function: ast.expr) -> str:
    """Return `json.loads` for a function of a module, `.open` for a method of anything else."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        return f"{owner}.{function.attr}"
    return ""
