"""Sources: what is audited, drawn on the device, by the host, by a program, or recorded."""

from dpjax.sources._command import CommandMechanism as CommandMechanism
from dpjax.sources._counts import cell_counts_runs as cell_counts_runs
from dpjax.sources._counts import event_counts_runs as event_counts_runs
from dpjax.sources._host import HostMechanism as HostMechanism
from dpjax.sources._streams import Recorded as Recorded
