"""Mechanisms of StatDP and DP-Auditorium, audited at the draws of these tools and at a tenth."""
