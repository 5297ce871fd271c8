"""A survey from draft to closed: what counts once, what is kept, and what nobody can tell afterwards."""

import json
import os
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.survey import dropbox
from hackathon.survey import gather as gathered_module
from hackathon.survey.checks import look
from hackathon.survey.collection import Collection, find_collection
from hackathon.survey.create import new_survey, templates
from hackathon.survey.dropbox import BOX, drop, published
from hackathon.survey.records import Value
from hackathon.survey.tokens import TokenError, digest, plain_token
from hackathon.text.errors import HackathonError, RequestError
from support.paths import ROOT
from support.patience import STRETCH
from support.survey.event import ANSWER, SURVEY, make_event


@pytest.fixture
def draft(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    return make_event(tmp_path / "event")


def values_of(collection: Collection) -> list[dict[str, Value]]:
    """Return the answers that count, in an order of their own."""
    return sorted((dict(each.values) for each in collection.answers()), key=repr)


def as_user(monkeypatch: pytest.MonkeyPatch, account: str) -> None:
    """Let the files of the box that are written from now on seem to belong to somebody."""
    monkeypatch.setattr("hackathon.board.people.People.account", lambda self, uid: account)


def test_from_draft_to_closed(draft: Collection) -> None:
    assert draft.state == "draft"
    with pytest.raises(RequestError) as caught:
        draft.accept(ANSWER, "abc")
    assert caught.value.id == "survey.not_open"
    tokens = draft.open(3)
    assert len(set(tokens)) == 3 and all(len(token) == 16 and token.isalnum() for token in tokens)
    assert draft.state == "open"
    team = draft.survey.questions[1]
    assert list(team.options) == ["オーロラ", "Boreas"]
    assert list(draft.survey.questions[2].options) == ["master", "doctoral"]
    draft.accept(ANSWER, tokens[0])
    draft.accept({"level": 2}, f" {tokens[1][:4]}-{tokens[1][4:].upper()}　")
    assert [draft.token_state(token) for token in tokens] == ["spent", "spent", "unused"]
    assert values_of(draft) == [{"level": 2}, ANSWER]
    assert draft.participation() == (2, 3)
    draft.close()
    assert draft.state == "closed"
    assert values_of(draft) == [{"level": 2}, ANSWER]
    assert draft.participation() == (2, 3)
    assert [draft.token_state(token) for token in (*tokens, "x")] == ["spent", "spent", "unused", "unknown"]
    for late in (lambda: draft.accept({"level": 3}, tokens[2]), lambda: draft.open(1)):
        with pytest.raises(RequestError) as refused:
            late()
        assert refused.value.id == "survey.closed"
    assert values_of(draft) == [{"level": 2}, ANSWER]


def test_tokens_that_do_not_count(draft: Collection) -> None:
    (token,) = draft.open(1)
    for wrong in ("", "nonsense", token + "a", "Ｘ" * 5000, "\0", "../spent"):
        with pytest.raises(TokenError) as caught:
            draft.accept({"level": 1}, wrong)
        assert caught.value.id == "survey.token_unknown"
    draft.accept({"level": 1}, token)
    with pytest.raises(TokenError) as caught:
        draft.accept({"level": 5}, token)
    assert caught.value.id == "survey.token_spent"
    assert values_of(draft) == [{"level": 1}]
    assert digest(token.upper()) == digest(token) and plain_token("Ａｂ-2 c") == "ab2c"


def test_tokens_are_kept_as_digests_only_and_private(draft: Collection) -> None:
    tokens = draft.open(4)
    draft.accept(ANSWER, tokens[0])
    kept = "".join(path.read_text() for path in draft.folder.rglob("*") if path.is_file())
    assert not any(token in kept for token in tokens)
    assert stat.S_IMODE(draft.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((draft.tokens.folder / "issued.json").stat().st_mode) == 0o600
    (answer,) = draft.answers_folder.iterdir()
    assert digest(tokens[0]) not in answer.read_text() and digest(tokens[0]) not in answer.name


def test_values_that_nobody_read_are_refused(draft: Collection) -> None:
    (token,) = draft.open(1)
    for wrong in ({"level": 9}, {"team": "Nobody"}, {"nothing": "x"}, {}):
        with pytest.raises(RequestError):
            draft.accept(wrong, token)  # type: ignore[arg-type]
    assert draft.token_state(token) == "unused" and draft.answers() == []


def test_one_token_from_many_threads_counts_once(draft: Collection) -> None:
    tokens = draft.open(6)
    outcomes: list[str] = []
    start = threading.Barrier(24)

    def answer(number: int) -> None:
        own = Collection(draft.folder)  # as a second server would
        start.wait()
        try:
            own.accept({"level": number % 5 + 1}, tokens[number % 6])
            outcomes.append("counted")
        except TokenError as error:
            outcomes.append(error.id)

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Counter(outcomes) == {"counted": 6, "survey.token_spent": 18}
    assert len(draft.answers()) == 6


def test_one_token_from_many_processes_counts_once(draft: Collection) -> None:
    tokens = draft.open(5)
    script = (
        "import sys\nfrom pathlib import Path\nfrom hackathon.survey.collection import Collection\n"
        "from hackathon.survey.tokens import TokenError\n"
        "own = Collection(Path(sys.argv[1]))\nown.survey\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "for token in sys.argv[2:]:\n    try:\n        own.accept({'level': 3}, token)\n        print('counted')\n"
        "    except TokenError as error:\n        print(error.id)\n"
    )
    command = [sys.executable, "-c", script, str(draft.folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    children = [
        subprocess.Popen(
            [*command, *tokens[number:], *tokens[:number]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment,
        )
        for number in range(4)
    ]  # fmt: skip
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    lines = [line for child in children for line in _told(child)]
    assert Counter(lines) == {"counted": 5, "survey.token_spent": 15}
    assert len(draft.answers()) == 5


def _told(child: "subprocess.Popen[str]") -> list[str]:
    assert child.stdin is not None
    child.stdin.write("go\n")
    out, _ = child.communicate(timeout=60 * STRETCH)
    return out.splitlines()


@pytest.mark.parametrize("fault", ["changed", "damaged"])
def test_a_survey_that_was_changed_after_answers_came(draft: Collection, fault: str) -> None:
    (token,) = draft.open(1)
    source = draft.folder / "survey.yaml"
    if fault == "damaged":
        text = (draft.folder / "opened.json").read_text()
        (draft.folder / "opened.json").write_text(text.replace("easy", "hard"))
        with pytest.raises(RequestError) as caught:
            draft.accept(ANSWER, token)
        assert caught.value.id == "survey.damaged"
        return
    draft.accept(ANSWER, token)
    source.write_text(source.read_text().replace("Difficulty", "Ease"))
    with pytest.raises(RequestError) as caught:
        draft.open(1)
    assert caught.value.id == "survey.changed" and "opened.yaml" in (caught.value.hint or "")
    found = look(draft)
    assert not found.good and [each.id for each in found.troubles] == ["survey.changed"]
    assert "Difficulty" in json.dumps(str(draft.survey))
    source.write_bytes((draft.folder / "opened.yaml").read_bytes())  # what the hint says
    assert look(draft).good and len(draft.open(1)) == 1


def test_before_the_first_answer_a_survey_may_be_opened_anew(draft: Collection) -> None:
    (token,) = draft.open(1)
    server = Collection(draft.folder)
    assert server.survey.questions[0].levels == 5
    source = draft.folder / "survey.yaml"
    source.write_text(source.read_text().replace("kind: rating\n", "kind: rating\n    levels: 3\n"))
    assert [each.id for each in look(draft).troubles] == ["survey.changed_early"]
    draft.open(0)
    with pytest.raises(RequestError) as caught:
        server.accept({"level": 5}, token)  # of a form that was shown before
    assert caught.value.id == "survey.opened_anew"
    server.accept({"level": 3}, token)
    assert values_of(draft) == [{"level": 3}]


def test_options_come_from_the_event_of_the_moment_of_opening(draft: Collection) -> None:
    draft.open(0)
    event = draft.event_folder / "hackathon.yaml"
    event.write_text(event.read_text().replace("オーロラ", "Aurora"))
    assert list(draft.survey.questions[1].options) == ["オーロラ", "Boreas"]
    draft.open(1)  # a team's new name is no change of the questionnaire
    assert list(draft.survey.questions[1].options) == ["オーロラ", "Boreas"]


def test_an_event_without_what_the_options_need(tmp_path: Path) -> None:
    draft = make_event(tmp_path / "event")
    (draft.event_folder / "hackathon.yaml").write_text("title: T\n")
    with pytest.raises(RequestError) as caught:
        draft.open(1)
    assert caught.value.id == "survey.no_event_options" and draft.state == "draft"
    assert "survey.no_event_options" in [each.id for each in look(draft).troubles]


def test_without_the_shared_directory_no_token_is_made(draft: Collection) -> None:
    (draft.event_folder / "shared").rmdir()
    with pytest.raises(RequestError) as caught:
        draft.open(3)
    assert caught.value.id == "survey.no_shared" and draft.tokens.issued() == set()
    (draft.event_folder / "shared").mkdir()
    assert len(draft.open(3)) == 3 and look(draft).good


def test_an_event_without_a_shared_directory_needs_tokens(draft: Collection) -> None:
    event = draft.event_folder / "hackathon.yaml"
    event.write_text(event.read_text().replace("shared: shared\n", ""))
    assert [each.id for each in look(draft).troubles] == ["survey.no_box"]
    draft.open(0)
    assert [each.id for each in look(draft).troubles] == ["survey.no_way"]
    draft.open(2)
    assert [each.id for each in look(draft).troubles] == ["survey.few_tokens"]
    draft.open(1)
    assert look(draft).troubles == []


def test_the_newest_answer_of_an_account_counts(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    assert stat.S_IMODE((box.folder / BOX).stat().st_mode) == 0o1733
    frozen = published(box)
    for level in (1, 2, 5):
        drop(box, frozen, {"level": level})
    as_user(monkeypatch, "bob")
    assert values_of(draft) == [{"level": 5}]
    assert draft.gathered().replaced == 2
    as_user(monkeypatch, "zoe")  # of a team that did not come
    found = draft.gathered()
    assert found.answers == [] and [(each.account, each.why) for each in found.left_out] == [
        ("zoe", "survey.left_account")
    ]
    assert "survey.will_be_left_out" in [each.id for each in look(draft).troubles]


@pytest.mark.parametrize("line", ["", "shared: elsewhere\n"])
def test_answers_in_the_box_count_whatever_hackathon_yaml_says_later(
    draft: Collection, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    as_user(monkeypatch, "bob")
    drop(box, published(box), {"level": 4})
    event = draft.event_folder / "hackathon.yaml"
    text = event.read_text("utf-8")
    assert "\nshared: shared\n" in text
    event.write_text(text.replace("\nshared: shared\n", f"\n{line}"), "utf-8")
    draft.open(1)
    draft.close()
    assert values_of(draft) == [{"level": 4}]
    assert not any((box.folder / BOX).iterdir())


def test_a_token_counts_once_over_form_and_box(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = draft.open(2)
    box = draft.box()
    assert box is not None
    as_user(monkeypatch, "bob")
    drop(box, published(box), {"level": 1}, tokens[0])
    assert values_of(draft) == [{"level": 1}]
    draft.accept({"level": 4}, tokens[0])  # confirmed: it is the one that counts
    assert values_of(draft) == [{"level": 4}]
    drop(box, published(box), {"level": 2}, "unknown-token")
    assert [each.why for each in draft.gathered().left_out] == ["survey.left_token_unknown"]
    drop(box, published(box), {"level": 3}, tokens[1])
    draft.close()
    assert values_of(draft) == [{"level": 3}, {"level": 4}]
    assert [draft.token_state(token) for token in tokens] == ["spent", "spent"]


def test_one_token_of_two_accounts_counts_for_the_first(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    (token,) = draft.open(1)
    box = draft.box()
    assert box is not None
    drop(box, published(box), {"level": 1}, token)
    found = gathered_module.read_box(box, draft.name, published(box)).newest[0]
    second = replace(found, account="carol", values={"level": 5}, first=found.first + 1)
    both = type("Both", (), {"newest": [second, replace(found, account="bob")], "bad": [], "names": [], "replaced": 0})
    monkeypatch.setattr(gathered_module, "read_box", lambda *arguments: both)
    result = draft.gathered()
    assert [dict(each.values) for each in result.answers] == [{"level": 1}]
    assert [(each.account, each.why) for each in result.left_out] == [("carol", "survey.left_token_spent")]


def test_what_is_no_answer_is_named_and_kept(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = draft.open(2)
    draft.accept(ANSWER, tokens[0])
    (answer,) = draft.answers_folder.iterdir()
    whole = answer.read_bytes()
    half, other, hidden = "0" * 32 + ".json", "1" * 32 + ".json", "." + "2" * 32 + ".tmp"
    (draft.answers_folder / half).write_bytes(whole[: len(whole) // 2])
    (draft.answers_folder / other).write_bytes(whole.replace(draft.digest.encode(), b"0" * 32))
    (draft.answers_folder / hidden).write_bytes(whole)  # of a process that was killed: never confirmed
    box = draft.box()
    assert box is not None
    place = box.folder / BOX
    (place / ("3" * 32 + ".json")).write_text("{half")
    os.mkfifo(place / ("4" * 32 + ".json"))
    (place / ("5" * 32 + ".json")).symlink_to(answer)
    (place / "shell $(x)\n.json").write_text("x")
    (place / ("6" * 32 + ".json")).mkdir()
    as_user(monkeypatch, "bob")
    found = look(draft)
    assert found.answered == 1 and len(found.unread) == 7
    assert str(place / ("3" * 32 + ".json")) in found.unread  # as it lies there
    draft.close()
    assert values_of(draft) == [ANSWER]
    kept = sorted(path.name[4:] for path in (draft.closed_folder / "unread").iterdir())
    assert [name[0] for name in kept] == ["0", "1", "3", "4", "5", "6", "s"]
    assert (place / ("6" * 32 + ".json")).is_dir() and len(list(place.iterdir())) == 1
    assert look(draft).unread and len(look(draft).unread) == 7


@pytest.mark.parametrize("words", [float("nan"), "\ud800 half a letter"])
def test_an_answer_that_json_can_not_keep_does_not_stop_a_closing(
    draft: Collection, monkeypatch: pytest.MonkeyPatch, words: object
) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    name = "a" * 32 + ".json"
    value = {"name": name, "survey": draft.name, "digest": draft.digest, "values": {"words": words}}
    (box.folder / BOX / name).write_text(json.dumps(value))
    as_user(monkeypatch, "eve")
    draft.close()
    kept = json.loads((draft.closed_folder / "left-out.json").read_bytes())["answers"]
    assert [each["why"] for each in kept] == ["left_account"] and draft.state == "closed"


def test_a_name_as_long_as_names_can_be_does_not_stop_a_closing(draft: Collection) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    for name in ("あ" * 85, "😀" * 63, "\x1b[31m" * 50):
        (box.folder / BOX / name).write_text("x")
    draft.close()
    kept = sorted(path.name for path in (draft.closed_folder / "unread").iterdir())
    assert len(kept) == 3 and all(name.isascii() and name.isprintable() for name in kept)


def test_a_stranger_can_not_have_a_private_file_kept_as_an_answer(draft: Collection, tmp_path: Path) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    private = tmp_path / "id_ed25519"
    private.write_text("the organisers' key")
    private.chmod(0o600)
    (box.folder / BOX / ("a" * 32 + ".json")).hardlink_to(private)
    assert [each.why for each in draft.gathered().unread] == ["survey.unread_special"]
    draft.close()
    assert [path.read_bytes() for path in (draft.closed_folder / "unread").iterdir()] == [b""]
    assert private.read_text() == "the organisers' key"


def test_an_answer_that_is_taken_away_while_the_box_is_read(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    drop(box, published(box), {"level": 2})
    listed = dropbox.names_of
    monkeypatch.setattr(dropbox, "names_of", lambda folder: [*listed(folder), "0" * 32 + ".json"])
    as_user(monkeypatch, "bob")
    assert look(draft).answered == 1


def test_nothing_tells_afterwards_who_or_when(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = draft.open(8)
    for number, token in enumerate(tokens):
        draft.accept({"level": number % 5 + 1, "words": f"number {number}"}, token)
    draft.close()
    files = {str(path.relative_to(draft.folder)) for path in draft.folder.rglob("*") if path.is_file()}
    assert files == {
        "survey.yaml", "opened.json", "opened.yaml", "locks/all",
        "closed/answers.json", "closed/tokens.json", "closed/left-out.json",
    }  # fmt: skip
    kept = json.loads((draft.closed_folder / "answers.json").read_text())
    assert set(kept) == {"schema_version", "digest", "invited", "turn", "answers"}
    listed = json.loads((draft.closed_folder / "tokens.json").read_text())
    assert listed["spent"] == sorted(map(digest, tokens)) == listed["issued"]


def test_the_order_of_answers_is_shuffled(draft: Collection) -> None:
    """2 out of 10! orders would let this fail by chance."""
    tokens = draft.open(10)
    for number, token in enumerate(tokens):
        draft.accept({"words": str(number)}, token)
    draft.close()
    order = [each.values["words"] for each in draft.answers()]
    assert sorted(order) == [str(number) for number in range(10)]
    assert order not in ([str(number) for number in range(10)], [str(number) for number in range(9, -1, -1)])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 5)), max_size=20), st.booleans())
def test_any_history_counts_every_confirmed_answer_once(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[int, int]], twice: bool
) -> None:
    survey = make_event(tmp_path_factory.mktemp("event") / "e")
    tokens = survey.open(6)
    confirmed = []
    for who, level in history:
        try:
            survey.accept({"level": level}, (*tokens, "unknown", "")[who])
            confirmed.append(level)
        except TokenError:
            continue
    assert len(confirmed) == len({who for who, _ in history if who < 6})
    survey.close()
    if twice:
        survey.close()
    assert sorted(each.values["level"] for each in find_collection("after", survey.event_folder).answers()) == sorted(
        confirmed
    )


def test_a_full_disk_takes_nothing(draft: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    (token,) = draft.open(1)

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hackathon.survey.collection.put", full)
    with pytest.raises(HackathonError) as caught:
        draft.accept(ANSWER, token)
    assert caught.value.id == "survey.can_not_take"
    monkeypatch.undo()
    assert draft.token_state(token) == "unused" and draft.answers() == []


def test_a_box_that_others_could_have_made(draft: Collection) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    published(box)
    box.shared.chmod(0o777)
    with pytest.raises(RequestError) as caught:
        published(box)
    assert caught.value.id == "survey.not_trusted"
    assert "survey.not_trusted" in [each.id for each in look(draft).troubles]
    box.shared.chmod(0o755)
    (box.folder / BOX).chmod(0o1777)
    assert [each.id for each in look(draft).troubles] == ["survey.box_mode"]
    draft.open(0)  # the remedy
    assert look(draft).troubles == []


@pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")
def test_a_box_of_another_account(draft: Collection) -> None:
    draft.open(0)
    box = draft.box()
    assert box is not None
    os.chown(box.folder / BOX, 12345, 12345)
    with pytest.raises(RequestError):
        published(box)


def test_names_and_choices_of_surveys(draft: Collection, tmp_path: Path) -> None:
    start = draft.event_folder
    assert find_collection(None, start / "shared").name == "after"
    assert templates() == ["before", "hackathon", "tutors"]
    made = new_survey("helpers", start, "tutors")
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "hackathon.yaml").write_text("title: T\n")
    assert new_survey("after", bare).folder.parent.stat().st_mode & 0o777 == 0o700
    assert made.survey.audience == "tutors" and made.invited() == 1
    with pytest.raises(RequestError, match="several") as caught:
        find_collection(None, start)
    assert caught.value.id == "survey.which"
    made.open()
    assert find_collection(None, start, ("open",)).name == "helpers"
    assert find_collection(None, start, ("draft",)).name == "after"
    with pytest.raises(RequestError, match="several"):
        find_collection(None, start, ("draft", "open"))
    for name, wanted in (("..", "bad_name"), ("a/b", "bad_name"), ("", "bad_name"), ("helpers", "there_already")):
        with pytest.raises(RequestError) as caught:
            new_survey(name, start)
        assert caught.value.id == f"survey.{wanted}"
    with pytest.raises(RequestError) as caught:
        find_collection("helper", start)
    assert caught.value.id == "survey.unknown_near"
    with pytest.raises(RequestError) as caught:
        find_collection(None, tmp_path)
    assert caught.value.id == "survey.no_event"
    source = tmp_path / "own.yaml"
    source.write_text(SURVEY.replace("target: middle", "target: midle"))
    with pytest.raises(RequestError, match="middle"):
        new_survey("own", start, source=source)
    assert not (start / "surveys" / "own").exists()


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HACKATHON_LANG", "en")
    yield


@pytest.mark.parametrize(
    "text", ['{"answers": [{"le', "[]", '{"answers": 5}', '{"answers": {"a": 1}}', '{"answers": [1, {"level": 9}]}']
)
def test_answers_of_a_closed_survey_that_were_damaged_are_not_counted(draft: Collection, text: str) -> None:
    draft.accept({"level": 3}, draft.open(1)[0])
    draft.close()
    (draft.closed_folder / "answers.json").write_text(text)
    with pytest.raises(RequestError) as caught:
        draft.participation()
        draft.answers()
    assert caught.value.id == "survey.damaged_closed"
