"""The mask takes out what an event does not allow, wherever it stands in a page, and leaves the rest alone."""

import json

import pytest

from hackathon.config.event import Publish
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.masked_page import mask_page

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def mask() -> Mask:
    return Mask(
        ["alice", "u00a", "root"],
        ["a017.example.jp", "node10", "node2.site.jp", "localhost"],
        people=["田中 花子", "Member Zero"],
        groups=["gz01"],
        teams=["aurora", "ブリザード"],
        roots=["/scratch/event", "/scratch/event/aurora/train"],
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/lustre/gz01/alice/data /home/bob/x /root/y alice@node10 Alice", "~/data ~/x ~/y user@host-3 user"),
        ("node2.site.jp:8080 node2 node22 chalice root localhost", "host-2:8080 host-2 node22 chalice root localhost"),
        ("cd /scratch/event/aurora/train/run.sh", "cd ~/run.sh"),
        ("-I/lustre/gz01/shared/inc and /lustre/gz01", "-I~/shared/inc and ~"),
        ("/bigdata/imagenet/train.h5 but /usr/lib/libmpi.so", "…/train.h5 but /usr/lib/libmpi.so"),
        ("12 tokens/s/GPU, ./a/b, https://arxiv.org/abs/1706.02677", "12 tokens/s/GPU, ./a/b, "
         "https://arxiv.org/abs/1706.02677"),
        ("a[017-020] and node[1,3], list[0]", "hosts and hosts, list[0]"),
        ("group gz01 (#PBS -W group_list=gz01)", "group group (#PBS -W group_list=group)"),
        ("田中 花子さん, member zero", "userさん, user"),
        ("a.b+c@cs.example.ac.jp, git@github.com:x/y", "[e-mail], [e-mail]:x/y"),
        ("10.1.2.3:29500 and 133.11.0.1", "[address]:29500 and [address]"),
        ("127.0.0.1, 0.0.0.0, cublas 12.8.4.1, numpy==1.2.3.4, v1.2.3.4, 999.1.1.1",
         "127.0.0.1, 0.0.0.0, cublas 12.8.4.1, numpy==1.2.3.4, v1.2.3.4, 999.1.1.1"),
        ("fe80::1:2%eth0 2001:db8::7 at 12:34:56 in std::vector",
         "[address]%eth0 [address] at 12:34:56 in std::vector"),
        ("export HF_TOKEN=hf_abcdefghijklmnopqrst", "export HF_TOKEN=[removed]"),
        ("aurora ブリザード", "aurora ブリザード"),
        ("half \udcff, \x1b[31mred\x1b[0m, \u202eback", "half ?, red, back"),
    ],
)  # fmt: skip
def test_texts(mask: Mask, text: str, shown: str) -> None:
    assert mask.text(text) == shown
    assert mask.text(shown) == shown and mask.taken(shown) == []


def test_everything_that_the_event_allows_stays() -> None:
    rules = Publish(users=True, hosts=True, groups=True, paths=True, teams=False)
    mask = Mask(["alice"], ["node2"], people=["Alice Liddell"], groups=["gz01"], teams=["aurora"], rules=rules)
    text = "/lustre/gz01/alice/x alice on node2, Alice Liddell of gz01"
    assert mask.text(text) == text
    assert mask.text("aurora and AURORA --password=hunter22") == "team-1 and team-1 --password=[removed]"


def test_what_was_taken_is_counted_each_time(mask: Mask) -> None:
    for _ in range(3):
        mask.text("alice on node2")
    mask.value({"alice": ["node10", ("alice", 1)]})
    assert mask.counts == {"user": 5, "host": 4}
    assert list(mask.examples["host"]) == ["node2", "node10"]
    other = Mask()
    other.add(mask.counts, mask.examples)
    assert other.counts == mask.counts


def test_the_same_names_give_the_same_mask() -> None:
    names = [f"user{number}" for number in range(40)]
    one, two = Mask(names, names, roots=names), Mask(reversed(names), reversed(names), roots=reversed(names))
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != Mask(names[1:], names, roots=names).fingerprint
    assert one.fingerprint != Mask(names, names, roots=names, rules=Publish(hosts=True)).fingerprint


def test_a_page_is_masked_in_texts_attributes_and_data(mask: Mask) -> None:
    page = """<!doctype html>
    <p title="alice &amp; node2" data-x="node2">a &lt; alice</p>

    <a href="team-alice.html">x</a><a href="/home/alice/x">y</a>
    <pre>  alice
    node10</pre>
    <style>.alice{}</style><script type="application/json">{"alice":"</script>"""
    page = page.replace('{"alice":"', json.dumps({"title": "alice <b> on node2"}).replace("<", "\\u003c"))
    made = mask_page(page, mask, {"team-alice.html"})
    assert 'title="user &amp; host-2"' in made and 'data-x="host-2"' in made and "a &lt; user</p>" in made
    assert 'href="team-alice.html"' in made and 'href="~/x"' in made
    assert "<pre>  user\n    host-3</pre>" in made and ".alice{}" in made
    assert '{"title":"user \\u003cb\\u003e on host-2"}' in made
    assert "\n\n" not in made


def test_a_key_is_found_though_each_of_its_lines_stands_alone(mask: Mask) -> None:
    body = ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", "AAAAMwAAAAtzc2gtZWQyNTUxOQAAACBnTZRa"]
    lines = ["before it", KEY, *body, "-----END OPENSSH PRIVATE KEY-----", "after it"]
    made = mask_page("".join(f"<li>{line}</li>" for line in lines), mask)
    assert "before it" in made and "after it" in made
    assert not any(line in made for line in body)
