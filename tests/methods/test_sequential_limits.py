"""How a time limit ends a sequential audit, and outputs that cannot be stored."""

import types

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, Sequential


def noisy(count, seed):
    return np.random.default_rng(seed).laplace(count)


@pytest.fixture(scope="module")
def whole():
    """Return draws, bounds and wealth after each block of an audit without a time limit."""
    subject = HostMechanism(noisy, batched=False)
    return path(dpjax.audit(subject, [(0, 1)], method=Sequential(200), claim=1.5))


class Slow:
    """A function whose calls move a clock that the audit reads.

    Args:
        seconds: Function from the number of earlier calls to the seconds that a call takes.
    """

    def __init__(self, monkeypatch, seconds):
        self.now, self.calls, self.seconds = 0.0, 0, seconds
        clock = types.SimpleNamespace(perf_counter=lambda: self.now)
        for name in ("_draw_times", "_sequential", "_walk"):
            monkeypatch.setattr(f"dpjax.methods.{name}.time", clock)
        self.mechanism = HostMechanism(self.drawn, batched=False)

    def drawn(self, count, seed):
        self.now += self.seconds(self.calls)
        self.calls += 1
        return noisy(count, seed)

    def audited(self, **options):
        method = Sequential(200, **options)
        return dpjax.audit(self.mechanism, [(0, 1)], method=method, claim=1.5)


def path(result):
    return result.evidence.counted.path


def test_an_audit_ends_after_the_block_in_which_its_time_ends(monkeypatch, whole):
    """One call takes 900 s: the limit of 500 s ends within the third block of bets."""
    drawn = [draws for draws, *_ in whole]
    slow = Slow(monkeypatch, lambda calls: 900.0 if calls == 2 * drawn[2] + 1 else 1.0)
    result = slow.audited(seconds=500.0)
    assert path(result) == whole[:4] and slow.calls == 2 * drawn[3] < 500
    assert "in 4 blocks: the time limit was reached" in result.notes[-1]


def test_no_block_is_drawn_in_time_for_less_than_one_draw(monkeypatch, whole):
    """A draw takes two calls of one second, and one second is left after three blocks."""
    slow = Slow(monkeypatch, lambda calls: 1.0)
    result = slow.audited(seconds=2.0 * whole[2][0] + 1.0)
    assert path(result) == whole[:3] and slow.calls == 2 * whole[2][0]
    assert "in 3 blocks: the time limit was reached" in result.notes[-1]


def test_results_that_hold_outputs_are_equal_after_reading():
    def varied(count, seed):
        rng = np.random.default_rng(seed)
        return {"sum": count + rng.normal(), "kind": "a"} if rng.random() < 0.5 else None

    result = dpjax.audit(
        HostMechanism(varied, batched=False), [(0, 1)], method=Sequential(170), claim=1.0
    )
    assert result.evidence.counted.held is not None
    assert dpjax.AuditResult.from_json(result.to_json()) == result


def test_outputs_that_json_cannot_hold_are_not_laid_again():
    """The result contains the first outputs, but it cannot contain bytes."""

    def shown(count, seed):
        return (b"no", b"yes")[int(np.random.default_rng(seed).random() < 0.3 + 0.4 * count)]

    subject = HostMechanism(shown, batched=False)
    result = dpjax.audit(subject, [(0, 1)], method=Sequential(170), claim=1.0)
    assert result.evidence.counted.held is None
    with pytest.raises(ValueError, match="first outputs are labels that JSON cannot represent"):
        dpjax.resume(result, subject, num_draws=400)


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "totals"), [(2, range(33, 64)), (3, range(49, 70, 3))])
def test_the_smallest_totals_leave_no_draws_for_a_look(pairs, totals):
    """16 draws of each pair determine its cells; for some totals, bets use all others."""
    subject = HostMechanism(noisy, batched=False)
    levels = [(0, 1), (0, 2), (0, 3)][:pairs]
    for total in totals:
        result = dpjax.audit(subject, levels, method=Sequential(total), key=total)
        assert total - pairs < path(result)[-1][0] <= total
        assert 0 <= result.lower_bound <= pairs
