"""Notes on recorded vectors in which one entry has one value on each side."""

import numpy as np
import pytest

import dpjax


def recorded(tmp_path, of_x, of_y):
    """Return recordings of independent vectors, in which the column `run` has the given values."""
    rng = np.random.default_rng(0)
    sides = []
    for name, runs in (("x", of_x), ("y", of_y)):
        rows = zip(np.broadcast_to(runs, 400), rng.laplace(size=400), strict=True)
        path = tmp_path / f"{name}.csv"
        path.write_text("run,answer\n" + "".join(f"{run},{answer}\n" for run, answer in rows))
        sides.append(dpjax.Recording(str(path)))
    return dpjax.Recorded(*sides)


@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()])
def test_a_number_of_a_run_has_a_note(tmp_path, method):
    """The claim is true for the column `answer`, but the column `run` would refute it."""
    result = dpjax.audit(recorded(tmp_path, 17, 18), claim=1.0, method=method)
    (note,) = [note for note in result.notes if "number of a run" in note]
    assert note == (
        "Entry 'run' is 17 in all examined outputs of x (x.csv) and 18 in those of y (y.csv). If "
        "the mechanism does not release this entry, for instance because it is the number of a "
        "run, the bound does not hold: leave it out."
    )
    assert result.verdict == "violated"


@pytest.mark.parametrize(("of_x", "of_y"), [(17, 17), (17, [17, 18] * 200)])
def test_other_entries_have_no_note(tmp_path, of_x, of_y):
    result = dpjax.audit(recorded(tmp_path, of_x, of_y), claim=1.0)
    assert not any("number of a run" in note for note in result.notes)


def test_numbers_without_noise_have_no_note():
    """If nothing varies, the verdict shows that the outputs are not random."""
    x, y = np.tile([1.0, 2.0], (100, 1)), np.tile([1.0, 3.0], (100, 1))
    result = dpjax.audit(dpjax.Recorded(x, y), claim=1.0)
    assert not any("number of a run" in note for note in result.notes)
