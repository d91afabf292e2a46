"""Audits of StatDP's and DP-Auditorium's mechanisms, with as many draws and with a tenth."""
