"""The figures and tables of the papers: what each one runs, and how it is drawn or printed."""
