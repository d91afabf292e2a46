"""Properties that hold for every combination of a source, a method and a notion.

The audits have few draws and a confidence of 1 - 1e-5, so each statement about a bound fails with
probability at most 1e-5.
"""

import json
import math
import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusal

import dpjax
from dpjax import (
    CommandMechanism,
    Epsilon,
    Events,
    Execution,
    Histogram,
    HostMechanism,
    Local,
    Recorded,
    Recording,
)
from dpjax.mechanisms import FiniteSpace, Laplace, RandomizedResponse, TruncatedLaplace

SURE = 1 - 1e-5
LEVEL = 2.0
"""Level of all mechanisms here except the truncated Laplace mechanism."""


# Each source is made with outputs that differ between the databases, or do not.


def shifted(key, database):
    """Add Laplace noise: real outputs."""
    return database + jax.random.laplace(key) / LEVEL


def flipped(key, database):
    """Return randomized response: integer outputs."""
    lie = jax.random.bernoulli(key, 1 / (1 + math.exp(LEVEL)))
    return jnp.where(lie, 1 - database, database).astype(jnp.int32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Flip:
    """Randomized response with a given level."""

    level: Any
    output_space = FiniteSpace(2)

    def sample(self, key, database, num_samples):
        lie = jax.random.bernoulli(key, 1 / (1 + jnp.exp(self.level)), (num_samples,))
        return jnp.where(lie, 1 - database, database).astype(jnp.int32)


def in_batches(database, num_samples, rng):
    return database + rng.laplace(size=num_samples) / LEVEL


def one_by_one(database, rng):
    if rng.random() < 1 / (1 + math.exp(LEVEL)):
        database = 1 - database
    return "yes" if database else None


PROGRAM = """
import random, sys
draw = random.Random(int(sys.argv[3]))
for _ in range(int(sys.argv[2])):
    print(float(sys.argv[1]) + (draw.expovariate(1) - draw.expovariate(1)) / %s)
"""

SIZES = {"num_samples": 1000, "num_confirm": 3000}
NUM_RECORDED = 4000
PURE = Epsilon()


@dataclass(frozen=True)
class Case:
    """A source and a method that fits it.

    Attributes:
        make: Function of (whether the outputs differ, folder) that returns source and pairs.
        method: Method that supports the source.
        notion: Notion that the method supports.
        level: True level of the mechanism.
        claim: Claim far below the level.
    """

    make: Any
    method: Any
    notion: Any = PURE
    level: float = LEVEL
    claim: float = 0.2


def drawn(mechanism, other=1.0):
    """Return a mechanism with pairs (0, x), or (0, 0) if the outputs do not differ."""
    return lambda differ, folder: (mechanism, [(other * 0, other if differ else other * 0)])


def command(differ, folder):
    path = folder / "program.py"
    path.write_text(PROGRAM % LEVEL)
    line = f"{sys.executable} -S {path} {{database}} {{num_samples}} {{seed}}"
    return CommandMechanism(line), [(0.0, 1.0 if differ else 0.0)]


def reals(differ):
    noise = np.random.default_rng(5).laplace(size=(2, NUM_RECORDED)) / LEVEL
    return noise[0], noise[1] + differ


def arrays(differ, folder):
    return Recorded(*reals(differ)), None


def labels(differ, folder):
    lies = np.random.default_rng(6).random((2, NUM_RECORDED)) < 1 / (1 + math.exp(LEVEL))
    sides = lies[0], lies[1] ^ differ
    return Recorded(*(np.where(side, "yes", "no") for side in sides)), None


def files(differ, folder):
    for name, side in zip("xy", reals(differ), strict=True):
        np.savetxt(folder / f"{name}.csv", side, "%.17g")
    return Recorded(*(Recording(folder / f"{name}.csv") for name in "xy")), None


def truncated(differ, folder):
    return TruncatedLaplace(2.0 if differ else 1e6), None


def many_outcomes(differ, folder):
    return RandomizedResponse(LEVEL if differ else 1e-9), [(0, 1)]


def own_outcomes(differ, folder):
    return Flip(LEVEL if differ else 0.0), [(0, 1)]


COUNTED = {
    "built in": drawn(Laplace(LEVEL)),
    "function of reals": drawn(shifted),
    "function of integers": drawn(flipped, 1),
    "class": drawn(Flip(LEVEL), 1),
    "host in batches": drawn(HostMechanism(in_batches)),
    "host one by one": drawn(HostMechanism(one_by_one, batched=False), 1),
    "command": command,
    "arrays": arrays,
    "labels": labels,
    "files": files,
}
SMOOTHED = ("built in", "function of reals", "class", "arrays", "labels")
FEW = Histogram(least_probability=0.1, num_samples=3000)
CASES = {
    **{
        f"events, {name}, delta {delta:g}": Case(make, Events(**SIZES), Epsilon(delta))
        for name, make in COUNTED.items()
        for delta in (0.0, 0.01)
    },
    # For level 2, rho is at most 2, and mu is at most 2.4.
    **{
        f"chain, {name}": Case(COUNTED[name], Events(**SIZES), dpjax.Zcdp())
        for name in ("built in", "host in batches", "command", "labels", "files")
    },
    "chain also, class": Case(COUNTED["class"], Events(**SIZES, also=True), dpjax.Gdp(), level=2.4),
    "events, arrays, mu": Case(COUNTED["arrays"], Events(**SIZES), dpjax.Gdp(), level=2.4),
    # Use the sizes of other tests' audits, so that they share a compiled program.
    **{f"local, {name}": Case(COUNTED[name], Local(2000, 5000)) for name in SMOOTHED},
    "histogram, outcomes": Case(many_outcomes, FEW),
    "histogram, class": Case(own_outcomes, FEW),
    "histogram, reals": Case(
        truncated, Histogram(lipschitz=0.64, num_samples=50_000), level=0.5, claim=0.1
    ),
}


class Audits:
    """Audits of the cases; each audit runs only once."""

    def __init__(self, folder):
        self._folder, self._made = folder, {}

    def source(self, case, differ):
        if (case, differ) not in self._made:
            folder = self._folder / str(len(self._made))
            folder.mkdir()
            self._made[case, differ] = CASES[case].make(differ, folder)
        return self._made[case, differ]

    def __call__(self, case, *, differ=True, claim=None, num_claims=1, execution=None):
        place = case, differ, claim, num_claims, execution
        if place not in self._made:
            subject, pairs = self.source(case, differ)
            self._made[place] = dpjax.audit(
                subject,
                pairs,
                method=CASES[case].method,
                notion=CASES[case].notion,
                claim=claim,
                confidence=SURE,
                num_claims=num_claims,
                key=1,
                execution=execution,
            )
        return self._made[place]


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    return Audits(tmp_path_factory.mktemp("contract"))


def content(result):
    found = result.to_dict()
    return {**found, "provenance": {**found["provenance"], "seconds": None}}


every_case = pytest.mark.parametrize("case", CASES)


@pytest.mark.one_in(9)
@every_case
def test_a_result_is_json_and_runs_again_from_it(case, audits):
    result = audits(case, claim=CASES[case].claim)
    text = result.to_json()
    read = dpjax.AuditResult.from_json(text)
    assert read == result and read.to_json() == text
    again = dpjax.rerun(read, audits.source(case, True)[0])
    # JSON does not support tuples.
    assert json.loads(json.dumps(content(again))) == json.loads(json.dumps(content(result)))


@pytest.mark.one_in(13)
@every_case
def test_a_claim_far_below_the_level_is_refuted_and_the_bound_is_not_above_it(case, audits):
    claim = CASES[case].claim
    result = audits(case, claim=claim)
    assert result.verdict == "violated" and result.claim == claim
    assert claim < result.lower_bound <= CASES[case].level
    assert f"above the claimed {claim:g}" in result.sentence
    # The result names the databases and the outputs that show the violation.
    assert result.witness.pair in dict(result.pair_scores)
    if result.smallest_error is not None:
        assert 0 < result.smallest_error < 1 - SURE
    assert (result.smallest_error is None) == case.startswith("histogram")


@pytest.mark.one_in(3)
@every_case
def test_several_claims_have_smaller_bounds_and_the_level_is_not_refuted(case, audits):
    level = CASES[case].level
    one, ten = audits(case, claim=CASES[case].claim), audits(case, claim=level, num_claims=10)
    assert ten.lower_bound < one.lower_bound
    assert ten.confidence == one.confidence == SURE and ten.num_claims == 10
    assert any("10 such bounds" in note for note in ten.notes)
    assert ten.verdict == "not refuted"
    assert ten.smallest_error is None or ten.smallest_error >= 1 - SURE


@pytest.mark.one_in(3)
@every_case
def test_where_outputs_are_alike_the_bound_is_0(case, audits):
    result = audits(case, differ=False)
    assert result.lower_bound == 0 and result.verdict == "no claim"
    assert result.smallest_error is None


@pytest.mark.parametrize(
    "case",
    [
        "chain, built in",
        pytest.param("chain also, class", marks=pytest.mark.slow),
        # The fast tests audit a function elsewhere, where both layouts are compared.
        *(
            pytest.param(f"events, {name}, delta 0", marks=pytest.mark.slow)
            for name in ("built in", "function of reals", "function of integers", "class")
        ),
    ],
)  # fmt: skip
def test_streamed_is_gathered(case, audits):
    claim = CASES[case].claim
    streamed = audits(case, claim=claim, execution=Execution(layout="streamed"))
    assert content(streamed) == content(audits(case, claim=claim))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "case", ["events, host in batches, delta 0", "events, arrays, delta 0.01", "local, arrays"]
)
@pytest.mark.parametrize("num_claims", [1, 10])
def test_the_smallest_error_is_where_the_verdict_changes(case, num_claims, audits):
    """Check audits with error probabilities just above and just below the smallest error."""
    bound = audits(case, num_claims=num_claims).lower_bound
    for claim, violated in ((bound - 2e-3, True), (bound + 2e-3, False)):
        result = audits(case, claim=claim, num_claims=num_claims)
        assert (result.verdict == "violated") == violated
        assert (result.smallest_error < 1 - SURE) == violated
        subject, pairs = audits.source(case, True)
        for factor, refuted in ((1.1, True), (0.9, False)):
            again = dpjax.audit(
                subject,
                pairs,
                method=CASES[case].method,
                notion=CASES[case].notion,
                claim=claim,
                confidence=1 - factor * result.smallest_error,
                num_claims=num_claims,
                key=1,
            )
            assert (again.verdict == "violated") == refuted


# Combinations that do not fit.

REALS = Recorded(*np.random.default_rng(0).laplace(size=(2, 400)))
HOST = HostMechanism(in_batches)
PAIR = [(0.0, 1.0)]


@pytest.mark.parametrize(
    ("subject", "pairs", "options", "sentence"),
    [
        (HOST, PAIR, {"method": Local()}, "use method=Events(), or record its outputs"),
        (
            CommandMechanism("cat {database}"), PAIR, {"method": Local()},
            "use method=Events(), or record its outputs",
        ),
        (HOST, PAIR, {"method": FEW}, "use method=Events()"),
        (REALS, None, {"method": FEW}, "use method=Events()"),
        (Laplace(), None, {"method": Local(), "notion": Epsilon(0.01)}, "use method=Events()"),
        (Laplace(), None, {"method": Local(), "notion": dpjax.Gdp()}, "use method=Events()"),
        (Laplace(), None, {"method": Local(), "distance": 2}, "use method=Events()"),
        (
            RandomizedResponse(), None, {"method": FEW, "notion": Epsilon(0.01)},
            "use method=Events()",
        ),
        (REALS, PAIR, {}, "pairs must be left out"),
        (
            Recorded(REALS.x, REALS.y, bits="lowest"), None, {"method": Local()},
            "use method=Events()",
        ),
        (Recorded(["a", None] * 100, ["a"] * 200), None, {"method": Local()}, "method=Events()"),
        (dpjax.mechanisms.NumericalSVT(), None, {"method": Local()}, "use method=Events()"),
        (Laplace(), None, {"method": FEW}, "lipschitz must be given"),
        (RandomizedResponse(), None, {"method": Histogram()}, "least_probability must be given"),
        (shifted, None, {}, "pairs must be given"),
        (HOST, None, {}, "pairs must be given"),
        (Laplace, None, {}, "write Laplace(...)"),
        ("laplace", None, {}, "find_mechanism('laplace')"),
        (REALS.x, PAIR, {}, "dpjax.Recorded(x, y)"),
        (Laplace(), None, {"method": "events"}, "method must be an object such as dpjax.Events()"),
        (Laplace(), None, {"notion": 0.01}, "notion must be dpjax.Epsilon(delta=...)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_what_would_is_named(subject, pairs, options, sentence):
    assert sentence in str(refusal(dpjax.audit, subject, pairs, **options))


def test_a_result_of_ones_own_mechanism_needs_it_to_run_again(audits):
    result = audits("events, function of reals, delta 0", claim=0.2)
    with pytest.raises(ValueError, match="would import code"):
        dpjax.rerun(result)
    built_in = audits("events, built in, delta 0", claim=0.2)
    assert dpjax.rerun(built_in).witness == built_in.witness
