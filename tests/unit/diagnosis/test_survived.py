"""Words of a failure in a line that says how the program goes on: an exception that comes later is the cause."""

from pathlib import Path

import pytest

from hackathon.config.rule_files import load_rules
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.scan import RuleSet

RULES = RuleSet(load_rules()[0])
RAISED = """Traceback (most recent call last):
  File "/home/u/proj/train.py", line 88, in <module>
    part = split(record)
  File "/home/u/proj/parts.py", line 12, in split
    raise ValueError("the record of 'a' went astray")
ValueError: the record of 'a' went astray
"""
HARMLESS = [
    "cache write: [Errno 28] No space left on device: '/tmp/c'; the cache is disabled",
    "update check: Tunnel connection failed: 403 Forbidden, ignored",
    "/home/u/.bash_profile: line 5: syntax error near unexpected token `fi'",
    "I1130 09:00:01.123456 4711 store.cc:12] Too many open files were seen in an earlier run",
    "checking for pow... undefined reference to `pow' no",
    "tensorboard: [Errno 98] Address already in use, trying 6007",
    "probe of the loader: stack expects each tensor to be equal size, so that samples are padded",
    "layer head: 'DataParallel' object has no attribute 'name', the class is shown",
    "[W Module.cpp:7] Failed to load image Python extension: /e/torchvision/image.so: undefined symbol: _ZN3c10",
]
DECISIVE = {
    "cp: error writing '/scratch/a': No space left on device": "filesystem-full",
    "curl: (56) Received HTTP code 403 from proxy after CONNECT": "env-proxy",
    "slurm_script: line 5: syntax error near unexpected token `fi'": "env-shell-script",
    "E1130 09:00:01.123456 4711 store.cc:12] open(a): Too many open files": "filesystem-too-many-open",
    "ERROR loader: stack expects each tensor to be equal size, but got [3] at entry 0": "data-length-mismatch",
}


def first(tmp_path: Path, text: str) -> str:
    (tmp_path / "job.log").write_text(text, encoding="utf-8")
    return diagnose([tmp_path / "job.log"], rules=RULES)[0].rule


@pytest.mark.parametrize("line", HARMLESS)
def test_the_exception_is_the_cause_where_a_message_says_that_the_program_goes_on(line: str, tmp_path: Path) -> None:
    assert first(tmp_path, f"{line}\n{RAISED}") == "exception-own"


@pytest.mark.parametrize("line", DECISIVE)
def test_a_message_that_says_nothing_of_the_kind_stays_the_cause(line: str, tmp_path: Path) -> None:
    assert first(tmp_path, f"{line}\n{RAISED}") == DECISIVE[line]


def test_an_exceptions_own_line_counts_whatever_words_it_has(tmp_path: Path) -> None:
    raised = RAISED.replace("ValueError(\"the record of 'a' went astray\")", "OSError(28, os.strerror(28))")
    text = raised.replace(
        "ValueError: the record of 'a' went astray", "OSError: [Errno 28] No space left on device: the copy is ignored"
    )
    assert first(tmp_path, text) == "filesystem-full"


def test_without_a_later_exception_the_message_is_all_there_is(tmp_path: Path) -> None:
    assert first(tmp_path, f"{HARMLESS[0]}\nsrun: error: node1: task 0: Exited with exit code 1\n") == "filesystem-full"


def test_the_message_of_a_graph_error_is_below_the_stack_of_its_node(tmp_path: Path) -> None:
    stack = "".join(
        f'    File "model.py", line {line}, in call\n      x = fit(x, epochs={line})\n' for line in range(8)
    )
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/u/proj/train.py", line 9, in <module>\n    model.fit(data)\n'
        '  File "/e/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 52, in quick_execute\n'
        "    tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,\n"
        "tensorflow.python.framework.errors_impl.InternalError: Graph execution error:\n\n"
        f"Detected at node 'model/x' defined at (most recent call last):\n{stack}"
        "Node: 'model/x'\nThe frobnicated tensor has no wings\n\t [[{{node model/x}}]] [Op:__inference_train_4]\n"
    )
    (tmp_path / "job.log").write_text(text, encoding="utf-8")
    finding = diagnose([tmp_path / "job.log"], rules=RULES)[0]
    assert finding.rule == "exception-in-library"
    assert "InternalError: The frobnicated tensor has no wings" in finding.message
