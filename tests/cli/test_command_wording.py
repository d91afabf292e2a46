"""Messages of the library in the words of a command."""

import pytest

from dpjax.cli._audit_options import TABLE
from dpjax.cli._wording import in_options, options_of

OPTIONS = options_of(TABLE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("num_confirm (N) must exceed num_samples (n).", "--num-confirm (N) must exceed "
         "--num-samples (n)."),
        ("delta must be 0: use method=Events(), which counts.", "--delta must be 0: use --method "
         "events, which counts."),
        ("Local cannot audit; use dpjax.Histogram().", "--method local cannot audit; use --method "
         "histogram."),
        ("record its outputs as Recorded(x, y).", "record its outputs as --samples X Y."),
        ("wrap it as dpjax.HostMechanism.", "wrap it as --host."),
        ("bits 'x' is not known.", "--bits 'x' is not known."),
        ("with batched=False it is; or use workers=0.", "with --one-by-one it is; or use "
         "--workers 0."),
        ("which special='error' refuses", "which --special 'error' refuses"),
        ("say discrete=True if they are", "say --discrete if they are"),
        ("say discrete=False if they are", "say --continuous if they are"),
        ("pairs, inputs and input_interval are not accepted together.", "--pairs and --input-width "
         "are not accepted together."),
        ("lipschitz, input_lipschitz and output_interval are for", "--lipschitz, --input-lipschitz "
         "and --output-interval are for"),
    ],
)  # fmt: skip
def test_python_words_become_options(text, said):
    assert in_options(text, OPTIONS) == said


@pytest.mark.parametrize(
    "text",
    [
        "the command 'prog {database} {num_samples}' printed nothing; it has no {num_samples}.",
        "it must take the arguments (database, num_samples), and none besides.",
        "database and neighbor are equal in all pairs, and the region is a claim of its own.",
        "plot file must end in one of .png, .svg.",
        "samples file data/num_samples/x.npy does not exist.",
        "laplace(epsilon=1): the probability is 0.5.",
        "--num-samples is for NAME.",
        "the label 'num_samples' is not a number.",
        "Localised outputs.",
    ],
)
def test_all_else_stays(text):
    assert in_options(text, OPTIONS) == text


def test_options_are_written_as_they_are_typed():
    assert OPTIONS["as_json"] == "--json" and OPTIONS["discrete"] == "--discrete"
    assert OPTIONS["num_samples"] == "--num-samples" and "mechanism" not in OPTIONS
