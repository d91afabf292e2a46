"""`dpjax sweep`: run a sweep and store its rows, or report its progress."""

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import QUIET
from dpjax.cli._progress import progress_bar
from dpjax.cli._seal import untouched
from dpjax.cli._stop import say, stopping_on_signals
from dpjax.cli._table import Table, Value, argument, option
from dpjax.core.errors import needs, neutral

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dpjax.sweeps import Progress, SweepSpec

TABLE: Table = {
    "spec": argument(str, "A sweep file in TOML, or `status` to summarize a store."),
    "folder": argument(Path, "With `status`: folder of the store.", required=False),
    "out": option(Path, "Folder of the store; runs that are already stored are not repeated."),
    "allow_import": option(
        list[str],
        "A module that dpjax may import if the file or store names its mechanisms as "
        "MODULE:NAME; an import runs the code of the module. May be repeated. Default: none.",
        metavar="MODULE",
    ),
    "more": option(
        int,
        "Number of draws per side beyond those in the file, in total over all calls, for each run "
        "of an entry with sequential audits.",
        metavar="N",
    ),
    "shard": option(
        str, "Compute only share I of K (1/3, 2/3 or 3/3), for job arrays.", metavar="I/K"
    ),
    "dask": option(
        str,
        "Compute on a Dask cluster: the scheduler's address, or local:WORKERS.",
        metavar="ADDRESS",
    ),
    "distributed": option(
        bool,
        "Initialize jax.distributed (Slurm, TPU pods, ...); each host then computes its share of "
        "the runs.",
        "--distributed",
        default=False,
    ),
    "any_processor": option(
        bool,
        "Continue a store that was begun on another kind of processor, although results may "
        "differ in the last bits; each row names its processor.",
        "--any-processor",
        default=False,
    ),
    "devices": option(
        int,
        "Number of JAX devices into which the CPU is divided; the devices share the runs of a "
        "block. Default: one per core.",
    ),
    "quiet": QUIET,
}


EXAMPLES = (
    "dpjax sweep levels.toml --out levels",
    "dpjax sweep levels.toml --out levels --shard 1/8",
    "dpjax sweep levels.toml --out levels --dask local:4",
    "dpjax sweep bets.toml --out bets --more 100000",
    "dpjax sweep status levels",
)


def command(**given: Value) -> int:
    """Compute the missing runs of a sweep, block by block; the command may be interrupted.

    On ctrl-c, SIGTERM or SIGHUP, the command stores the current block and exits; a second signal
    ends the command immediately. To resume the sweep, run the same command again. The exit code is
    0 only if no runs are missing, and 130, 143 or 129 after a signal.
    """
    folder, out, shard, dask = (given[name] for name in ("folder", "out", "shard", "dask"))
    allow_import = given["allow_import"] or ()
    if allow_import:
        sys.path.insert(0, str(Path.cwd()))
    if given["spec"] == "status":
        show_status(folder if folder is not None else out, allow_import)
        return 0
    if folder is not None:
        raise ValueError(f"the store is named by --out: remove the argument {str(folder)!r}.")
    if out is None:
        raise ValueError("--out must name the folder of the store.")
    if shard is not None and dask is not None:
        raise ValueError("--shard and --dask are two ways to share the work: choose one.")
    if dask is not None:
        needs("sweeps on Dask", "distributed", "dask", "distributed")
    share = None if shard is None else _shard(shard)
    if given["devices"] is not None:
        part_cpu(given["devices"])
    elif shard is None and dask is None and not given["distributed"]:
        use_all_cores()
    if given["distributed"]:
        _join_processes()

    from dpjax.sweeps import Store, SweepSpec, run_sweep

    with ExitStack() as stack:
        stack.enter_context(untouched())
        spec = SweepSpec.from_file(given["spec"], allow_import)
        if given["more"] is not None:
            spec = replace(spec, more=given["more"])
        store = Store.create(out, spec, any_processor=given["any_processor"])
        executor = stack.enter_context(_dask(dask)) if dask is not None else None
        stop = stack.enter_context(stopping_on_signals())
        progress = stack.enter_context(showing(store.spec, quiet=given["quiet"]))
        state = run_sweep(
            store,
            executor=executor,
            shard=share,
            progress=progress,
            report=say,
            should_stop=stop.asked,
        )
    missing = state.total_runs - state.num_runs
    if missing:
        say(
            f"Stopped with {missing} of {state.total_runs} runs to go; the same command continues "
            "from here."
        )
        return stop.exit_code
    say(f"wrote {out}: {state.num_runs} runs, {state.num_computed} of them new")
    return 0


def show_status(folder: Path | None, allow_import: Collection[str]) -> None:
    """Print a table of the entries in a store.

    Raises:
        ValueError: If no folder is given, or if the folder contains no store.
    """
    if folder is None:
        raise ValueError("dpjax sweep status needs the folder of a store.")
    from dpjax.sweeps import Store

    store = Store.open(folder, allow_import)
    finished, corrupt, strange, *_ = store.contents()
    stored = sum(b.stop - b.first for b in store.spec.blocks() if b.name in finished)
    if finished and not corrupt:
        print(store.summary())
    print(f"{stored} of {store.spec.num_runs} runs are stored; {len(corrupt)} corrupt blocks.")
    for path, reason in strange.items():
        print(f"{neutral(str(path))} is not used: {reason}.")


@contextmanager
def showing(spec: "SweepSpec", *, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """Show the progress of a sweep, with the label of the current entry."""
    labels = {entry.id: number for number, entry in enumerate(spec.entries, start=1)}
    with progress_bar("runs", quiet=quiet) as show:

        def progress(state: "Progress") -> None:
            text = ""
            if state.block is not None:
                number = labels[state.block.entry.id]
                text = f"entry {number}/{len(labels)} ({state.block.entry.label})"
            show(state.num_runs, state.total_runs, text)

        yield progress


def _shard(text: str) -> tuple[int, int]:
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise ValueError(f"--shard must be I/K with 1 <= I <= K, but was {text!r}.")
    return int(first) - 1, int(second)


def _join_processes() -> None:
    """Connect the JAX processes of a cluster.

    Raises:
        ValueError: If JAX recognizes no cluster.
    """
    import jax

    try:
        jax.distributed.initialize()
    except ValueError as error:
        raise ValueError(
            "--distributed needs a cluster that jax.distributed.initialize() recognizes, such as "
            f"Slurm, Open MPI, Kubernetes or a TPU pod, but found none ({error}). Without a "
            "cluster, share the work with --shard."
        ) from error


def use_all_cores() -> None:
    """Divide the CPU into one JAX device per core, so that each core computes separate runs.

    This arrangement uses the cores better than a division of every run among all cores. If jax has
    already computed something in this process, the devices stay unchanged. The rows of a sweep do
    not depend on the devices.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with suppress(RuntimeError):
        part_cpu(cores)


def part_cpu(devices: int | None) -> None:
    """Divide the CPU into a number of JAX devices; GPUs are not affected.

    The function must be called before jax computes anything.
    """
    import jax

    if devices is not None and devices < 1:
        raise ValueError(f"--devices must be at least 1, but was {devices}.")
    jax.config.update("jax_num_cpu_devices", devices)


@contextmanager
def _dask(address: str) -> Iterator["Executor"]:
    """Yield an executor on the Dask cluster at `address`, or on a temporary local cluster."""
    from dask.distributed import Client, LocalCluster

    kind, _, count = address.partition(":")
    if kind != "local":
        with Client(address, timeout=30) as client:
            yield client.get_executor()
        return
    if not count.isdecimal() or int(count) < 1:
        raise ValueError(
            "--dask local:WORKERS must end in the number of workers, such as local:4, but was "
            f"{address!r}."
        )
    # Start no dashboard. Dask declares its address as a string, but accepts None.
    options: dict[str, Value] = {"threads_per_worker": 1, "dashboard_address": None}
    # Workers may share a GPU, and the first of them would reserve most of its memory.
    reserve = "XLA_PYTHON_CLIENT_PREALLOCATE"
    options["env"] = {reserve: os.environ.get(reserve, "false")}
    with LocalCluster(n_workers=int(count), **options) as cluster, Client(cluster) as client:
        yield client.get_executor()
