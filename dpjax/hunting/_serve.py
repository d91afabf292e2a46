"""A server that draws outputs of a case in the environment of a release.

The server imports only the standard library, because dpjax is not installed in the environment.
Each line of input is a database in JSON. The server answers each line with a line of JSON: an
output, or {"error": TYPE} if the draw raises an exception of type TYPE. If dpjax cannot audit an
output, the answer is not JSON, but "!" and the reason.
"""

import json
import os
import re
import runpy
import sys
import warnings

_ADDRESS = re.compile(" at 0x[0-9A-Fa-f]{4}")


class Unsupported(Exception):
    """Exception for an output that dpjax cannot audit."""


def plain(value):
    """Convert a value to JSON types, which include NaN and Infinity.

    Raises:
        Unsupported: If the repr of an object shows a memory address.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {text_of(name, str): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return text_of(value, repr)


def text_of(value, convert):
    """Convert a value to text, unless the text would show an address instead of the value."""
    text = convert(value)
    if not isinstance(value, (str, bytes, bytearray)) and _ADDRESS.search(text):
        # An address differs between objects with the same contents, so it would hide the contents.
        raise Unsupported(
            "draw must return numbers, strings, or lists or dicts of them, but returned an object "
            f"of type {type(value).__name__}, whose repr shows a memory address: return the "
            "object's contents"
        )
    return text


def answer(draw, line):
    """Return the line that answers a request: an output for the database in a line of JSON."""
    database = json.loads(line)
    try:
        found = plain(draw(database))
    except Unsupported as error:
        return f"!{error}"
    except Exception as error:
        found = {"error": type(error).__name__}
    return json.dumps(found)


def main():
    """Answer each line of standard input until standard input ends."""
    # Redirect standard output so that text printed by the library is not read as an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    # A case may import modules from its folder.
    sys.path.append(os.path.dirname(sys.argv[1]))
    draw = runpy.run_path(sys.argv[1], run_name="dpjax_case")["draw"]
    for line in sys.stdin:
        answers.write(answer(draw, line) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
