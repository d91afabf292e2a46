"""Audits of functions whose outputs are hardly ever equal, such as texts, lists and sets."""

import json
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.sources._kept import Kept

CONFIDENCE = 1 - 1e-5
WORDS = "the patient has a fever and reports pain in the chest since monday".split()
ALICE, BOB = "alice smith has gout", "bob jones has flu"
TEXTS = [([ALICE, BOB], [BOB])]
FEW = dpjax.Events(200, 600)
DEFINITION = {"python": "3", "mechanism": "a", "pairs": "b"}


def audited(function, pairs, method=FEW, **given):
    return dpjax.audit(function, pairs, method=method, confidence=CONFIDENCE, **given)


def unrelated(rng):
    return " ".join(rng.choice(WORDS, 20))


def repeated(records, rng):
    """Return a text that quotes three words of the first record in one of four calls."""
    quoted = records[0].split()[:3] if rng.random() < 0.25 else []
    return " ".join([unrelated(rng), *quoted, unrelated(rng)])


def test_a_text_that_quotes_a_record_is_found():
    result = audited(repeated, TEXTS)
    assert result.lower_bound > 1
    assert "Hardly any two outputs are equal" in result.notes[0]


def test_texts_without_leaks_have_no_bound():
    assert audited(lambda records, rng: unrelated(rng), TEXTS).lower_bound == 0


def test_few_texts_are_enough():
    def quoting(records, rng):
        return f"{unrelated(rng)} {records[0]}"

    assert audited(quoting, TEXTS, dpjax.Events(20, 60)).lower_bound > 1


REPORTS = {
    "text": lambda x: f"The noisy count is {x:.6f} persons.",
    "json": lambda x: json.dumps({"count": x, "unit": "persons"}),
    "dict": lambda x: {"text": f"about {x!r}", "unit": "persons"},
    "list": lambda x: [x] * (1 + (x > 2)) + ["persons"],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", REPORTS)
def test_numbers_in_texts_are_compared(kind):
    """The number has Laplace noise, so the level is 1.

    The event "above 1" has the probabilities 1/2 and exp(-1)/2. From 5,000 draws per side, the
    standard deviation of its estimated level is 0.035; the bound is at most nine of them lower.
    """

    def report(count, rng):
        return REPORTS[kind](count + rng.laplace())

    result = audited(report, [(0.0, 1.0)], dpjax.Events(1000, 5000))
    assert 0.65 < result.lower_bound <= 1


VALUES = {
    "date": lambda days: date(2000, 1, 1) + timedelta(days=round(200 * days)),
    "date of NumPy": lambda days: np.datetime64("2000-01-01") + round(200 * days),
    "Decimal": lambda x: Decimal(round(200 * x)),
    "huge integer": lambda x: 2**60 + round(200 * x),
}


@pytest.mark.parametrize("kind", VALUES)
def test_dates_and_huge_numbers_are_compared_although_some_are_equal(kind):
    """The number has Laplace noise, so the level is 8 / 4 = 2, and some of the outputs are equal.

    The event "above 8" has the probabilities 1/2 and exp(-2)/2. From 1,000 draws per side, the
    standard deviation of its estimated level is 0.12; the bound is at most ten of them lower.
    """

    def noisy(count, rng):
        return VALUES[kind](count + rng.laplace(0, 4))

    result = audited(noisy, [(0.0, 8.0)], dpjax.Events(300, 1000))
    assert 0.8 < result.lower_bound <= 2


def test_lists_of_different_lengths():
    """A list of the first answers, of which the last one is "above", as in a sparse vector query.

    Whether the list has one entry is a fair or a biased coin: the level is ln(0.75 / 0.25).
    """

    def until_above(bias, rng):
        return [False] * (rng.random() < bias) + [True]

    result = audited(until_above, [(0.25, 0.75)], dpjax.Events(500, 4000))
    assert 0.8 < result.lower_bound <= np.log(3)
    assert "Hardly any" not in "".join(result.notes)

    def noisy(size, rng):
        return rng.normal(size=rng.integers(size, size + 4)).tolist()

    result = audited(noisy, [(2, 3)], dpjax.Events(500, 1000))
    assert result.lower_bound > 1


def test_lists_of_one_number_are_compared_with_longer_lists():
    """Lists of one and of two entries occur equally often. Only the first entry depends on data."""

    def noisy(shift, rng):
        return rng.normal(4 * shift, 1, rng.integers(1, 3)).tolist()

    result = audited(noisy, [(0, 1)], dpjax.Events(200, 400))
    assert result.lower_bound > 1
    assert result.notes[1:] == ()


def test_the_note_names_numbers_beside_texts():
    def sometimes(shift, rng):
        return unrelated(rng) if rng.random() < 0.8 else float(rng.normal(8 * shift))

    result = audited(sometimes, [(0, 1)], dpjax.Events(100, 100))
    assert "numbers that summarize each output: a number; " in result.notes[0]


@pytest.mark.parametrize("kind", [set, frozenset, np.array])
def test_lists_of_sets_and_of_arrays(kind):
    def places(share, rng):
        words = rng.choice(WORDS, 8).tolist()
        return [kind(words), kind(["home"] if rng.random() < share else ["work"])]

    result = audited(places, [(0.05, 0.8)], dpjax.Events(100, 200))
    assert result.lower_bound > 1
    assert "Hardly any two outputs are equal" in result.notes[0]


@pytest.mark.slow
def test_entries_of_long_lists_of_labels():
    """Each of 20 entries is a fair coin, except for the third one, which is biased: ln(3)."""

    def answers(bias, rng):
        coins = rng.random(20) < np.where(np.arange(20) == 2, bias, 0.5)
        return np.where(coins, "yes", "no").tolist()

    result = audited(answers, [(0.25, 0.75)], dpjax.Events(2000, 4000))
    assert 0.8 < result.lower_bound <= np.log(3)
    assert "entry 2 is" in result.witness.event


@pytest.mark.parametrize("nested", [False, True])
def test_a_list_that_every_call_modifies_and_returns(nested):
    words: list[str] = []

    def modified(share, rng):
        words[:] = rng.choice(WORDS, 8).tolist()
        if rng.random() < share:
            words.append("flu")
        return output

    output = {"words": words} if nested else words
    result = audited(modified, [(0.05, 0.8)], dpjax.Events(100, 200))
    assert result.verdict == "no claim" and result.lower_bound > 1


def test_answers_of_a_chat():
    """A chat is a list of messages, which is a table with a column of texts."""

    def chat(records, rng):
        answer = {"role": "assistant", "content": repeated(records, rng)}
        return [{"role": "user", "content": unrelated(rng)}, answer]

    assert audited(chat, TEXTS, dpjax.Events(100, 200)).lower_bound > 0.5


@pytest.mark.slow
def test_sets():
    """Each of 30 members is in the set with probability 1/2, except for one: ln(3)."""

    def members(bias, rng):
        return {f"m{n}" for n in range(30) if rng.random() < (bias if n == 7 else 0.5)}

    result = audited(members, [(0.25, 0.75)], dpjax.Events(2000, 4000))
    assert 0.8 < result.lower_bound <= np.log(3)
    assert "contains 'm7'" in result.witness.event


def test_frequent_texts_remain_labels():
    """A message has the probability 0.1 for one database and 0.5 for the other."""

    def sometimes(share, rng):
        return "the query was refused" if rng.random() < share else unrelated(rng)

    result = audited(sometimes, [(0.1, 0.5)], dpjax.Events(1000, 4000))
    assert 1.2 < result.lower_bound <= np.log(5)
    assert "'the query was refused'" in result.witness.event


def test_labels_that_repeat_are_not_summarized():
    def name(shift, rng):
        return f"the color {rng.integers(40) + shift}"

    result = audited(name, [(0, 1)], dpjax.Events(1000, 2000))
    assert "Hardly any" not in "".join(result.notes)


def test_equal_batches_are_not_random_before_and_after():
    """The search set and the confirmation set are the same 300 texts."""

    def frozen(records, num_samples):
        rng = np.random.default_rng(len(records))
        return [unrelated(rng) for _ in range(num_samples)]

    result = audited(frozen, TEXTS, dpjax.Events(300, 300))
    assert result.verdict == "not random"


@pytest.mark.slow
def test_a_batch_with_shared_noise_is_doubtful():
    def shared(records, num_samples, rng):
        shift = rng.normal(0, 3)
        return [f"{unrelated(rng)} {shift + rng.normal()}" for _ in range(num_samples)]

    mechanism = dpjax.HostMechanism(shared, batch_size=200)
    result = audited(mechanism, TEXTS, dpjax.Events(1000, 1000))
    assert result.verdict == "doubtful"
    assert "two batches of outputs have different distributions" in result.doubts[0]


@pytest.mark.slow
def test_calls_that_depend_on_earlier_calls_are_doubtful():
    state = {"word": 0.0}

    def walk(records, rng):
        state["word"] = 0.99 * state["word"] + rng.normal()
        return f"{unrelated(rng)} {state['word']:.5f}"

    assert audited(walk, TEXTS, dpjax.Events(1000, 1000)).verdict == "doubtful"


def test_kept_outputs_are_summarized_like_later_ones():
    rng = np.random.default_rng(8)
    texts = [unrelated(rng) for _ in range(60)]
    encoder = Encoder("it")
    kept = Kept([encoder], 100, lambda: DEFINITION)
    for start in (0, 20):  # Two batches of labels, of which the second is summarized later.
        kept.add(0, 0, encoder.encode(texts[start : start + 20]), start)
    encoder.fixed([kept.first(0, 0, start, start + 20) for start in (0, 20)])
    kept.add(0, 0, encoder.encode(texts[40:]), 40)
    again = encoder.encode(texts)
    for found in (kept.first(0, 0, 0, 60), restored(kept)):
        np.testing.assert_array_equal(found.values, again.values)
        np.testing.assert_array_equal(found.labels, again.labels)
    assert encoder.is_reduced and again.values.any(axis=0).all() and not again.alone.any()


def test_kept_outputs_are_converted_only_when_they_are_read(monkeypatch):
    """Expensive outputs come one by one, so a conversion for each of them would be quadratic."""
    encoder, converted = Encoder("it"), []
    padded = encoder.padded
    monkeypatch.setattr(encoder, "padded", lambda part: converted.append(1) or padded(part))
    kept = Kept([encoder], 100, lambda: DEFINITION)
    for start in range(60):
        kept.add(0, 0, encoder.encode([f"text {start}"]), start)
        assert kept.number(0, 0) == start + 1 and not converted
    assert len(kept.first(0, 0, 0, 60).labels) == 60 and len(converted) <= 61
    assert len(kept.first(0, 0, 30, 60).labels) == 30 and len(converted) <= 62


def restored(kept):
    """Return the outputs of kept outputs that were written and read."""
    other = Kept([Encoder("it")], 100, lambda: DEFINITION)
    other.restore(json.loads(json.dumps(kept.to_plain())))
    return other.first(0, 0, 0, 60)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [" ".join, set, tuple])
def test_a_sequential_audit_is_continued_bit_by_bit(kind):
    def quoted(records, rng):
        words = rng.choice(WORDS, 20).tolist()
        return kind(words + records[0].split() if rng.random() < 0.3 else words)

    def run(num_draws):
        return dpjax.Sequential(num_draws=num_draws)

    whole = audited(quoted, TEXTS, run(1500), claim=50.0)
    part = audited(quoted, TEXTS, run(100), claim=50.0)
    again = dpjax.resume(part, quoted, TEXTS, num_draws=1500)
    assert whole.lower_bound == again.lower_bound > 0.5
    assert whole.witness.event == again.witness.event


@pytest.mark.slow
def test_recorded_lists(tmp_path):
    """Each of 20 entries is a fair coin, except for the third one, which is biased: ln(3)."""
    rng = np.random.default_rng(6)
    for name, bias in (("x", 0.25), ("y", 0.75)):
        coins = rng.random((6000, 20)) < np.where(np.arange(20) == 2, bias, 0.5)
        lines = [json.dumps(row) for row in np.where(coins, "yes", "no").tolist()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    recordings = [dpjax.Recording(tmp_path / f"{side}.jsonl") for side in "xy"]
    result = dpjax.audit(dpjax.Recorded(*recordings), confidence=CONFIDENCE)
    assert 0.8 < result.lower_bound <= np.log(3)
    assert "entry 2 is" in result.witness.event


@pytest.mark.slow
@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()])
def test_recorded_texts(tmp_path, method):
    rng = np.random.default_rng(5)
    for name, records in (("x", [ALICE, BOB]), ("y", [BOB])):
        texts = [repeated(records, rng) for _ in range(1500)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, texts)))
    recordings = [dpjax.Recording(tmp_path / f"{side}.jsonl") for side in "xy"]
    result = dpjax.audit(dpjax.Recorded(*recordings), method=method, confidence=CONFIDENCE)
    assert result.lower_bound > 1
    assert "Hardly any two outputs are equal" in "".join(result.notes)


def test_of_equal_numbers_the_simplest_is_named():
    """Whether there are 20 or 21 entries, the last one says the same as the number of entries."""

    def longer(share, rng):
        return [*rng.normal(size=20).tolist(), *([7.0] if rng.random() < share else [])]

    result = audited(longer, [(0.05, 0.8)], dpjax.Events(100, 200))
    assert "entry 'number of entries' " in result.witness.event and result.lower_bound > 1


def test_names_with_quotes_are_not_quoted_again():
    def sometimes(share, rng):
        return f"{unrelated(rng)} {'flu' if rng.random() < share else 'gout'} {unrelated(rng)}"

    result = audited(sometimes, [(0.05, 0.8)], dpjax.Events(100, 200))
    assert "a vector with entry [count of 'flu'] of at " in result.witness.output
    assert "each output: count of 'flu'; count of 'gout'; " in result.notes[0]


def test_letter_case_is_compared():
    """One word in 100 different words is written in capitals, at any place."""
    words = np.array([f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(650)])

    def shouted(share, rng):
        found = rng.choice(words, 100).tolist()
        place = rng.integers(100)
        found[place] = found[place].upper() if rng.random() < share else found[place]
        return " ".join(found)

    result = audited(shouted, [(0.05, 0.8)], dpjax.Events(100, 200))
    assert result.lower_bound > 1
    assert "'number of capitals'" in result.witness.event


@pytest.mark.slow
def test_a_rare_word_is_not_hidden_by_words_that_differ_by_chance():
    """It occurs in 5% of the neighbor's texts; a score of 128 words showed only 1.6 before."""

    def text(secret, seed):
        rng = np.random.default_rng(seed)
        words = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in rng.zipf(1.3, 120) % 600]
        if rng.random() < secret:
            words[rng.integers(70, 120)] = "secret"
        return " ".join(words)

    result = dpjax.audit(text, [(0.0, 0.05)], method=dpjax.Events(1000, 6000))
    assert result.lower_bound > 3.5 and "'secret'" in str(result.witness)


@pytest.mark.slow
@pytest.mark.parametrize(("of_text", "least"), [(True, 1.2), (False, 0.6)])
def test_texts_beside_more_numbers_are_summarized_and_the_numbers_compared(of_text, least):
    """60% of outputs are numbers. A word is 7 times as likely, or the level of the numbers is 1."""

    def output(side, seed):
        rng = np.random.default_rng(seed)
        if rng.random() < 0.6:
            return rng.laplace() + (not of_text) * 1.5 * side
        words = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in rng.integers(0, 300, 20)]
        if of_text and rng.random() < 0.1 + 0.6 * side:
            words[rng.integers(20)] = "secret"
        return " ".join(words)

    result = dpjax.audit(output, [(0, 1)], method=dpjax.Events(2000, 6000))
    assert least < result.lower_bound < 1.95
    assert "Hardly any two outputs are equal" in result.notes[0]


def test_rare_texts_beside_numbers_remain_labels():
    for number, is_reduced in ((990, False), (900, True)):
        encoder, rng = Encoder("it"), np.random.default_rng(0)
        sides = [
            [*rng.normal(size=number), *(unrelated(rng) for _ in range(1000 - number))]
            for _ in range(2)
        ]
        encoder.fixed([encoder.encode(side) for side in sides])
        assert encoder.is_reduced == is_reduced
