"""Numbers that summarize texts, sequences, sets and dicts, counted by hand."""

import time
from collections import deque
from datetime import date

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.partitions._nested import form_of
from dpjax.partitions.summaries import summarize, summarize_parts
from dpjax.partitions.targets import targets_of


def test_words_of_a_text():
    found = summarize("the cat saw the dog, the end")
    assert found["number of characters"] == 28
    assert found["number of words"] == 8  # A punctuation mark is a word.
    assert found["different words"] == 6
    assert found["count of 'the'"] == 3 and found["count of ','"] == 1
    assert found["count of 'saw' before 'the'"] == 1
    assert found["word 1 is 'cat'"] == found["last word is 'end'"] == 1
    assert "word 2 is 'cat'" not in found and "count of 'end' before 'the'" not in found


def test_numbers_in_a_text():
    found = summarize("mean -3.5e2, of 17 values in [.25, 4.]")
    assert [found[f"number {place}"] for place in range(4)] == [-350, 17, 0.25, 4]
    assert "number 4" not in found and "count of '17'" not in found
    found = summarize("born on 1970-01-31, weighs -3 or x=+5 or 1e-2, 7-8")
    assert [found[f"number {place}"] for place in range(8)] == [1970, 1, 31, -3, 5, 0.01, 7, 8]
    assert found["count of '-'"] == 3
    assert summarize("about 1e999")["number 0"] == 2.0**500
    found = summarize("user17 has 5kg, x=5 and covid19 in [2.5]")
    assert [found[f"number {place}"] for place in range(3)] == [5, 5, 2.5]
    assert "number 3" not in found
    assert found["count of 'user17'"] == found["count of 'covid19'"] == found["count of 'kg'"] == 1


def test_characters_of_a_text_without_spaces():
    found = summarize("0110")
    assert found["number of characters"] == 4
    assert found["count of '1'"] == 2 and found["count of '0' before '1'"] == 1
    assert found["character 2 is '1'"] == found["last character is '0'"] == 1
    assert "number of words" not in found
    long = summarize("a" * 257)
    assert long["number of words"] == 1 and "number of characters" in long


@pytest.mark.parametrize("kind", [list, tuple, np.array, deque, pd.Series])
def test_sequences_of_numbers(kind):
    found = summarize(kind([4.0, 1.0, 1.0, 6.0]))
    expected = {
        "number of entries": 4, "mean entry": 3, "median entry": 4, "smallest entry": 1,
        "largest entry": 6, "different entries": 3, "entry 0": 4, "entry 3": 6, "last entry": 6,
        "deviation of entries": 4.5**0.5, "count of 1.0": 2,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_sequences_of_labels():
    found = summarize(["home", "work", "home", "gym"])
    expected = {
        "number of entries": 4, "different entries": 3, "count of 'home'": 2,
        "count of 'home' before 'work'": 1, "count of 'home' before 'gym'": 1,
        "entry 2 is 'home'": 1, "last entry is 'gym'": 1,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert "entry 1 is 'home'" not in found


def test_numbers_that_are_not_finite():
    found = summarize([1.0, np.nan, np.inf, 3.0])
    assert found["number of entries that are not finite"] == 2
    assert (found["mean entry"], found["entry 0"], found["last entry"]) == (2, 1, 3)
    assert "entry 1" not in found and np.isfinite(list(found.values())).all()
    assert summarize({"a": np.nan, "b": -np.inf}) == {"a is nothing": 1, "b is -inf": 1}


def test_sets():
    found = summarize({"a", "b"})
    assert found == {"number of entries": 2, "contains 'a'": 1, "contains 'b'": 1}
    numbers = summarize(frozenset({5, 2}))
    assert numbers["contains 5"] == 1
    assert (numbers["smallest member"], numbers["largest member"]) == (2, 5)
    assert summarize(set()) == {"number of entries": 0}


def test_dicts_and_nested_parts():
    found = summarize({"text": "red car", "at": {"x": 2, "y": True}, "kind": "a"})
    assert found["count of 'red' in text"] == 1
    assert (found["at.x"], found["at.y is True"]) == (2, 1)
    assert found["count of 'a' in kind"] == 1
    rows = summarize({"people": [{"age": 3.0}, {"age": 5.0}], "n": 2})
    assert (rows["mean of age in people"], rows["rows in people"], rows["n"]) == (4, 2, 2)
    ragged = summarize([[1.0, 2.0], [3.0]])
    assert (ragged["largest entry in entry 0"], ragged["number of entries in entry 1"]) == (2, 1)


def test_json_is_read():
    assert summarize('{"a": 1, "b": [2, 3]}') == summarize({"a": 1, "b": [2, 3]})
    assert summarize("[0.5, 1.5, 1]") == summarize([0.5, 1.5, 1])
    assert summarize("[no json]")["count of 'json'"] == 1
    assert "count of '['" in summarize("[" * 100_000 + " x")


def test_dates_and_other_scalars():
    assert summarize(date(1970, 1, 11)) == {"value in days since 1970-01-01": 10}
    assert summarize(2**70) == {"value": 2.0**70}
    assert summarize(b"\x01\x05")["mean byte"] == 3


def test_deep_parts_are_labels():
    deep: object = ["a", "b"]
    for _ in range(20):
        deep = [deep, "x"]
    assert len(summarize(deep)) < 100


TARGET = "alice smith has flu"


@pytest.mark.parametrize(
    ("text", "occurrences", "common", "longest"),
    [
        ("we saw that alice smith has flu today", 1, 4, 4),
        ("alice has a flu, alice smith", 0, 4, 2),
        ("flu smith", 0, 2, 1),
        ("nothing here", 0, 0, 0),
        (f"{TARGET}. {TARGET}", 2, 4, 4),
    ],
)
def test_targets_in_texts(text, occurrences, common, longest):
    for target in (TARGET, ("alice smith", "has flu"), {"name": "alice smith", "note": "has flu"}):
        found = summarize(text, [target])
        assert found["occurrences of target 0"] == occurrences
        assert found["words in common with target 0"] == common
        assert found["longest run of words of target 0"] == longest


def test_the_longest_run_of_words_is_that_of_a_search_for_every_run():
    rng = np.random.default_rng(0)
    for number in range(300):
        words = "ab" if number % 2 else "abcdef"
        one, other = (rng.choice([*words], rng.integers(1, 15)).tolist() for _ in range(2))
        runs = [
            one[start:end]
            for start in range(len(one))
            for end in range(start + 1, len(one) + 1)
            if f" {' '.join(one[start:end])} " in f" {' '.join(other)} "
        ]
        found = summarize(" ".join(one) + " .", [" ".join(other)])
        assert found["longest run of words of target 0"] == max(map(len, runs), default=0)


def test_long_targets_take_little_time():
    """A text quotes a record of 5,000 words; a loop over all lengths would take minutes."""
    words = np.random.default_rng(0).choice([*"abcdefghij"], 5_000).tolist()
    start = time.perf_counter()
    found = summarize(f"{' '.join(words)} x", [" ".join(words)])
    assert found["longest run of words of target 0"] == 5_000
    assert time.perf_counter() - start < 10


def test_numbers_of_targets_are_words():
    assert summarize("call 5551234 now", ["phone 5551234"])["words in common with target 0"] == 1


def test_targets_in_sequences_and_sets():
    assert summarize(["a", "b", "a"], ["a", "c"])["count of target 0"] == 2
    assert "count of target 1" not in summarize({"a", "b"}, ["a", "c"])


def test_targets_that_do_not_fit_a_part_are_ignored():
    found = summarize_parts({"rows": [{"age": 3}], "text": "bob"}, {"target 0": "bob"})
    assert found["occurrences of target 0 in text"] == 1


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array])
def test_records_in_which_two_collections_differ_are_targets(kind):
    one, other = kind(["ann 1", "bob 2", "cid 3"]), kind(["ann 1", "cid 3"])
    assert targets_of(one, other) == {"record 0 that only the database has": "bob 2"}
    assert targets_of(other, one) == {"record 0 that only the neighbor has": "bob 2"}
    assert targets_of(one, one) == {}


def test_records_occur_as_often_as_in_the_database():
    one, other = [{"a": 1}, {"a": 1}], [{"a": 1}]
    assert targets_of(one, other) == {"record 0 that only the database has": {"a": 1}}


def test_words_in_which_two_texts_differ_are_targets():
    found = targets_of("the code of bob is red fox", "the code of ann is blue")
    assert found == {
        "the words that only the database has": "bob red fox",
        "the words that only the neighbor has": "ann blue",
    }


@pytest.mark.parametrize("sides", [(1.0, 2.0), ({"a": 1}, {"a": 2}), ([*range(9)], [9])])
def test_other_databases_have_no_targets(sides):
    assert targets_of(*sides) == {}


def test_very_deep_lists():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert any("a deeply nested list" in name for name in summarize(deep))


def test_texts_in_data_frames_are_summarized():
    """A generated chat is a frame whose rows are summarized, and so are the words in them."""
    frame = pd.DataFrame({"role": ["a", "b"] * 6, "text": ["so it is", "no it is"] * 6})
    found = form_of(frame)
    numbers = dict(zip(found.entries, found.numbers, strict=True))
    name = "count of 'so' in text"
    assert (numbers["['rows']"], numbers[f"[{name!r}]"]) == (12, 6)


def test_capitals_of_a_text():
    assert summarize("We SAW Ann. 1 X")["number of capitals"] == 6
    assert summarize("Über ÄRGER, straße")["number of capitals"] == 6
    assert "number of capitals" not in summarize("no capitals")


def test_texts_in_json_are_read():
    """A program may print a text of several lines as JSON."""
    found = summarize('"the flu\\nthe flu"')
    assert found == summarize("the flu\nthe flu") and found["count of 'flu'"] == 2
    for text in ('"the flu', '"the" flu', '"\\"the\\" flu"', '"{}"'):
        assert summarize(text)["number of characters"] == len(text)


def test_a_dict_with_one_list_of_words_is_summarized_like_the_list():
    words = ["a", "b", "a", "c"]
    expected = {f"{name} in words": number for name, number in summarize(words, ["a"]).items()}
    for column in (words, tuple(words), np.array(words), np.array(words, object)):
        assert summarize({"words": column}, ["a"]) == expected
    assert expected["count of 'a' before 'b' in words"] == 1
    inner = summarize({"all": {"words": words}, "n": 2})
    assert inner["count of 'a' before 'b' in all.words"] == 1
    for table in (
        {"words": words, "n": [1, 2, 3, 4]},
        {"n": [1, 2, 3, 4]},
        {"n": np.arange(4, dtype=object)},
    ):
        assert summarize(table)["rows"] == 4


def test_long_lists_of_few_labels_are_compared_place_by_place():
    """Lists of many labels have as many combinations in fewer places."""
    few = [f"c{place % 16}" for place in range(600)]
    found = summarize(few)
    assert found["entry 500 is 'c4'"] == found["entry 511 is 'c15'"] == 1
    assert not any(name.startswith("entry 512 ") for name in found)
    many = summarize([*few[:16], "other", *few])
    assert many["entry 63 is 'c14'"] == 1
    assert not any(name.startswith("entry 64 ") for name in many)


def test_one_of_many_labels_that_differs():
    rng = np.random.default_rng(0)
    x, y = np.array(["up", "down"])[rng.integers(0, 2, (2, 300, 100))]
    y[:, 90] = "up"
    found = dpjax.audit(dpjax.Recorded(x.tolist(), y.tolist()), notion=dpjax.Epsilon())
    assert found.lower_bound > 2.5 and "[entry 90 is" in found.witness.event
