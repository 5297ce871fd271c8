"""Tables that people write, and what is said of their mistakes."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.prediction.forecast import forecast
from hackathon.prediction.rows import Series
from hackathon.prediction.table import parse_table
from hackathon.text.errors import RequestError


def only(text: str) -> Series:
    (series,) = parse_table(text.encode(), "t.csv").series
    return series


def rates(series: Series) -> dict[int, float]:
    return {row.processes: row.rate for row in series.rows}


def error(text: str) -> str:
    with pytest.raises(RequestError) as told:
        parse_table(text.encode(), "t.csv")
    assert told.value.exit_code == 2
    return str(told.value)


@pytest.mark.parametrize(
    "text",
    [
        "processes,value\n1,1000\n2,1900\n",
        "\ufeffprocesses,value\r\n1,1000\r\n2,1900\r\n",
        "processes,value\n2,1900\n\n# measured on Monday\n1,1000",
        "Value , PROCESSES\n1900,2\n1000,1\n",
        'processes,value\n１,"１,０００"\n２,"1,900.0"\n',
        "processes,value,note\n1,1e3,quick\n2,1.9E3,\n",
        "processes,value\n1,1000\n2,1900\n2,1900\n",
        "processes,value\n1.0,+1000\n2,1900\n4,\n",
    ],
)
def test_ways_to_write_the_same_table(text: str) -> None:
    assert rates(only(text)) == {1: 1000.0, 2: 1900.0}


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("2,nan", "value", "not a measurement"),
        ("2,NaN", "value", "not a measurement"),
        ("2,inf", "value", "not a measurement"),
        ("2,0", "value", "greater than 0"),
        ("2,-3", "value", "greater than 0"),
        ("2,fast", "value", "not a number"),
        ("2,1 900", "value", "not a number"),
        ("2,1e400", "value", "not a measurement"),
        ("2,1e-300", "value", "1e-100"),
        ("0,5", "processes", "whole number"),
        ("-2,5", "processes", "whole number"),
        ("2.5,5", "processes", "whole number"),
        ("two,5", "processes", "whole number"),
        (",5", "processes", "empty"),
        ("1000000000000,5", "processes", "whole number"),
        ("2,1,900", "value", "3 cells for 2 columns"),
    ],
)
def test_a_bad_cell_is_told_with_line_and_column(line: str, column: str, reason: str) -> None:
    text = error(f"processes,value\n1,1000\n{line}\n4,3000\n")
    assert f"t.csv, line 3, {column}: " in text and reason in text


def test_all_errors_are_told_at_once_and_not_without_end() -> None:
    text = error("processes,value\n" + "x,y\n" * 40)
    assert text.count("line") == 10 and "70 more errors" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no measurements"),
        ("\n\n", "no measurements"),
        ("processes,value\n", "no measurements"),
        ("processes,value\n1,\n", "no measurements"),
        ("processes,speed\n1,2\n", "column missing: value"),
        ("1,1000\n2,1900\n", "column missing: processes, value"),
        ("processes,value,value\n1,2,3\n", "twice"),
        ("processes,value,mode\n1,2,steady\n", "neither weak nor strong"),
        ("processes,value,mode\n1,2,weak\n2,3,strong\n", "in a series that has weak"),
        ("processes,value,unit\n1,2,s\n2,3,img/s\n", "in a series that has s"),
        ("processes,value,nodes\n2,3,4\n", "4 nodes are more than 2 processes"),
        ('processes,value\n1,"2\n', "quotation mark"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    assert reason in error(text)


def test_what_is_not_text_is_told_with_its_line() -> None:
    with pytest.raises(RequestError, match="line 2"):
        parse_table("processes,value\n1,é\n".encode("latin-1"), "t.csv")
    with pytest.raises(RequestError, match="line 3"):
        parse_table(b"processes,value\n1,2\n2,\x003\n", "t.csv")


def test_times_become_rates() -> None:
    strong = only("processes,value,unit,mode\n1,100,s,strong\n2,55,s,strong\n")
    assert rates(strong) == pytest.approx({1: 0.01, 2: 1 / 55})
    for unit in ("s", "ms", "s/step", "step"):
        weak = only(f"processes,value,unit\n1,0.50,{unit}\n2,0.55,{unit}\n")
        assert weak.rows[1].cost / weak.rows[0].cost == pytest.approx(1.1)
        assert weak.value(weak.rows[1].rate, 2) == pytest.approx(0.55)
    epoch = only("processes,value,unit\n1,100,s\n2,52,s\n")
    assert epoch.rows[1].cost / epoch.rows[0].cost == pytest.approx(1.04) and "job-time" in epoch.notes
    nanoseconds = only("processes,value,unit,mode\n1,10,ns/day,strong\n2,19,ns/day,strong\n")
    assert rates(nanoseconds) == {1: 10.0, 2: 19.0}
    each = only("processes,value,unit\n8,500,tok/s/GPU\n16,480,tok/s/GPU\n")
    assert rates(each) == {8: 4000.0, 16: 7680.0} and each.value(7680.0, 16) == 480.0
    time_each = only("processes,value,unit\n1,0.50,s/step/GPU\n2,0.55,s/step/GPU\n")
    assert time_each.rows[1].cost / time_each.rows[0].cost == pytest.approx(1.1)
    for unit, second in (("ミリ秒/ステップ", 1e-3), ("秒", 1.0), ("分", 60.0), ("時間", 3600.0)):
        assert only(f"processes,value,unit,mode\n1,10,{unit},strong\n2,6,{unit},strong\n").second == second


def test_repeats_are_one_row_and_copies_are_told() -> None:
    series = only("processes,value,repeat\n1,100,1\n1,104,2\n1,99,3\n2,190,1\n")
    assert [(row.rate, row.repeats) for row in series.rows] == [(100.0, 3), (190.0, 1)] and not series.duplicates
    twice = only("processes,value\n1,100\n2,190\n2,180\n")
    assert [(flag.processes, flag.kind) for flag in twice.duplicates] == [(2, "duplicate")]


def test_series_are_kept_apart_and_studies_know_their_cluster() -> None:
    text = "series,processes,value,cluster,model,framework\na,1,10,X,m,f\nb,1,20,X,m,f\na,2,19,X,m,f\n"
    first, second = parse_table(text.encode(), "t.csv").series
    assert (first.name, second.name) == ("a", "b") and len(first.rows) == 2
    assert (first.kin.cluster, first.kin.model, first.kin.framework) == ("X", "m", "f")


CELLS = st.one_of(
    st.sampled_from(
        ["1", "2", "4", "8", "１６", "1,024", "", "nan", "-1", "0", "1e9", "1e999", "weak", "strong", "s", '"', "#"]
    ),
    st.floats(allow_nan=True).map(str),
    st.text(max_size=5),
)
HEADS = st.lists(
    st.sampled_from(["processes", "value", "nodes", "repeat", "mode", "unit", "series", "cluster", ""]), max_size=6
)


@settings(deadline=None, max_examples=150)
@given(HEADS, st.lists(st.lists(CELLS, max_size=6), max_size=6), st.sampled_from([",", ";", "\t"]))
def test_any_table_is_read_or_refused(heads: list[str], lines: list[list[str]], sign: str) -> None:
    columns = ["processes", "value", *(head for head in heads if head not in ("processes", "value"))]
    text = "\n".join(sign.join(cells) for cells in [columns, *lines])
    assert_read_or_refused(text.encode("utf-8", "surrogatepass"))


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_tables_of_others_are_data(raw: bytes) -> None:
    assert_read_or_refused(raw)
    assert_read_or_refused(b"processes,value\n" + raw)


def assert_read_or_refused(raw: bytes) -> None:
    try:
        table = parse_table(raw, "t.csv")
    except RequestError as told:
        assert told.exit_code == 2 and told.message
        return
    for series in table.series:
        assert series.rows and all(0 < row.rate < math.inf for row in series.rows)
        for entry in forecast(series, [2, 16], advise=False).predictions:
            assert 0 < entry["low"] <= entry["value"] <= entry["high"] < math.inf


def test_order_does_not_matter() -> None:
    lines = [f"{p},{100 * p**0.9:.3f},{max(1, p // 4)}" for p in (1, 2, 4, 8, 16, 32)]
    answers = []
    for seed in range(4):
        random.Random(seed).shuffle(lines)
        series = only("processes,value,nodes\n" + "\n".join(lines))
        answers.append(forecast(series, [64, 128]).json)
    assert answers[1:] == answers[:1] * 3


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_other_separators_are_read(separator: str) -> None:
    text = "# from a spreadsheet\nprocesses,value,nodes\n1,100,1\n2,190,\n".replace(",", separator)
    (found,) = parse_table(text.encode(), "t.csv").series
    assert [(row.processes, row.rate, row.nodes) for row in found.rows] == [(1, 100.0, 1), (2, 190.0, None)]


def test_many_lines_are_repeats() -> None:
    lines = "".join(f"{1 + at % 4},{100 * (1 + at % 4)},{at // 4}\n" for at in range(20_000))
    (found,) = parse_table(f"processes,value,repeat\n{lines}".encode(), "t.csv").series
    assert [(row.processes, row.repeats) for row in found.rows] == [(p, 5_000) for p in (1, 2, 3, 4)]
