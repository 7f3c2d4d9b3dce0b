"""The web edition: a static site of the committed notebooks, made by Sphinx."""


class BuildError(Exception):
    """What is wrong, and what to do about it."""
