"""Databases: pairs and neighbourhoods to audit, and panels of records of real individuals."""

from dpjax.databases._panel import Panel as Panel
from dpjax.databases._panel import panel_from_array as panel_from_array
from dpjax.databases._panel_tables import as_panel as as_panel
