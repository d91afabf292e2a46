"""One-line privacy tests: `assert_private(mechanism, epsilon)`.

dpjax's pytest plugin adds the option `--dpjax-budget SECONDS` and prints a table of audits.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.testing._assertions import assert_not_private as assert_not_private
    from dpjax.testing._assertions import assert_private as assert_private
    from dpjax.testing._budget import detectable_epsilon as detectable_epsilon
    from dpjax.testing._run import DEFAULT_CONFIDENCE as DEFAULT_CONFIDENCE
    from dpjax.testing._run import DEFAULT_DRAWS as DEFAULT_DRAWS
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
