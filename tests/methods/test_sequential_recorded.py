"""Sequential audits of recorded outputs, which continue when there are more outputs."""

import json

import numpy as np
import pytest

import dpjax
from dpjax import Recorded, Sequential
from dpjax.core.seals import seal_of

CLAIM = {"claim": 1.0, "method": Sequential()}


def laplace(size, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.laplace(0.0, scale, size), rng.laplace(1.0, scale, size)


def names(size):
    rng = np.random.default_rng(0)
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    return [np.array(["a", "b", "c"])[rng.choice(3, size, p=share)] for share in shares]


def vectors(size):
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (size, 3)), rng.normal(1, 1, (size, 3))


def counted(result):
    """Return the number of counted outputs on each side."""
    return result.evidence.counted.wealth.draws[0].tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("outputs", [laplace(6_000, scale=0.5), names(6_000), vectors(6_000)])
def test_a_claim_below_the_level_is_refuted(outputs):
    """Levels are 2, ln 2.5 and infinite; a false alarm has probability at most .001."""
    result = dpjax.audit(Recorded(*outputs), claim=0.5, method=Sequential())
    assert result.verdict == "violated" and not result.doubts
    assert result.settings["drawn"] < 5_000


def test_without_a_claim_all_outputs_are_spent_and_one_look_is_taken():
    result = dpjax.audit(Recorded(*laplace(60_000)), method=Sequential())
    assert counted(result) == [60_000, 60_000] and result.basis == "betting, one look"
    # The confirmation uses 72%: three standard errors of the log ratio are .034.
    assert 0.9 < result.lower_bound < 1.0


def test_an_audit_goes_on_over_longer_recordings():
    """Each output is counted once for any chunks, and equal calls have equal results."""
    x, y = laplace(30_000)
    result = dpjax.audit(Recorded(x[:3_000], y[:3_500]), **CLAIM)
    assert counted(result) == [3_000, 3_000]
    assert "y has 500 more outputs than x" in " ".join(result.notes)
    for size in (3_001, 8_000, 30_000):
        text = result.to_json()
        result = dpjax.resume(text_result(text), Recorded(x[:size], y[:size]))
        assert counted(result) == [size, size]
    bounds = [bound for _, bound, _ in result.evidence.counted.path]
    assert bounds == sorted(bounds) and 0.9 < result.lower_bound < 1.0
    again = dpjax.audit(Recorded(x[:3_000], y[:3_500]), **CLAIM)
    for size in (3_001, 8_000, 30_000):
        again = dpjax.resume(again, Recorded(x[:size], y[:size]))
    assert again.evidence.counted == result.evidence.counted


def text_result(text):
    return dpjax.AuditResult.from_json(text)


def test_every_output_is_counted_once():
    x, y = names(5_000)
    result = dpjax.audit(Recorded(x[:2_500], y[:2_500]), **CLAIM)
    result = dpjax.resume(result, Recorded(x, y))
    wealth = result.evidence.counted.wealth
    for side, outputs in ((wealth.first, x), (wealth.second, y)):
        assert sorted(side[0][side[0] > 0]) == sorted(np.unique(outputs, return_counts=True)[1])


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda x: x[:4_000], id="fewer"),
        pytest.param(lambda x: np.delete(x, 2_000), id="one is missing"),
        pytest.param(lambda x: np.append(x[5_000:], x[:5_000]), id="another order"),
        pytest.param(lambda x: np.append(x[:1_500], x[1_499:]), id="one is there twice"),
        pytest.param(lambda x: x + 0.5, id="others"),
    ],
)
def test_outputs_that_were_counted_must_still_be_there(changed):
    x, y = laplace(9_000)
    result = dpjax.audit(Recorded(x[:5_000], y[:5_000]), **CLAIM)
    with pytest.raises(ValueError, match="the audit cannot be continued"):
        dpjax.resume(result, Recorded(changed(x), y))


def test_an_order_is_a_doubt_also_where_few_outputs_refute():
    x, y = laplace(20_000)
    result = dpjax.audit(Recorded(np.sort(x), y), **CLAIM)
    assert result.verdict == "doubtful" and "sorted" in result.doubts[0]
    known = dpjax.audit(Recorded(np.sort(x), y, independent=True), **CLAIM)
    assert known.verdict == "violated"


def place_of(*path):
    """Return a result with one changed value."""

    def change(content, value):
        *parents, last = path
        for part in parents:
            content = content[part]
        content[last] = value(content[last])

    return change


_BETS = ("evidence", "counted", "wealth")


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (place_of("statement", "claim"), lambda claim: 5.0),
        (place_of("statement", "confidence"), lambda confidence: 0.5),
        (place_of("statement", "num_claims"), lambda number: 100),
        (place_of("recipe", "distance"), lambda distance: 2),
        (place_of("evidence", "counted", "error"), lambda error: error / 10),
        (place_of(*_BETS, "error"), lambda error: 1e-30),
        (place_of(*_BETS, "claim"), lambda claim: None),
        (place_of(*_BETS, "grid"), lambda grid: [*grid[:-1], 2 * grid[-1]]),
        (place_of(*_BETS, "log_wealth"), lambda wealth: [[-1e6 for _ in row] for row in wealth]),
        (place_of(*_BETS, "is_refuted"), lambda refuted: [True for _ in refuted]),
        (place_of(*_BETS, "first"), lambda counts: [[-count for count in row] for row in counts]),
    ],
)
def test_a_result_that_was_edited_is_not_continued(change, value):
    x, y = laplace(3_000)
    first = dpjax.audit(Recorded(x[:1_000], y[:1_000]), **CLAIM)
    assert first.lower_bound > 0
    content = json.loads(first.to_json())
    change(content, value)
    with pytest.raises(ValueError, match=r"cannot be continued: its bets|not a dpjax audit result"):
        dpjax.resume(dpjax.AuditResult.from_json(json.dumps(content)), Recorded(x, y))


def test_levels_that_another_processor_rounded_differently_are_accepted():
    x, y = laplace(3_000)
    content = json.loads(dpjax.audit(Recorded(x[:1_000], y[:1_000]), **CLAIM).to_json())
    wealth = content["evidence"]["counted"]["wealth"]
    wealth["grid"] = [
        level if level == wealth["claim"] else float(np.nextafter(level, 9))
        for level in wealth["grid"]
    ]
    path = content["evidence"]["counted"]["path"]
    del content["evidence"]["counted"]["seal"]
    content["evidence"]["counted"]["seal"] = seal_of(content["evidence"]["counted"])
    earlier = dpjax.AuditResult.from_json(json.dumps(content))
    found = dpjax.resume(earlier, Recorded(x, y)).evidence.counted
    assert found.wealth.draws[0, 0] == 3_000 and found.path[: len(path)] == [*map(tuple, path)]


def test_an_edited_state_is_refused():
    """The edits are consistent with all other values in the state."""
    x, y = laplace(1_000)
    text = dpjax.audit(Recorded(x, y), **CLAIM).to_json()

    def edited(*names, change):
        content = json.loads(text)
        inner = content["evidence"]["counted"]
        for name in names[:-1]:
            inner = inner[name]
        inner[names[-1]] = change(inner[names[-1]])
        return json.dumps(content)

    places = ("shown", 0), ("path", 0, 0), ("wealth", "num_blocks"), ("wealth", "shared", 0, 0)
    for names in places:
        # The IDs in `shared` are 0 and 1.
        change = (lambda value: 1 - value) if "shared" in names else (lambda value: value + 1)
        with pytest.raises(ValueError, match="the state of the sequential audit was changed or"):
            dpjax.AuditResult.from_json(edited(*names, change=change))
    # Another program may write an integer as a float, and earlier versions wrote no checksum.
    for names, change in ((("wealth", "first", 0, 0), float), (("seal",), lambda _: None)):
        assert dpjax.AuditResult.from_json(edited(*names, change=change)).lower_bound > 0


def test_copies_are_a_doubt_and_blocks_are_refused():
    x, y = laplace(20_000)
    resample = np.random.default_rng(1).choice(x[:2_000], 20_000)
    assert dpjax.audit(Recorded(resample, y), **CLAIM).verdict == "doubtful"
    with pytest.raises(ValueError, match="blocks must be left out"):
        dpjax.audit(Recorded(x, y, blocks=5), **CLAIM)
    with pytest.raises(TypeError, match="of one kind"):
        dpjax.audit(Recorded(x, names(20_000)[1]), **CLAIM)


@pytest.mark.slow
def test_files_that_grow_are_read_on(tmp_path, monkeypatch):
    """Each call gets one more file per side; the counts of all calls are those of all outputs."""
    monkeypatch.chdir(tmp_path)
    x, y = laplace(12_000)
    result = None
    for day in range(4):
        part = slice(3_000 * day, 3_000 * (day + 1))
        for name, side in (("x", x), ("y", y)):
            np.savetxt(f"{name}-{day}.csv", side[part])
        recorded = Recorded(dpjax.Recording("x-*.csv"), dpjax.Recording("y-*.csv"))
        if result is None:
            result = dpjax.audit(recorded, **CLAIM)
        else:
            result = dpjax.resume(json_of(result, tmp_path), recorded)
        assert counted(result) == [3_000 * (day + 1)] * 2
    assert result.verdict == "not refuted" and result.lower_bound > 0.8


def json_of(result, folder):
    file = folder / "audit.json"
    file.write_text(result.to_json())
    assert json.loads(file.read_text())["recipe"]["method"]["name"] == "sequential"
    return file
