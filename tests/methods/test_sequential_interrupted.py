"""Sequential audits that are cut short by a limit or an interrupt lose nothing."""

import numpy as np
import pytest

import dpjax
from dpjax import Sequential
from dpjax.inference import PLANNED
from dpjax.mechanisms import Laplace
from dpjax.methods import _sequential, _walk
from dpjax.methods._alarm import TimeUp

PAIR = [(0.0, 1.0)]
SHIFTS = [(0.0, 1.0)] * 3


def test_a_claim_refuted_in_a_block_cut_short_stays_refuted():
    """A full block with this key would not refute the claim; the level is 1."""
    first = dpjax.audit(Laplace(1.0), PAIR, claim=0.8, key=1, method=Sequential(1_106))
    assert first.verdict == "violated" and first.evidence.counted.before is not None
    more = dpjax.resume(first, num_draws=1_182)
    assert (more.verdict, more.lower_bound) == ("violated", first.lower_bound)
    assert "the claim was refuted" in more.notes[-1]


def test_outputs_that_cannot_be_drawn_again_are_not_replaced():
    """Replacing counted outputs with fresh ones would give a claim another chance per resume."""
    drawn = []

    def own_noise(count, size):
        drawn.append(size)
        return np.random.default_rng(len(drawn)).laplace(count, 1.0, size)

    subject = dpjax.HostMechanism(own_noise)
    first = dpjax.audit(subject, PAIR, claim=1.0, method=Sequential(12_000))
    drawn_first = sum(drawn)
    more = dpjax.resume(first, subject, num_draws=12_100)
    assert sum(drawn) - drawn_first == 2 * 100
    path = first.evidence.counted.path
    assert path[-1][0] == 12_000 and more.evidence.counted.path[: len(path)] == path
    assert more.lower_bound >= first.lower_bound


def noisy(count, size, rng):
    return rng.laplace(count, 1.0, size)


def own_noise(count, size):
    return np.random.default_rng().laplace(count, 1.0, size)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("interrupt", [TimeUp, KeyboardInterrupt])
@pytest.mark.parametrize(("function", "noted"), [(own_noise, True), (noisy, False)])
def test_outputs_of_calls_that_hang_are_replaced_only_with_a_note(
    monkeypatch, interrupt, function, noted
):
    """If calls with large outputs hang, resumed audits count only the small outputs."""
    subject, method = dpjax.HostMechanism(function), Sequential(2_000)

    def hangs(*given):
        raise interrupt

    with monkeypatch.context() as patch:
        patch.setattr(_walk.Walk, "_block", hangs)
        first = dpjax.audit(subject, PAIR, claim=2.0, method=method)
    assert not any("takes no seed" in note for note in first.notes)
    for num_draws in (2_000, 3_000):  # The note remains after a second resume.
        first = dpjax.resume(first, subject, num_draws=num_draws)
        assert any("takes no seed" in note for note in first.notes) == noted


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "claim"), [("recounted", 0.95), ("recounted", None), ("_lay", None)]
)
def test_an_interrupt_within_a_step_undoes_the_step(monkeypatch, name, claim):
    """The cells are determined again, but the counts in these cells do not exist yet."""
    subject, method, left = dpjax.HostMechanism(noisy), Sequential(4_000), [5]

    def interrupting(*given, **options):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return real(*given, **options)

    whole = dpjax.audit(subject, SHIFTS, claim=claim, method=method)
    owner = _walk if name == "recounted" else _walk.Walk
    real = getattr(owner, name)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupting)
        stopped = dpjax.audit(subject, SHIFTS, claim=claim, method=method)
    assert "the user stopped the audit" in stopped.notes[-1]
    counted = stopped.evidence.counted
    assert counted.path == whole.evidence.counted.path[: len(counted.path)]
    if claim is None:
        # All pairs have the same number of draws, so all cells are determined at once.
        assert len(set(counted.laid_by.tolist())) == 1
    else:
        more = dpjax.resume(stopped, subject, num_draws=4_000)
        assert more.evidence.counted.path == whole.evidence.counted.path


@pytest.mark.parametrize("batched", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_audit_with_labels_that_occurred_after_its_cells_were_chosen_goes_on(batched):
    def answer(count, rng):
        share = rng.random()
        return "rare" if share < 0.0002 else "often" if share < 0.5 else float(rng.laplace(count))

    def answers(count, size, rng):
        return [answer(count, rng) for _ in range(size)]

    subject = dpjax.HostMechanism(answers if batched else answer, batched=batched)
    first = dpjax.audit(subject, PAIR, claim=2.0, method=Sequential(8_000), key=0)
    more = dpjax.resume(first, subject, num_draws=9_000)
    assert more.evidence.counted.path[-1][0] == 9_000


def test_expected_bounds_of_cells_do_not_depend_on_the_number_of_draws(monkeypatch):
    asked = []

    def promised(terms, cells, halves, num_confirm, compared):
        asked.append(num_confirm)
        return float(halves.sum())

    def vectors(count, size, rng):
        return rng.laplace(count, 1.0, (size, 2))

    monkeypatch.setattr(_sequential, "promised", promised)
    for size in (100, 5_000):
        dpjax.audit(dpjax.HostMechanism(vectors), PAIR, claim=1.0, method=Sequential(size))
    assert {*asked} == {PLANNED}
