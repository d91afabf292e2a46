"""Configure all tests: keep compiled code between runs, and use strict settings of JAX."""

import gc
import os
import signal
import time
import tracemalloc
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

# Set this before JAX is imported, and in the environment, so that processes share it.
# The keys contain the program, the version of JAX and the machine's features, so that no code is
# outdated.
CACHE = Path(
    os.environ.setdefault(
        "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "xla")
    )
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# By default, the command line chooses its own folder.
os.environ.setdefault("DPJAX_CACHE_DIR", str(CACHE))

CACHE_BYTES = 1_000_000_000
"""Maximum number of bytes of compiled code that are kept between runs."""


def pytest_configure(config: pytest.Config) -> None:
    """Handle interrupts, set JAX, and delete the compiled code that was used least recently.

    A process that only distributes tests does not import JAX: its workers wait for it.

    A shell makes its background processes ignore interrupts, and nohup makes them ignore hangups.
    All processes that tests start and signal would inherit this.

    Garbage collection waits until all tests are imported (see pytest_collection_finish).

    JAX's own limit (`jax_compilation_cache_max_size`) requires the package filelock and reads the
    whole folder whenever it adds an entry. Here, the age of a file is the time since it was last
    read or written.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_IGN:
        # This matters under nohup: unlike an ignored signal, a handler is not inherited by
        # programs.
        signal.signal(hangup, lambda *_: None)
    if not hasattr(config, "workerinput"):
        forget(CACHE, CACHE_BYTES)
    if not config.getoption("numprocesses", None):
        import jax

        # Users do not need these strict settings, which find implicit broadcasting and reused keys.
        jax.config.update("jax_numpy_rank_promotion", "raise")
        jax.config.update("jax_debug_key_reuse", True)


@pytest.hookimpl(tryfirst=True)  # This must happen before pytest applies `-m`.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but every n-th case of a test with the mark `one_in(n)` as slow.

    Cases are numbered by the sum of their positions in the lists of `parametrize`, so that the fast
    cases differ in every parameter.
    """
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and sum(positions(item)) % mark.args[0]:
            item.add_marker(pytest.mark.slow)


def positions(item: pytest.Item) -> list[int]:
    """Return the position of a case in the list of each `parametrize` of its test.

    `callspec.indices` does not always contain them: for several lists, recent versions of pytest
    store the number of the combination there.
    """
    return [position(item.callspec.params, *one.args) for one in item.iter_markers("parametrize")]


def position(case: dict[str, object], names: str | Sequence[str], values: Iterable) -> int:
    """Return the position of the case's values of `names` in the list of a `parametrize`."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    for number, listed in enumerate(values):
        if isinstance(listed, type(pytest.param())):
            listed = listed.values
        elif len(names) == 1:
            listed = (listed,)
        if all(case[name] is value for name, value in zip(names, listed, strict=True)):
            return number
    raise ValueError(f"one_in needs a list that contains the values of {names} themselves")


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but less often, and never look at imported objects.

    Each of the three saves time: a third of the collection of tests, an eighth of the tests, and a
    fourteenth of tests that trace programs, which make many objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.fixture
def frugal(request):
    """Limit additional memory to 200 MB, or the module's MOST_BYTES."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < getattr(request.module, "MOST_BYTES", 200 * 2**20)


def forget(folder: Path, limit: int) -> None:
    """Delete the least recently used files of `folder` until at most `limit` bytes are left.

    Also delete empty files, which remain if a process is killed while it writes them.
    """
    files = []
    for path in folder.glob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:  # Another run may delete files at the same time.
            continue
        used = max(status.st_atime, status.st_mtime) if status.st_size else 0.0
        files.append((used, status.st_size, path))
    excess = sum(size for _, size, _ in files) - limit
    for used, size, path in sorted(files):
        if used and excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size


@pytest.fixture
def seconds_passed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of a simulated `time.perf_counter`, a list of one number in seconds."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def slow_family(seconds_passed: list[float]) -> object:
    """Return a `dpjax.Family` of functions that take 0.01 s of `seconds_passed` per output."""
    import dpjax

    def make(scale):
        def slow(count, num_samples, rng):
            seconds_passed[0] += 0.01 * num_samples
            return count + scale * rng.laplace(size=num_samples)

        return dpjax.HostMechanism(slow, batch_size=100)

    return dpjax.Family(make, ranges={"scale": (1.0, 2.0)})
