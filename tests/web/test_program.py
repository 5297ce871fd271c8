"""A team's program is masked and still runs."""

import ast

import pytest

from hackathon.web.masking.mask import Mask
from hackathon.web.masking.program import masked_program

MASK = Mask(["tanaka07"], ["a017.example.jp"], groups=["pz0425"])


def masked(text: str) -> str:
    return masked_program(text, MASK.text, lambda part: any(kind != "secret" for kind, _ in MASK.taken(part)))


def test_grammar_stays_and_secrets_go() -> None:
    program = (
        "def write(folder: str, token: str, n: int) -> None:\n"
        "    token = f'.pre-{n}'\n"
        "    place = {'folder': '/lustre/pz0425/tanaka07/x', 'token': token}\n"
        "    password = 'hunter2-of-mine'\n"
        "    api_key = 1234567890\n"
        "    login(token='hf_abcdefghijklmnopqrstuvwx')\n"
        "    # of tanaka07 on a017\n"
        '    other = """two\n  lines of tanaka07"""\n'
        "    return {'token': self.receive(1)}\n"
    )
    result = masked(program)
    ast.parse(result)
    for word in ("tanaka07", "pz0425", "a017", "hunter2", "1234567890", "hf_abc"):
        assert word not in result
    assert "token: str, n: int" in result and "self.receive(1)" in result and "lines of user" in result
    assert MASK.text(program) != result  # the whole text would be no Python


@pytest.mark.parametrize(
    "program",
    ["x = 1\n", "# tanaka07\nx = '/home/tanaka07/data'\n", "tokens: int = 3\n", "", "def f(:  # tanaka07\n"],
)  # fmt: skip
def test_what_has_no_such_names_is_masked_as_any_text(program: str) -> None:
    assert masked(program) == MASK.text(program)


def test_names_never_stay_for_the_sake_of_grammar() -> None:
    program = "def f(token: str):\n    return f'{token} /home/{token}/tanaka07 {\"a017\"}'\n"
    result = masked(program)
    assert "tanaka07" not in result and "a017" not in result


def test_lines_end_as_they_did() -> None:
    program = "def f(token: str):\r\n    return 'tanaka07'\r\n"
    assert masked(program) == "def f(token: str):\r\n    return 'user'\r\n"
