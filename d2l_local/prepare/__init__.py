"""Makes MXNet 1.9.1 importable and fast: imports no d2l."""
