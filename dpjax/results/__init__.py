"""Results: what was found, with provenance and what is needed to do it again."""
