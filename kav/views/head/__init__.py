"""Head scene: what each panel shows of one head of one run. One module per panel, dispatched to from `kav.views`."""
