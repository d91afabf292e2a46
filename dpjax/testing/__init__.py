"""Privacy in a test-suite, in one line: `assert_private(mechanism, epsilon)`.

The pytest plugin that comes with dpjax adds `--dpjax-budget SECONDS` and a table of all audits.
"""

from dpjax.testing._assertions import DEFAULT_CONFIDENCE as DEFAULT_CONFIDENCE
from dpjax.testing._assertions import DEFAULT_DRAWS as DEFAULT_DRAWS
from dpjax.testing._assertions import assert_not_private as assert_not_private
from dpjax.testing._assertions import assert_private as assert_private
from dpjax.testing._budget import detectable_epsilon as detectable_epsilon
