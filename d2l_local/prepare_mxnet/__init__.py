"""Makes MXNet 1.9.1 importable and fast: knows the machine, and imports no d2l."""
