"""The regression side of the panels: one module per panel, each filling the Result of `kav.views.<panel>`."""
