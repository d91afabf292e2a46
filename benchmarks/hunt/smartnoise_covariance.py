"""The covariance is computed before the records are clipped."""

package, releases = "smartnoise-synth", ["1.0.5", "1.0.8"]
# The covariance module works without the deep-learning packages that the package requires.
dependencies, requires = False, ["numpy", "pandas"]
claim = 1.0
like = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8], [0.9, 0.5]]
relation, domain = "change-one", {"bounds": (0, 100)}
reported = "opendp/smartnoise-sdk issue 622"

_made = []


def draw(rows):
    import importlib.util
    from pathlib import Path

    import pandas as pd

    if not _made:
        home = Path(importlib.util.find_spec("snsynth").origin).parent
        runs = importlib.util.spec_from_file_location("cov", home / "models" / "dp_covariance.py")
        _made.append(importlib.util.module_from_spec(runs))
        runs.loader.exec_module(_made[0])
    ranges = pd.DataFrame({0: [0.0, 1.0], 1: [0.0, 1.0]})
    release = _made[0].DPcovariance(len(rows), [0, 1], ranges, 1.0)
    return [float(value) for value in release.release(pd.DataFrame(rows))]
