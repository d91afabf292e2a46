"""Methods: ways to turn a source of outputs into evidence, and what was found into a result."""
