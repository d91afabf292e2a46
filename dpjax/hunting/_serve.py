"""Draws outputs of a case, asked for by lines of JSON: all that runs beside a release.

It stands alone, since in its environment there is no dpjax. The line of a database is answered by
the line of one output; an exception is {"error": its type}.
"""

import json
import os
import runpy
import sys
import warnings


def plain(value):
    """What JSON holds; numbers that JSON has no word for are Python's NaN and Infinity."""
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
    """One output, at a database of its own."""
    database = json.loads(line)
    try:
        return plain(draw(database))
    except Exception as error:
        return {"error": type(error).__name__}


def main():
    """Answers until there are no more lines."""
    # What the library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    # Cases may share a module that lies beside them.
    sys.path.append(os.path.dirname(sys.argv[1]))
    draw = runpy.run_path(sys.argv[1], run_name="dpjax_case")["draw"]
    for line in sys.stdin:
        answers.write(json.dumps(one(draw, line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
