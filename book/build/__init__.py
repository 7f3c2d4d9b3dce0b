"""Turns the texts of the chapter into notebooks, executes and checks them."""
