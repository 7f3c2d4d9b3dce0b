"""The web edition: a static site of the committed notebooks, made by Sphinx."""
