"""Fuzzing: mutated inputs must lead to the result of a trusted parser or to an error of dpjax."""
