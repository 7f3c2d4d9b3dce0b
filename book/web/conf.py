"""Sphinx's settings. What differs between languages is in `$BOOK/book.json`, from `build.py`."""

import json
import os
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
SOURCE = Path(os.environ["BOOK"])
sys.path.insert(0, str(WEB.parents[1]))

book = json.loads((SOURCE / "book.json").read_text("utf-8"))
label = book["labels"]

project = html_title = book["title"]
language = book["codes"][book["lang"]].replace("-", "_")
author = copyright = ""
extensions = ["myst_nb", "sphinx.ext.mathjax", "sphinx_copybutton", "book.web.extension"]
exclude_patterns = ["_extra"]
templates_path = [str(WEB / "templates")]

nb_execution_mode = "off"
nb_append_css = True
myst_enable_extensions = ["alert", "dollarmath"]
# GitHub and Jupyter have no such limit.
myst_dmath_double_inline = True

html_theme = "sphinx_book_theme"
html_theme_options = {
    "article_header_end": ["tools.html"],
    "article_header_start": ["sidebar-button.html"],
    "footer_content_items": ["foot.html"],
    "search_bar_text": label["search"],
    "show_toc_level": 2,
    "toc_title": label["contents"],
    "navbar_persistent": [],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": ["sidebar.html"]}
html_static_path = [str(WEB / "static"), str(SOURCE.parent / "vendor")]
html_extra_path = [str(SOURCE / "_extra")]
html_favicon = str(WEB / "static/favicon.svg")
html_css_files = ["icons.css", "book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_search_language = book["lang"]
html_context = {"default_mode": "light", "book": book, "label": label}
html_permalinks_icon = "#"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = html_show_copyright = html_use_index = False

copybutton_prompt_text = r">>> |\.\.\. |\$ |In \[\d*\]: | {2,5}\.\.\.: "
copybutton_prompt_is_regexp = True

mathjax_path = "mathjax/startup.js"
mathjax_config_path = "mathjax.js"
