"""One call of a user's function: its arguments, the progress, and the settings of sources."""

import random
import threading

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, Recorded, Recording
from dpjax.partitions.missing import Raised
from dpjax.sources import Trust
from dpjax.sources._calls import _seeds_given, draw_batch, seed_argument
from dpjax.sources._deadline import TookTooLong
from dpjax.sources._plain import known_options, stated_options
from dpjax.sources._schedule import Span, seed_of_batch


class Limit:
    """A deadline that every call misses, or that no call misses."""

    timeout = 2.5

    def __init__(self, missed, passed=False):
        self.missed, self.passed = missed, passed

    def call(self, function, *arguments, **options):
        if self.missed:
            raise TookTooLong
        return function(*arguments, **options)


def failing(database):
    raise KeyError("secret")


def failing_batch(database, num_samples):
    raise ValueError("too few")


def single(function, catch, deadline=None, saw=None):
    return draw_batch(function, catch, deadline, saw, 0.5, 3, [1, 2, 3])


def test_outputs_that_raise_or_take_too_long():
    told = []
    found = single(failing, True, None, told.append)
    assert [str(output) for output in found] == ["error: KeyError"] * 3 and sum(told) == 3
    assert all(isinstance(output, Raised) for output in found)
    late = single(failing, True, Limit(True))
    assert [str(output) for output in late] == ["error: timeout"] * 3
    where = "the function failing, called with the database 0.5, "
    for catch, deadline, said in (
        (False, None, f"{where}raised KeyError: 'secret'. With special='outcomes', an exception "
         "counts as an outcome."),
        (False, Limit(True), f"{where}took longer than 2.5 s. With special='outcomes', a timeout "
         "counts as an outcome."),
        (True, Limit(True, True), f"{where}was still running at the end of the time limit: allow "
         "more time, or set a timeout (seconds per call), so that long calls are terminated and "
         "count as an outcome."),
    ):  # fmt: skip
        with pytest.raises(ValueError) as refused:
            single(failing, catch, deadline)
        assert str(refused.value) == said

    def interrupted(database, seed):
        if seed == 7:
            raise KeyboardInterrupt

    def leaving(database):
        raise SystemExit(3)

    told.clear()
    with pytest.raises(KeyboardInterrupt):
        draw_batch(interrupted, True, None, told.append, 0.5, 9, range(9))
    assert sum(told) == 7  # Outputs that arrived before the interrupt are reported.
    assert str(single(leaving, True)[0]) == "error: SystemExit"


def test_batches_that_raise_or_take_too_long():
    asked = "3 outputs from the database 0.5"
    for catch in (True, False):
        with pytest.raises(ValueError) as refused:
            draw_batch(failing_batch, catch, None, None, 0.5, 3, 7)
        assert str(refused.value).startswith(
            f"the function failing_batch raised ValueError when asked for {asked}: too few. A batch"
        )
        with pytest.raises(ValueError) as refused:
            draw_batch(failing_batch, catch, Limit(True), None, 0.5, 3, 7)
        assert str(refused.value).startswith(
            f"the function failing_batch took too long when asked for {asked}: request fewer with"
        )
    counted = draw_batch(lambda database, n, seed: [database, n, seed], True, Limit(False), None,
                         0.5, 3, 7)  # fmt: skip
    assert counted == [0.5, 3, 7]
    columns = draw_batch(lambda database, n: {"a": [1, 2], "b": [3, 4]}, True, None, None, 0, 2, 7)
    assert [dict(row) for row in columns] == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]


def test_a_call_does_not_change_the_settings_of_later_calls():
    def changing(database, seed):
        before = np.geterr()["divide"]
        np.seterr(divide="raise" if seed == 2 else "ignore")
        return before

    before = np.geterr()["divide"]
    assert draw_batch(changing, True, None, None, 0, 5, range(5)) == 5 * [before]
    assert np.geterr()["divide"] == before


def test_seeds_and_generators():
    assert seed_argument(lambda database, seed: 0) == "seed"
    assert seed_argument(lambda database, rng: 0) == "rng"
    assert seed_argument(lambda database, rng, seed: 0) == "seed"
    assert seed_argument(lambda database: 0) is None and seed_argument(min) is None
    assert [*_seeds_given(None, [7, 8])] == [{}, {}]
    assert [*_seeds_given("seed", np.array([7]))] == [{"seed": 7}]
    (given,) = _seeds_given("rng", [7])
    assert [*given] == ["rng"] and given["rng"].random() == np.random.default_rng(7).random()
    drawn = draw_batch(lambda database, rng: rng.random(), True, None, None, 0, 2, np.array([5, 6]))
    assert drawn == [np.random.default_rng(seed).random() for seed in (5, 6)]


def plain(database, num_samples):
    return np.zeros(num_samples)


def one(database, seed):
    return seed


@pytest.mark.parametrize(
    ("function", "batched", "said"),
    [
        (
            lambda database: 0,
            True,
            r"must have the arguments \(database, num_samples\), and no .* use batched=False\.",
        ),
        (plain, False, r"must have the arguments \(database\), and no others .* num_samples\)\.$"),
        (lambda database, n, other: 0, True, r"but has \(database, n, other\)"),
    ],
)
def test_functions_of_other_arguments(function, batched, said):
    with pytest.raises(TypeError, match=said):
        HostMechanism(function, batched=batched)
    HostMechanism(lambda *given, **named: 0, batched=batched)
    HostMechanism(max, batched=batched)


def test_functions_for_workers():
    local = lambda database, n: 0  # noqa: E731
    for options, said in (
        ({"workers": 1}, "workers need a function that can be pickled, .* or use workers=0"),
        (
            {"restart": True},
            "restart needs a function that can be pickled, .* or use restart=False",
        ),
        ({"workers": 1, "restart": True}, "workers need a function"),
    ):
        with pytest.raises(TypeError, match=said):
            HostMechanism(local, **options)
        HostMechanism(plain, **options)
    for options in ({"workers": -1}, {"batch_size": 0}, {"special": "x"}, {"bits": 9},
                    {"time_limit": 0.0}, {"timeout": -1.0}):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            HostMechanism(plain, **options)
    with pytest.raises(TypeError, match="function must be callable, but was 3"):
        HostMechanism(3)


class Carrying:
    """A function that carries a generator, which pickle would copy for every batch."""

    def __init__(self, generator):
        self.generators, self.__name__ = [{"noise": generator}], "carrying"

    def __call__(self, database):
        return database + self.generators[0]["noise"].random()

    def seeded(self, database, seed):
        return database + np.random.default_rng(seed).random()


@pytest.mark.parametrize(
    "generator",
    [np.random.default_rng(0), np.random.RandomState(0), np.random.PCG64(0), random.Random(0)],
    ids=lambda generator: type(generator).__name__,
)
def test_copies_of_a_generator_would_draw_the_same_noise(generator):
    function, kind = Carrying(generator), type(generator).__name__
    for options, said in (
        ({"workers": 2}, rf"workers need .* \({kind}\)\. Each batch would .* use workers=0\."),
        ({"restart": True}, rf"restart needs .* \({kind}\)\. Each process .* restart=False\."),
    ):
        with pytest.raises(ValueError, match=said):
            HostMechanism(function, batched=False, **options)
        # A function of a seed may keep a generator for other purposes.
        HostMechanism(function.seeded, batched=False, **options)
    HostMechanism(function, batched=False)


def test_what_is_drawn_in_this_process():
    told = []
    with HostMechanism(plain, batch_size=4).drawing() as draw:
        found = [*draw(0.5, Span(range(10), (1,), told.append))]
    assert [len(batch) for batch in found] == [4, 4, 2] == told
    told.clear()
    single_calls = HostMechanism(one, batched=False, batch_size=4)
    with single_calls.drawing() as draw:
        found = [*draw(0.5, Span(range(6), (1,), told.append, 3))]
    assert [len(batch) for batch in found] == [3, 1, 2] and sum(told) == 6
    seeds = [seed for batch in found for seed in batch]
    assert len(set(seeds)) == 6 and seed_of_batch((1,), 0) not in seeds


def returning_a_lock(database):
    return threading.Lock()


def returning_a_function(database):
    return lambda: 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [returning_a_lock, returning_a_function])
def test_outputs_that_a_worker_cannot_send_are_refused(function):
    source = HostMechanism(function, batched=False, workers=1)
    said = f"those of the function {function.__name__} cannot be .* pickle"
    with source.drawing() as draw, pytest.raises(TypeError, match=said):
        list(draw(0.5, Span(range(2), (1,), print)))


def test_options_that_are_stated():
    source = HostMechanism(plain, batch_size=4, workers=2, timeout=3.0)
    assert stated_options(source) == {"batch_size": 4, "timeout": 3.0}
    assert source.to_plain() == {"name": f"{__name__}:plain", "batch_size": 4, "timeout": 3.0}
    back = HostMechanism.from_plain(source.to_plain(), None, Trust([__name__]))
    assert back == HostMechanism(plain, batch_size=4, timeout=3.0)
    assert HostMechanism(lambda database, n: 0).to_plain() is None
    assert known_options(HostMechanism, {"timeout": 3.0}) == {"timeout": 3.0}
    for options in ({"function": 1}, {"workers": 1}, {"more": 1}):
        with pytest.raises(ValueError, match="the recipe's subject"):
            known_options(HostMechanism, options)
    assert source.name == "plain" and not source.replayable and not source.one_by_one
    assert HostMechanism(one, batched=False).replayable
    assert source.encoder().source == "the function plain"


def test_recordings_in_recipes_and_notebooks(tmp_path):
    for name in ("x.csv", "y.csv"):
        (tmp_path / name).write_text("1\n2\n")
    source = Recorded(Recording(tmp_path / "x.csv", 0), Recording(tmp_path / "y.csv"), blocks=3,
                      independent=True, name="mine")  # fmt: skip
    content = source.to_plain()
    assert content == {
        "x": [[str(tmp_path / "x.csv")], 0], "y": [[str(tmp_path / "y.csv")], None], "blocks": 3,
        "independent": True, "name": "mine",
    }  # fmt: skip
    back = Recorded.from_plain(dict(content), None, Trust(()))
    assert back.to_plain() == content and back.x.paths == [tmp_path / "x.csv"]
    shown = source._repr_html_()
    assert "Recorded outputs: mine" in shown and "file x.csv, column 0" in shown
    assert "file y.csv<" in shown and "independent" in shown and ">name<" not in shown
    assert Recorded(np.zeros(3), np.ones(3)).to_plain() is None
    mixed = Recorded(Recording(tmp_path / "x.csv"), np.ones(3))
    assert mixed.to_plain() is None
    for options in ({"search_fraction": 0.5}, {"search_fraction": 0.0}, {"blocks": 0},
                    {"bits": 9}):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            Recorded(np.zeros(3), np.ones(3), **options)
    with pytest.raises(ValueError, match="pairs must be left out for recorded outputs"):
        mixed.refuse_pairs([(0, 1)])
    assert Recorded(np.zeros(3), np.ones(3)).search_fraction == 0.3


def test_an_interrupt_in_a_function_of_many_outputs_stops_the_audit():
    def interrupted(database, num_samples):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dpjax.audit(interrupted, [(0, 1)])
