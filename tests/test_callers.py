"""Audits work as usual, whatever callers or their functions do to the process."""

import os
import warnings

import numpy as np
import pytest

import dpjax
from dpjax import Events, HostMechanism
from dpjax.core.settings import callers_floats, own_settings
from dpjax.mechanisms import Laplace
from dpjax.testing import assert_private

SMALL = Events(400, 400)
NOTIONS = [
    dpjax.Epsilon(), dpjax.Epsilon(1e-5), dpjax.Profile(), dpjax.TradeOff(), dpjax.Gdp(),
    dpjax.Renyi(2.0), dpjax.Zcdp(), dpjax.TotalVariation(),
]  # fmt: skip


def noisy(count, size, rng):
    return rng.laplace(count, 1.0, size)


def audited(function=noisy, pairs=((0, 1),), **options):
    return dpjax.audit(HostMechanism(function, **options), list(pairs), method=SMALL, claim=0.1)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.symbol)
def test_a_caller_for_whom_every_float_error_raises(notion, tmp_path):
    with np.errstate(all="raise"):
        result = dpjax.audit(HostMechanism(noisy), [(0, 1)], method=SMALL, notion=notion)
        result.report(tmp_path / "page.html")
        assert str(result) and result.plot() is not None


DATA = np.random.default_rng(0).normal(size=(30, 8))
CHAIN = Events(2_000, 2_000, also=True)
WORK = {
    "search_pairs": lambda: dpjax.search_pairs(
        HostMechanism(noisy), [(0.0, 1.0), (0.0, 0.5), (0.0, 0.1)], budget=6_000
    ),
    "empirical_privacy": lambda: dpjax.empirical_privacy(DATA, epsilon=[0.0, 1.0, 30.0]),
    "calibrate_noise": lambda: dpjax.calibrate_noise(DATA, epsilon=1.0, noise="deconvolution"),
    "bound": lambda: dpjax.audit(HostMechanism(noisy), [(0, 1)], method=CHAIN).bound(
        dpjax.Renyi(500.0)
    ),
}


@pytest.mark.parametrize("work", WORK)
def test_float_errors_of_other_functions_raise_nothing(work):
    expected = WORK[work]()
    with np.errstate(all="raise"):
        assert str(WORK[work]()) == str(expected)


def test_queries_of_the_caller_see_the_settings_of_the_caller():
    def overflows(values):
        return min(float(np.exp(np.float64(1_000.0))), len(values))

    assert dpjax.empirical_privacy(DATA, lambda v: float(v.sum()), epsilon=1.0) is not None
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
        dpjax.empirical_privacy(DATA, overflows, epsilon=1.0)
    with np.errstate(over="raise"), own_settings(), own_settings(), callers_floats():
        # The inner block restores what the outer block set.
        assert np.geterr()["over"] == "raise"
    with np.errstate(over="raise"), own_settings(), callers_floats(), np.errstate(over="print"):
        with own_settings(), callers_floats():
            # A function of the caller changed the settings before it called dpjax.
            assert np.geterr()["over"] == "print"
    with np.errstate(over="print"), callers_floats():
        assert np.geterr()["over"] == "print"


def test_functions_of_the_caller_see_the_settings_of_the_caller():
    """If overflow raises an error, it is a separate outcome; otherwise, it is an infinity."""

    def fragile(count, rng):
        return float(np.exp(np.float64(1000.0))) if rng.random() < 0.5 * count else rng.normal()

    with np.errstate(all="raise"):
        result = audited(fragile, batched=False)
    assert result.witness.event == "the output is error: FloatingPointError"
    with np.errstate(all="ignore"):
        assert "+inf" in audited(fragile, batched=False).witness.event


def test_pytest_skip_in_what_is_audited_skips_no_test():
    def skips(key, database):
        pytest.skip("later")

    for run in (assert_private, dpjax.testing.assert_not_private):
        with pytest.raises(ValueError, match=r"raised Skipped: .*later"):
            run(skips, 1.0, [(0.0, 1.0)])


@pytest.mark.parametrize("name", ["num_claims", "distance"])
def test_numbers_of_400_digits(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer below 2.63"):
        dpjax.audit(Laplace(1.0), method=SMALL, **{name: 10**400})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("batched", [True, False])
def test_a_fork_at_a_call_gives_no_second_audit(batched, tmp_path):
    log, forks = tmp_path / "log", []

    def forks_once(count, *size, rng):
        if not forks:
            forks.append(1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # JAX warns about threads.
                if os.fork() == 0:
                    raise SystemExit(0)
        return noisy(count, size[0] if size else None, rng)

    result = audited(forks_once, batched=batched)
    with log.open("a") as file:
        file.write(f"{os.getpid()}\n")
    assert result.lower_bound > 0.3 and log.read_text() == f"{os.getpid()}\n"


def test_another_folder_at_a_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "xy":
        np.save(f"{name}.npy", np.random.default_rng(ord(name)).normal(size=400))
    recorded = dpjax.Recorded(dpjax.Recording("x.npy"), dpjax.Recording("y.npy"))
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    assert dpjax.audit(recorded).verdict == "no claim"


class Hostile:
    """An array, a database or an output whose methods raise errors."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("no array")

    def __repr__(self):
        raise RuntimeError("no text")

    def __len__(self):
        return 400


def test_objects_whose_methods_raise():
    with pytest.raises(ValueError, match="NumPy cannot convert to an array: RuntimeError"):
        audited(lambda count, size, rng: Hostile())
    with pytest.raises(ValueError, match="x must be outputs that form an array: RuntimeError"):
        dpjax.Recorded(Hostile(), [1.0] * 400)
        dpjax.audit(dpjax.Recorded(Hostile(), [1.0] * 400))
    named = audited(lambda side, size, rng: rng.normal(size=size), [(Hostile(), Hostile())])
    assert "<Hostile without a repr>" in str(named.witness.database)


def test_a_database_within_itself():
    cyclic = [1]
    cyclic.append(cyclic)
    result = audited(lambda side, size, rng: rng.normal(size=size), [(cyclic, [1, 2])])
    assert result.witness.database == "[1, [...]]"


NAN = float("nan")


@pytest.mark.parametrize(
    "pair",
    [
        (NAN, float("nan")), (1, 1.0), ((1,), [1]), ([NAN], (float("nan"),)),
        ({"a": 1}, {"a": 1.0}), (np.array([1, 2]), [1.0, 2.0]), (True, 1),
        (np.array([NAN]), np.array([NAN])),
    ],
    ids=repr,
)  # fmt: skip
def test_databases_that_hold_the_same_are_no_pair(pair):
    with pytest.raises(ValueError, match="pairs must hold two different databases"):
        assert_private(HostMechanism(lambda side, size, rng: rng.normal(size=size)), 1.0, [pair])


@pytest.mark.parametrize(
    "pair", [(0, 1), (0.0, NAN), ((1,), (1, 2)), ("1", 1), ({"a": 1}, {"b": 1}), (None, 0)]
)
def test_databases_that_differ_are_a_pair(pair):
    result = audited(lambda side, size, rng: rng.normal(size=size), [pair])
    assert not any("equal" in note for note in result.notes)
