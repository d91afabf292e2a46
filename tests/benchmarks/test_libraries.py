"""Objects of public libraries keep their claims, and a tenth of each is refuted.

The libraries draw from the system's randomness, so no key is fixed. Each bound has a confidence of
1 - 1e-6, which is the rate of a false alarm. With these few samples, an audit in a thousand chooses
a pair that shows less than a tenth of the claim, so one of three audits must show a tenth.
"""

import pytest

from benchmarks.libraries import CASES, PACKAGES, audited, gaussian_epsilon

DRAWS, PAIRS, AUDITS = 4_000, 16, 3
"""Samples per side, proposed pairs, and largest number of audits of an object."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", CASES)
def test_claims_hold_and_a_tenth_of_them_does_not(library):
    pytest.importorskip(library)
    for title, case in CASES[library]().items():
        assert any(shows_a_tenth(case, title, key) for key in range(AUDITS)), title


def shows_a_tenth(case, title, key):
    """Return whether an audit refutes a tenth of the claim; check that the claim is not refuted."""
    result = audited(case, key, draws=DRAWS, num_pairs=PAIRS, confidence=1 - 1e-6)
    assert result.verdict == "not refuted", title
    # With so few draws, events that are rarer than delta do not lead to a bound.
    return bool(result.recipe["notion"].get("delta")) or result.lower_bound > result.claim / 10


def test_every_library_is_a_package():
    assert set(CASES) == set(PACKAGES)


def test_the_level_of_gaussian_noise():
    """Balle and Wang (2018): delta of scale 1 at epsilon 1 is Phi(-1/2) - e Phi(-3/2)."""
    assert gaussian_epsilon(1.0, 0.30853753872598689 - 2.718281828459045 * 0.066807201268858) == (
        pytest.approx(1.0, abs=1e-9)
    )
