"""What a mask takes out, it takes out however it is written: beside Japanese, encoded, in other letters, hidden."""

import json
import re
from urllib.parse import quote

import pytest

from hackathon.diagnosis.scrub import REMOVED
from hackathon.web.masking.encoded import decoded, readable
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.masked_page import mask_page

NAMED = (
    "hf_QxYzAbCdEfGhIjKlMnOpQrStUv", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAQ3EGRIWQXV7TABCD",
    "10.23.45.67", "fe80::dead:beef", "2001:db8::1", "2001:0db8:85a3:0000:0000:8a2e:0370:7334", "someone@example.org",
    "tanaka07", "a017", "login02.example.jp", "gz0042", "山田 太郎", "José García", "Bob Builder",
)  # fmt: skip


@pytest.fixture(scope="module")
def mask() -> Mask:
    people = ["山田 太郎", "José García", "Bob Builder"]
    return Mask(["tanaka07"], ["a017.example.jp", "login02"], people=people, groups=["gz0042"], roots=["/lustre/event"])


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_found_however_it_is_written(mask: Mask, name: str) -> None:
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in name)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in name)
    written = (
        name, f"日本{name}です", f"({name})", f"ask={name};", f"b'{name}'", f"{name[:3]}\u200b{name[3:]}",
        f"{name[:3]}\xad{name[3:]}", f"{name[:3]}\x1b[31m{name[3:]}", "".join(f"&#{ord(letter)};" for letter in name),
        "".join(f"&#x{ord(letter):X};" for letter in name), quote(name, safe=""), escaped, wide,
        name.replace("@", "&commat;").replace(".", "&period;").replace(":", "&colon;"),
        json.dumps(name).replace("@", "\\u0040"),
    )  # fmt: skip
    for text in written:
        shown = mask.text(text)
        assert name.lower() not in decoded(shown).lower(), (text, shown)
        assert shown != text
        assert mask.taken(shown) == [], "what is masked names nothing"


def test_names_of_people_are_found_in_their_other_forms(mask: Mask) -> None:
    for text in (
        "山田太郎",
        "山田　太郎",
        "太郎 山田",
        "Jose\u0301 Garci\u0301a",
        "JOSÉ GARCÍA",
        "García, José",
        "bob  builder",
    ):
        assert mask.text(f"by {text}.") == "by user.", text


def test_an_account_with_a_number_is_found_in_the_name_of_a_file(mask: Mask) -> None:
    assert mask.text("tanaka07_digits.py my_tanaka07_x gz0042_x") == "user_digits.py my_user_x group_x"
    assert mask.text("tanaka071 xtanaka07") == "tanaka071 xtanaka07"


def test_logins_in_addresses_are_found_encoded(mask: Mask) -> None:
    for text in (
        "https://bob:pa55word@host.x/y",
        "https%3A%2F%2Fbob%3Apa55word%40host.x",
        "WANDB_API_KEY%3Dpa55word123",
    ):
        assert "pa55word" not in mask.text(text), text


def test_paths_are_found_behind_japanese(mask: Mask) -> None:
    assert mask.text("場所/work/laboratory/share") == "場所…/share"


PLAIN = (
    "loss 0.5 %2d done, 100%", "std::vector a::b 12:30:45", "cublas 12.8.4.1", "127.0.0.1", "tokens/s/GPU", "&lt;b&gt;",
    "case ${program%/*/*} in *",
    r"re.compile(r'\u0041\x41')", "（全角）：はい", r"C:\users\new", "a_017 x10.5", "👩\u200d🔬", "क्\u200dष",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_what_names_nothing_stays_as_it_is(mask: Mask, text: str) -> None:
    assert mask.text(text) == text


def test_what_is_decoded_stays_a_string(mask: Mask) -> None:
    value = {"x": 'a"b\\ 山田 太郎\n'}
    masked = json.loads(mask.text(json.dumps(value)))
    assert masked == {"x": 'a"b\\ user\n'}
    for raw in (r"\ud83d", "%ff", "&#0;", "&#99999999;", r"\x22", "%5C", "%0a"):
        assert decoded(raw) == raw
    assert re.search("é", decoded(r"\xc3\xa9"))


def test_a_value_in_a_cell_of_its_own_is_known_by_its_label(mask: Mask) -> None:
    page = (
        "<table><tr><th>token</th><th>epochs</th></tr><tr><th scope=row>parameter <code>password</code></th>"
        "<td><code>hunter2</code></td><td>hunter3</td></tr><tr><th>epochs</th><td>9</td></tr></table>"
        "<dl><dt><code>api_key</code></dt><dd>hunter4</dd><dt>lr</dt><dd>0.1</dd></dl><p>after</p>"
    )
    shown = mask_page(page, mask)
    assert "hunter" not in shown
    for kept in ("<td>9</td>", "<dd>0.1</dd>", "<p>after</p>", "<th>epochs</th>", "password", f"<dd>{REMOVED}</dd>"):
        assert kept in shown, kept


def test_a_value_in_data_is_known_by_its_name(mask: Mask) -> None:
    value = {
        "password": "hunter2",
        "HF_TOKEN": "x",
        "tokens": "many",
        "lr": 0.1,
        "words": ["--token", "x", "--lr", "1"],
    }
    masked = {"password": REMOVED, "HF_TOKEN": REMOVED, "words": ["--token", REMOVED, "--lr", "1"]}
    assert mask.value(value) == {**value, **masked}


def test_a_long_word_before_the_sign_of_an_address_goes_too(mask: Mask) -> None:
    assert mask.text(f"{'x' * 3000}@example.org") == "[e-mail]"


def test_what_a_binary_file_says_can_be_read() -> None:
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-16"):
        raw = b"\0\x01\x02" * 2 + "account tanaka07 と 山田太郎".encode(encoding) + b"\0\xff\xfe"
        assert "tanaka07" in readable(raw) and "山田太郎" in readable(raw), encoding
