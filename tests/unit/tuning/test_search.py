"""The search for the largest batch: exact for any memory that grows with the batch, and in few starts."""

from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.tuning.driver import Probe, predicted, search


def looked(
    first: int, largest: int, *, memory: bool = True, most: int | None = None, limit: int | None = None, bend: float = 0
) -> tuple[list[Probe], int | None]:
    """Return what a search finds whose batches fit up to `largest`; `bend`: memory that grows faster."""
    bound = 1000 * largest + int(bend * largest**2) + 5_000_000

    def start(batch: int) -> Probe:
        assert batch >= 1 and (most is None or batch <= most)
        need = 1000 * batch + int(bend * batch**2) + 5_000_000
        return Probe(batch, batch <= largest, need if memory else None)

    return search(start, first, 1, most, bound if limit is None else limit)


@given(
    st.integers(1, 3000), st.integers(0, 100_000), st.booleans(), st.none() | st.integers(3000, 200_000),
    st.floats(0, 0.5),
)  # fmt: skip
def test_it_ends_with_the_largest_batch_that_fits(
    first: int, largest: int, memory: bool, most: int | None, bend: float
) -> None:
    probes, _ = looked(first, largest, memory=memory, most=most, bend=bend)
    best = max((each.batch for each in probes if each.fits), default=0)
    assert best == (largest if most is None else min(largest, most))
    tried = [each.batch for each in probes]
    assert len(tried) == len(set(tried)), "a batch is tried once"
    if best != most:
        assert best + 1 in tried, "the next larger one does not fit, and was tried"
    assert len(tried) <= 4 + 2 * 18


def test_memory_that_grows_evenly_takes_four_starts() -> None:
    probes, guess = looked(16, 5000)
    assert guess == 5000
    assert [(each.batch, each.fits) for each in probes] == [(16, True), (32, True), (5000, True), (5001, False)]


def test_a_limit_that_the_memory_does_not_tell_costs_a_few_more() -> None:
    probes, guess = looked(16, 5000, limit=1000 * 5020 + 5_000_000)
    assert guess == 5020 and max(each.batch for each in probes if each.fits) == 5000 and len(probes) <= 14


def test_nothing_is_predicted_that_is_not_known() -> None:
    one, two = Probe(1, True, 100), Probe(2, True, 200)
    assert predicted([one, two], 1000) == 10
    assert predicted([one], 1000) is None and predicted([one, two], None) is None
    assert predicted([one, Probe(2, False, 200)], 1000) is None
    assert predicted([one, Probe(2, True, None)], 1000) is None
    assert predicted([one, Probe(2, True, 100)], 1000) is None, "memory that does not grow says nothing of a limit"
    missed = [Probe(2, True, 3), Probe(4, True, 4)]
    assert predicted([one, *missed], 1000) is None, "their memory was looked at too late"
    assert predicted([one, *missed, Probe(8, True, 800)], 1000) == 10


def test_memory_that_grows_with_the_square_takes_few_starts() -> None:
    probes, _ = looked(8, 327, bend=20)
    assert max(each.batch for each in probes if each.fits) == 327 and len(probes) <= 14


@example(95, 105, -0.0625, True)
@given(st.integers(1, 500), st.integers(1, 5000), st.floats(-0.2, 0.2), st.booleans())
def test_what_fake_tensors_foretell_is_tried_and_never_believed(
    first: int, largest: int, error: float, memory: bool
) -> None:
    told = max(1, round(largest * (1 + error)))

    def start(batch: int) -> Probe:
        need = 1000 * batch + 5_000_000
        return Probe(batch, batch <= largest, need if memory else None, told if batch == first else None)

    probes, guess = search(start, first, 1, None, 1000 * largest + 5_000_000)
    fitting = [each.batch for each in probes if each.fits]
    assert max(fitting) == largest and largest + 1 in [each.batch for each in probes]
    if first <= largest:
        assert guess == told
    if memory and first < largest:
        # two batches that fit and are not neighbours tell the line; else it is a search around what was foretold
        line = told <= largest and 16 * first <= 15 * told
        assert len(probes) <= (4 if line else 6 + 2 * abs(told - largest).bit_length())


def test_a_prediction_that_is_right_saves_a_start() -> None:
    def start(batch: int) -> Probe:
        return Probe(batch, batch <= 5000, 1000 * batch + 5_000_000, 5000 if batch == 16 else None)

    probes, guess = search(start, 16, 1, None, 1000 * 5000 + 5_000_000)
    assert guess == 5000
    assert [(each.batch, each.fits) for each in probes] == [(16, True), (5000, True), (5001, False)]
