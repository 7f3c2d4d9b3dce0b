"""Turns the texts of the chapter into notebooks, executes and checks them.

`text` reads the texts, `notebook` the notebooks; `build` makes these of those, `check` compares
them. The commands are in `cli`.
"""
