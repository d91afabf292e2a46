"""Notes on row 1 of labels, and messages about folders and files without outputs."""

import numpy as np
import pytest

import dpjax
from dpjax.sources.readers import Recording

VOTES = np.random.default_rng(0).choice(["yes", "no"], 60)


def votes(path, first=(), labels=VOTES):
    path.write_text("\n".join([*first, *labels]) + "\n")
    return Recording(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_row_1_of_labels_may_be_a_name(tmp_path, suffix):
    x = votes(tmp_path / f"x{suffix}", ["vote"])
    y = votes(tmp_path / f"y{suffix}", ["vote"], VOTES[::-1])
    (note, other) = dpjax.audit(dpjax.Recorded(x, y), claim=1.0).notes[:2]
    assert note == (
        f"x{suffix}: Row 1, 'vote', is an output, too; if it is the name of the column, choose "
        "this column with column (--column)."
    )
    assert other.startswith(f"y{suffix}: Row 1, 'vote',")
    assert Recording(tmp_path / f"x{suffix}", "vote").notes == []


def test_other_rows_have_no_note(tmp_path):
    assert votes(tmp_path / "a.csv").notes == []
    assert votes(tmp_path / "b.csv", ["vote"], [f"{number}th" for number in range(60)]).notes == []
    assert votes(tmp_path / "c.csv", ["vote"], ["1.5", "2.5"] * 30).notes == []
    assert votes(tmp_path / "d.csv", ["vote"], []).notes == []
    assert votes(tmp_path / "e.csv", [], []).notes == []


def test_the_pattern_for_a_folder_fits_its_files(tmp_path):
    for folder, files, pattern in (
        ("side=x", ["_SUCCESS", "part-0.parquet", "part-1.parquet"], "*.parquet"),
        ("packed", ["part-0.jsonl.gz"], "*.jsonl.gz"),
        ("empty", [], "*.csv"),
        ("other", ["part-0.docx"], "*.csv"),
    ):
        (tmp_path / folder).mkdir()
        for file in files:
            (tmp_path / folder / file).touch()
        with pytest.raises(ValueError) as caught:
            Recording(tmp_path / folder)
        assert f"or a pattern of files, such as '{tmp_path / folder / pattern}'." in str(
            caught.value
        )


def test_a_part_without_outputs_is_to_be_left_out(tmp_path):
    """Spark writes such parts, but a part may also have been cut short."""
    votes(tmp_path / "part-0.csv", ["vote"])
    votes(tmp_path / "part-1.csv", ["vote"], [])
    with pytest.raises(ValueError, match=r"part-1\.csv holds no outputs: leave it out\."):
        list(Recording(str(tmp_path / "part-*.csv"), "vote").chunks())
    with pytest.raises(ValueError, match=r"part-1\.csv holds no outputs\."):
        list(Recording(tmp_path / "part-1.csv", "vote").chunks())
