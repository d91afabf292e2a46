"""A server that draws outputs of a case in the environment of a release.

The server imports only the standard library, because dpjax is not installed in the environment.
Each line of input is a database in JSON. The server answers each line with a line of JSON: an
output, or {"error": TYPE} if the draw raises an exception of type TYPE.
"""

import json
import os
import runpy
import sys
import warnings


def plain(value):
    """Convert a value to JSON types, which include NaN and Infinity."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)


def one(draw, line):
    """Draw one output for the database that a line of JSON contains."""
    database = json.loads(line)
    try:
        return plain(draw(database))
    except Exception as error:
        return {"error": type(error).__name__}


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
        answers.write(json.dumps(one(draw, line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
