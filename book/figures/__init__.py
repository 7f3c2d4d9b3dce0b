"""Draws the figures of the chapter."""
