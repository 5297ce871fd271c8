"""A secret is known by its value: what once stands under a secret's name is nowhere in what goes out."""

import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Publish
from hackathon.diagnosis.scrub import REMOVED, values_of_secrets, words_of_secrets
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.names import named
from hackathon.web.site.leak_check import residues

KEY = "0123456789abcdef0123456789abcdef01234567"


def run_with(folder: Path, request: dict[str, Any], log: str = "", program: str = "") -> Path:
    (folder / "logs").mkdir(parents=True)
    (folder / "source").mkdir()
    (folder / "request.json").write_text(json.dumps(request))
    (folder / "logs" / "job.log").write_text(log)
    (folder / "source" / "train.py").write_text(program)
    (folder / "source.json").write_text(json.dumps({"files": {"train.py": "0" * 64}}))
    return folder


@pytest.mark.parametrize(
    ("request_", "log", "program", "secret"),
    [
        ({"command": ["python", "train.py", "--wandb-key", KEY]}, "", "", KEY),
        ({"command": ["python", "train.py", f"--comet-api-key={KEY}"]}, "", "", KEY),
        ({"command": ["sh", "-c", "curl -u alice:Gr33nTea https://x"]}, "", "", "Gr33nTea"),
        ({"command": ["mysql", "-uroot", "-pGr33nTea"]}, "", "", "Gr33nTea"),
        ({"command": ["x", "postgres://alice:Gr33nTea@db/x"]}, "", "", "Gr33nTea"),
        ({"variables": {"DB_PASSWORD": "correct horse"}}, "", "", "correct horse"),
        ({"parameters": {"api_token": "Gr33nTea"}}, "", "", "Gr33nTea"),
        ({}, "connected with --password=Gr33nTea7\n", "", "Gr33nTea7"),
        ({}, "", f"wandb.login(key='x')\nAPI_KEY = '{KEY}'\n", KEY),
    ],
)
def test_a_value_goes_wherever_it_stands(
    tmp_path: Path, request_: dict[str, Any], log: str, program: str, secret: str
) -> None:
    found = named(run_with(tmp_path / "run", request_, log, program))
    assert secret in found.secrets
    mask = Mask(secrets=found.secrets, rules=Publish())
    assert mask.text(f"argv: ['{secret}'] and {secret}/x") == f"argv: ['{REMOVED}'] and {REMOVED}/x"
    assert secret not in json.dumps(mask.value(request_))


@pytest.mark.parametrize(
    "text",
    [
        "token = tokenizer.eos_token_id", "password = getpass.getpass()", "key=lambda row: row[1]", "--max-token 4096",
        "auth: none", "--primary-key id", "secret santa", "api_key = os.environ['WANDB_API_KEY']",
        "pad_token: <pad>", "curl -fsSL https://example.org/install.sh", "mysql -h db1 -P 3306", "--key-dim 64",
        "SSH_AUTH_SOCK=/tmp/ssh-1/agent.22", "credentials: ~/.aws/credentials",
    ],
)  # fmt: skip
def test_words_of_programs_are_no_secrets(text: str) -> None:
    assert values_of_secrets(text) == set() and words_of_secrets(text.split()) == set()


@pytest.mark.parametrize("name", ["login3.cluster.example.org", "login-1.hpc.example.ac.jp", "frontend.site.de"])
def test_login_nodes_have_no_names(name: str) -> None:
    assert Mask().text(f"from {name}: ok") == "from [host]: ok"
    assert Mask(rules=Publish(hosts=True)).text(name) == name


@pytest.mark.parametrize(
    "text", ["login.py.bak", "head.weight.grad", "login.views.py", "model.head.bias", "login required.", "head 1.2.3"]
)
def test_words_with_dots_are_no_login_nodes(text: str) -> None:
    assert Mask().text(text) == text


def test_the_leak_check_tells_keys_from_our_digests(tmp_path: Path) -> None:
    digest, commit = "ab12" * 16, "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
    (tmp_path / "run.json").write_text(
        json.dumps({"source": {"digest": f"sha256:{digest}"}, "git": {"commit": commit}})
    )
    (tmp_path / "run.html").write_text(f"<p>{digest} {commit} {'0' * 40} {'deadbeef' * 4}</p><p>{KEY}</p>")
    left = residues(tmp_path, ["run.html", "run.json"], Mask())
    assert [(residue.file, residue.kind, residue.sample) for residue in left] == [("run.html", "random", "01234567…")]
