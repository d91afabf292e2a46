"""Databases: pairs and neighbourhoods to audit, and panels of records of real individuals."""

from ._panel import Panel as Panel
from ._panel import panel_from_array as panel_from_array
from ._panel_tables import as_panel as as_panel
