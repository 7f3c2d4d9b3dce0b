"""The notebooks that a text makes, without outputs.

Jupyter folds what `source_hidden` and `outputs_hidden` name, Colab with `cellView: form` and an
`@title` line; prose is folded by `<details>` everywhere.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import partial

from book.builder import answers
from book.builder.model import FOLDED, LINK, Block, Section, choices
from book.builder.notebook import IGNORED, STORY, Cell, Notebook
from book.builder.size import minutes

SETUP = """\
import os
import sys
{speak}
hosted = "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ
if hosted or "D2L_SOURCE" in os.environ:
    source = os.environ.get("D2L_SOURCE", "git+{source}")
    !{{sys.executable}} -m pip install -q --no-deps {{source}}
    # {failed}
    from d2l_local import colab

    colab.set_up("{framework}")
"""
SPEAK = """
os.environ["D2L_LANGUAGE"] = "{lang}"
"""

TIME = "{glue:text}`time`"  # What the sections say instead of typing how long they take


def notebook(section: Section, framework: str, lang: str) -> Notebook:
    """Return the notebook of one framework in one language, without outputs."""
    blocks = [b for b in section.blocks_of(framework, lang) if b.kind != "wrong"]
    cells = opening(section, blocks[0], framework, lang)
    question = None
    names = names_of_code(section, framework)
    asked = answers.asked(section, framework)
    for number, block in enumerate(blocks[1:], 1):
        name = block.id if block.lang else names[block.where]
        if block.kind == "solution" and block.where in asked:
            cells = with_solution(section, cells, block, lang, name)
            continue
        cells.append(cell_of(section, block, lang, name, framework in section.stories))
        if block.kind == "check" and block.where in asked:
            cells[-1].source = answers.call(asked[block.where], block)
        if block.kind == "predict":
            question = block
            if takes_a_guess(blocks[number + 1 :]):
                cells.append(guess_cell(section, block, lang))
        elif question and tells(block):
            ask(cells[-1], question, section.chapter.word(lang, "answer"))
            question = None
    if beside := neighbors(section, framework, lang):
        cells.append(new_cell(section, blocks[-1], "markdown", "next", beside, kind=""))
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = with_editions(section, cell.source, framework, lang)
    published = section.chapter.word(lang, "published")
    form = STORY if framework in section.stories else ""
    return Notebook(cells, form=form, published=published)


def names_of_code(section: Section, framework: str) -> dict[str, str]:
    """Return the names of code cells, by where they stand: the same in all languages.

    They are numbered within the original's prose, so that a new cell renames few others.
    """
    names: dict[str, str] = {}
    last, count = "", 0
    for block in section.blocks_of(framework, section.langs[0]):
        if block.lang:
            last, count = block.id, 0
        elif block.kind != "wrong":
            count += 1
            names[block.where] = f"{last}_{count}"
    return names


def opening(section: Section, block: Block, framework: str, lang: str) -> list[Cell]:
    """Return the title with its links, the set-up, and what follows the title in its block."""
    title, _, rest = block.source.partition("\n")
    word = partial(section.chapter.word, lang)
    setup = SETUP.rstrip().format(
        speak=SPEAK.format(lang=lang) if lang in section.translated_into else "",
        failed=word("setup-failed"),
        framework=framework,
        source=section.chapter.source,
    )
    beside = neighbors(section, framework, lang)
    above = "\n\n".join(filter(None, [links(section, framework, lang), beside]))
    first = f"{numbered(section, title, lang)}\n\n{above}"
    cells = [new_cell(section, block, "markdown", "title", first)]
    if section.code_of(framework):
        cells.append(new_cell(section, block, "code", "setup", setup))
        fold_code(cells[-1], word("setup"))
    if rest.strip():
        takes = minutes(section, framework)
        form = "time" if takes["exercises"] else "time-short"
        time = words(section, "time-lab" if takes["lab"] else form, lang, takes)
        shown = rest.strip().replace(TIME, time)
        cells.append(new_cell(section, block, "markdown", block.id, shown))
    return cells


def cell_of(section: Section, block: Block, lang: str, name: str, story: bool) -> Cell:
    """Return the cell of a block, of a story or not."""
    word = partial(section.chapter.word, lang)
    if block.lang:
        cell = new_cell(section, block, "markdown", name, prose(block, word))
    else:
        cell = new_cell(section, block, "code", name, section.code_in(block, lang))
    tags = [tag for tag in block.tags if tag not in section.chapter.frameworks]
    if "raises-exception" in tags:  # Jupyter and nbclient know this tag, nbval its own
        tags.append("nbval-raises-exception")
    if not block.lang and ".excuses(" in block.source and IGNORED not in tags:
        tags.append(IGNORED)  # On a crowded machine it prints a line more
    if story and not block.lang and not block.kind and IGNORED not in tags:
        tags.append(IGNORED)  # It works: what it keeps is measured, and it prints nothing
    if block.kind in FOLDED and not block.lang:
        tags.append("hide-input")
        fold(cell, word(block.kind))
    if block.kind == "score":
        tags.append("hide-input")
        fold_code(cell, word(purpose(block.source)))
    if tags:
        cell.metadata["tags"] = tags
    return cell


def with_solution(
    section: Section, cells: list[Cell], block: Block, lang: str, name: str
) -> list[Cell]:
    """Return the cells with a solution's code, as prose: to run all cells solves nothing.

    It stands in the fold of the prose before it, if that is of the solution.
    """
    code = f"```python\n{section.code_in(block, lang)}\n```"
    if cells[-1].kind == "solution":
        before = cells[-1].source.removesuffix("\n\n</details>")
        cells[-1].source = f"{before}\n\n{code}\n\n</details>"
        return cells
    word = partial(section.chapter.word, lang)
    shown = prose(Block(code, block.line, lang, kind="solution", file=block.file), word)
    return [*cells, new_cell(section, block, "markdown", name, shown)]


def new_cell(
    section: Section, block: Block, cell_type: str, name: str, source: str, kind: str | None = None
) -> Cell:
    """Return a cell that knows its block: that joins the frameworks' cells on one page.

    `order` counts the blocks of the text, of which twins are one, so that it is the same in
    all notebooks of a section.
    """
    of = [name for name in section.chapter.frameworks if name in section.frameworks]
    only = [name for name in of if name in block.tags]
    return Cell(
        cell_type,
        name,
        source,
        frameworks=only or of,
        order=section.order[block.where],
        kind=block.kind if kind is None else kind,
    )


def links(section: Section, framework: str, lang: str) -> str:
    """Return the line that links the other languages and frameworks, Colab and Kaggle."""
    chapter, file = section.chapter, f"{section.name}.ipynb"
    found = [
        f"[{chapter.languages.get(other, {}).get('name', other)}](../{other}/{file})"
        for other in section.langs
        if other != lang
    ]
    found += [
        f"[{chapter.frameworks[other].title}](../../{other}/{lang}/{file})"
        for other in section.frameworks
        if other != framework
    ]
    if section.code_of(framework):
        hosted = chapter.hosted(framework, lang, section.name)
        found += [f"[{chapter.word(lang, host)}]({address})" for host, address in hosted.items()]
    return " · ".join(found)


def with_editions(section: Section, source: str, framework: str, lang: str) -> str:
    """Return prose whose links to sections that this edition lacks lead to one that has them."""

    def lead(found: re.Match[str]) -> str:
        if "/" in found[0]:  # The author, or the title, means another edition
            return found[0]
        other = section.chapter.edition(found["name"], framework, lang)
        return found[0] if other == (framework, lang) else f"../../{'/'.join(other)}/{found[0]}"

    return LINK.sub(lead, source)


def numbered(section: Section, title: str, lang: str) -> str:
    """Return the title of a section with its number, if it has one."""
    found = [entry for entry in section.chapter.outline if entry.name == section.name]
    return f"# {found[0].title(lang)}" if found and lang in found[0].titles else title


def neighbors(section: Section, framework: str, lang: str) -> str:
    """Return the line that links the sections before and after this one."""
    there = [
        entry
        for entry in section.chapter.outline
        if framework in entry.frameworks and lang in entry.titles
    ]
    names = [entry.name for entry in there]
    if "index" not in names or section.name not in names:
        return ""
    place = names.index(section.name)
    before, after = there[max(0, place - 1) : place], there[place + 1 : place + 2]
    found = [f"← [{entry.title(lang)}]({entry.name}.ipynb)" for entry in before]
    found += [f"[{entry.title(lang)}]({entry.name}.ipynb) →" for entry in after]
    return " · ".join(found)


def words(section: Section, key: str, lang: str, numbers: dict[str, int]) -> str:
    """Return a sentence that the builder itself writes, with its numbers."""
    return section.chapter.word(lang, key).format(**numbers)


def prose(block: Block, word: Callable[[str], str]) -> str:
    """Return what a notebook shows of a prose block; `word` looks up the language's words."""
    if block.kind == "reference":
        return f'<a id="{block.id}"></a>{block.source}'
    if block.kind == "exercise" and block.minutes:
        about = word("minutes").format(minutes=block.minutes)
        number = re.match(r"\*\*.*?\*\* ?|", block.source)
        first = number[0] if number else ""
        return f"{first}{'•' * block.level} *{about}* {block.source[len(first) :]}"
    if block.kind not in FOLDED:
        return block.source
    title, text = word(block.kind), block.source
    if block.kind == "aside":
        first, _, text = block.source.partition("\n")
        name = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(first.strip(), quote=False))
        title = f"{title} · {name}"
    # Without the blank lines, Markdown inside of HTML stays as it is written.
    return f"<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def purpose(source: str) -> str:
    """Return what the title of a folded cell is to say that it does: the glossary's key."""
    if "plot" in source or "d2l.axes(" in source:
        return "figure"
    return "score" if "assert" in source else "details"


def fold(cell: Cell, title: str) -> None:
    """Fold a code cell and its outputs."""
    fold_code(cell, title)
    fold_outputs(cell)


def fold_outputs(cell: Cell) -> None:
    """Fold the outputs of a code cell, and say so twice, as JupyterLab would when it saves."""
    cell.metadata["collapsed"] = True
    cell.metadata.setdefault("jupyter", {})["outputs_hidden"] = True


def fold_code(cell: Cell, title: str) -> None:
    """Fold what a code cell says; its outputs show."""
    cell.metadata["cellView"] = "form"
    cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
    if not cell.source.startswith("%%"):
        cell.source = f"# @title {title}\n{cell.source}"


def tells(block: Block) -> bool:
    """Whether a cell tells what was measured where the reader was asked."""
    return not block.lang and "d2l.measured(" in block.source


def takes_a_guess(following: list[Block]) -> bool:
    """Whether the cell that answers a question compares it with what the reader typed."""
    return "guess=guess" in next((block.source for block in following if tells(block)), "")


def guess_cell(section: Section, question: Block, lang: str) -> Cell:
    """Return the cell into which the reader types an answer; left as it is, it says nothing."""
    comment = section.chapter.word(lang, "guess")
    source = f"guess = ...  # {comment}"
    return new_cell(section, question, "code", f"{question.id}_0", source, kind="guess")


def ask(cell: Cell, question: Block, title: str) -> None:
    """Fold the outputs of the cell that answers a question, and write the question's data to it.

    Of a cell whose code is folded, too, JupyterLab shows its title alone: that tells to unfold it.
    """
    cell.source = re.sub(r"\A# @title .*", f"# @title {title}", cell.source)
    cell.predict = {"id": question.id, "choices": choices(question.source)}
    fold_outputs(cell)
