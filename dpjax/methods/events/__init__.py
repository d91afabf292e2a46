"""Events: one is chosen by the draws that search, and counted on fresh ones."""
