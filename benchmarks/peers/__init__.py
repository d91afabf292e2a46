"""Audits of the mechanisms of StatDP and DP-Auditorium, with all or a tenth of their draws."""
