"""Doors for readers: into JupyterLab, in trouble, without the notebooks."""
