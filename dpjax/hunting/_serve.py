"""Server of a case's outputs, requested by lines of JSON, in the environment of a release.

It stands alone, since its environment has no dpjax. The line of a database is answered by the line
of one output; an exception is {"error": its type}.
"""

import json
import os
import runpy
import sys
import warnings


def plain(value):
    """Convert to JSON types; numbers that JSON cannot name are Python's NaN and Infinity."""
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
    """Draw one output, at its own copy of the database."""
    database = json.loads(line)
    try:
        return plain(draw(database))
    except Exception as error:
        return {"error": type(error).__name__}


def main():
    """Answer lines until there are no more."""
    # Output that the library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    # Cases may share a module beside them.
    sys.path.append(os.path.dirname(sys.argv[1]))
    draw = runpy.run_path(sys.argv[1], run_name="dpjax_case")["draw"]
    for line in sys.stdin:
        answers.write(json.dumps(one(draw, line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
