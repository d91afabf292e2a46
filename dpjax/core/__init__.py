"""Foundations of dpjax: errors, validation, types, files, compiled programs and exact sums."""
