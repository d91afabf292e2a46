"""Front page of the website: introduction, picture, three ways to start, and an overview."""

from dpjax.guides import NAMES, title_of

_PAGE = """---
hide: [navigation, toc]
title: dpjax
---

# How private is it really?

dpjax audits differential privacy using only outputs. It finds an event that distinguishes two
neighboring databases, and computes a lower confidence bound on epsilon that anyone can check.
{{: .lead }}

{pictures}

The noise of this mechanism is 20% too small. Its claim rules out every test in the shaded region.
The dot is a test that dpjax found and then evaluated on fresh outputs.

## Three ways to start

<div class="grid cards" markdown>

- **In Python**

    ```python
    import dpjax
    from dpjax.mechanisms import Laplace

    noise = Laplace(1.25)
    print(dpjax.audit(noise, claim=1.0))
    ```

    [A first audit](first-audit.md)

- **In a terminal**

    ```bash
    dpjax audit laplace --epsilon 1.25 \\
      --claim 1 --report audit.html
    ```

    [All commands](commands.md)

- **In a test suite**

    ```python
    from dpjax.mechanisms import Laplace
    from dpjax.testing import assert_private

    assert_private(Laplace(1.0), epsilon=1.0)
    ```

    [Privacy tests](in-ci.md), [on GitHub](on-github.md)

</div>

To install dpjax, clone the repository and run `pip install -e '.[all]'`. Python 3.11 or newer is
required.

## Which part to use

| You have | Use | Read |
|---|---|---|
| a mechanism in JAX | `dpjax.audit` | [A first audit](first-audit.md) |
| a function or a program | `HostMechanism`, `CommandMechanism` | [Any language](any-language.md) |
| an object from a privacy library | `dpjax.audit(object)` | [Libraries](libraries.md) |
| files of outputs | `Recorded` | [Recorded outputs](recorded-outputs.md) |
| a training loop | `dpjax.mechanisms.training` | [Training](training.md) |
| one training run with canaries | `OneRun` | [A single training run](one-run.md) |
| data, and no mechanism yet | `empirical_privacy` | [Empirical privacy](empirical-privacy.md) |
| thousands of audits | `dpjax sweep` | [Sweeps](sweeps.md) |

## All guides

{guides}

See also [the built-in mechanisms](mechanisms/index.md), [the API](api/index.md),
[the commands](commands.md) and [a gallery](gallery/index.md).
"""


def home(pictures: str, aside: tuple[str, ...]) -> str:
    """Return the Markdown text of the front page.

    Args:
        pictures: HTML element with the figures of the first audit.
        aside: Names of guides that are not listed.
    """
    guides = "\n".join(f"- [{title_of(name)}]({name}.md)" for name in NAMES if name not in aside)
    return _PAGE.format(pictures=pictures, guides=guides)
