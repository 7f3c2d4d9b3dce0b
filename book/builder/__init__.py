"""Turns the texts of the chapter into notebooks, executes and checks them.

`text` reads a section into blocks (`model`). Of these, `render` makes a `notebook` for each
framework and language; `provenance` gives it the outputs of the committed one that hold; `build`
has the rest executed (`execute`), and `values` shows in the prose what outputs say. A `page` has
both, the notebook as it is made and as it is committed: `check` compares them. The commands are in
`cli`.
"""
