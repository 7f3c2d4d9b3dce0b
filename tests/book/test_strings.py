"""Strings that a reader sees are written once per language, in blocks after their cell."""

from __future__ import annotations

import ast
import sys

from book.builder import render
from book.builder.check import untranslated
from book.builder.language import (
    comments,
    literals,
    pick,
    put_strings,
    read_strings,
    translate,
    without_strings,
)
from book.builder.notebook import BuildError, Cell, Notebook, read_notebook

import pytest
import small_chapter
from nbformat.v4 import new_output
from small_chapter import make
from test_build import call, cells


@pytest.mark.parametrize(
    ("source", "strings", "expected"),
    [
        ('print("size")', {"size": "大小"}, 'print("大小")'),
        ("print('size', b'size')", {"size": "大小"}, "print('大小', b'size')"),
        ('f("a b", "a b")', {"a b": "甲乙"}, 'f("甲乙", "甲乙")'),
        (
            'print(f"{a:.2f} to {b!r:>{w}}")',
            {"{a:.2f} to {b!r:>{w}}": "从{b!r:>{w}}到{a:.2f}"},  # In another order
            'print(f"从{b!r:>{w}}到{a:.2f}")',
        ),
        ("f\"{d['a']} is\"", {"{d['a']} is": "是{d['a']}"}, "f\"是{d['a']}\""),
        ('f"{{{x}}} x"', {"{{{x}}} x": "甲{{{x}}}"}, 'f"甲{{{x}}}"'),
        ('f"{x=} is"', {"{x=} is": "是{x=}"}, 'f"是{x=}"'),
        ('f"{ {1: 2}[1] } is"', {"{ {1: 2}[1] } is": "是{ {1: 2}[1] }"}, 'f"是{ {1: 2}[1] }"'),
        (r'print("a\tb\n")', {r"a\tb\n": r"甲\t乙\n"}, r'print("甲\t乙\n")'),
        (r'print(r"\d a")', {r"\d a": r"\d甲"}, r'print(r"\d甲")'),
        ('print("say")', {"say": '说"好"'}, r'print("说\"好\"")'),
        ('print("say")', {"say": r"说\"好\""}, r'print("说\"好\"")'),
        ("print('it')", {"it": "it's"}, r"print('it\'s')"),
        ('print("a")', {"a": "甲\n乙"}, r'print("甲\n乙")'),
        ('print("""a\nb""")', {"a\nb": "甲\n乙"}, 'print("""甲\n乙""")'),
        ('"""a"""', {"a": '甲"""乙"'}, '"""甲\\"\\"\\"乙\\""""'),
        (
            'print(\n    f"{a} and "  # One\n    "{b}"\n    f" {b}"\n)\nx = "size"',
            {"{a} and {{b}} {b}": "{b}、{{b}}、{a}", "size": "大小"},
            'print(\n    f"{b}、{{b}}、{a}"\n)\nx = "大小"',
        ),
        ('%matplotlib inline\nif 1:\n    !ls\n    print("大 size")', {"大 size": "大小"},
         '%matplotlib inline\nif 1:\n    !ls\n    print("大小")'),
        ('é = "大"; print("size")', {"size": "大小"}, 'é = "大"; print("大小")'),
        ('print(f"a" f"{x}")', {"a{x}": "{x}甲"}, 'print(f"{x}甲")'),
        ('print(r"a" "b")', {"ab": "甲"}, 'print(r"a" "b")'),  # Raw and not: left alone
        ("!ls 'size'", {"size": "大小"}, "!ls 'size'"),
    ],
)  # fmt: skip
def test_strings_are_put_in_place(source, strings, expected):
    assert put_strings(source, strings) == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 and newer read this")
def test_quotes_nested_within_an_f_string():
    source = 'print(f"{d["a"]} is {f"{x}"}", "size")'
    strings = {'{d["a"]} is {f"{x}"}': '{f"{x}"}是{d["a"]}', "size": "大小"}
    assert put_strings(source, strings) == 'print(f"{f"{x}"}是{d["a"]}", "大小")'


@pytest.mark.parametrize(
    ("source", "english", "translation", "why"),
    [
        ('f"{a} {b}"', "{a} {b}", "{a}", "different fields"),
        ('f"{a}"', "{a}", "{a}{a}", "different fields"),
        ('f"{a:.2f}"', "{a:.2f}", "{a:.3f}", "different fields"),
        ('f"{a}"', "{a}", "{b}", "different fields"),
        ('f"a"', "a", "{a}", "different fields"),
        ('"{a} is"', "{a} is", "是", "different fields"),  # Perhaps for str.format
        ('f"{a}"', "{a}", "{a", "is no string"),
        ('r"a"', "a", 'a"', "is no string"),
        ('"a"', "a", "a\\", "is no string"),
    ],
)
def test_what_is_no_translation_is_refused(source, english, translation, why):
    with pytest.raises(ValueError, match=why):
        put_strings(source, {english: translation})


def test_a_translation_is_the_same_program_but_for_its_strings():
    def silent(source):
        return ast.dump(without_strings(ast.parse(source)))

    source = 'print(f"{a} of {b}", "x", 1)'
    assert silent(source) == silent('print(f"{b}中的{a}", "叉", 1)')
    for other in ('print(f"{b}中的{b}", "叉", 1)', 'print(f"{b}中的{a}", "叉", 2)', 'print("x")'):
        assert silent(source) != silent(other)


def test_literals_are_found_whole():
    assert [found.inner for found in literals('a = "x", f"{b["  "]}" if 0 else 1, b"y"')] in (
        ["x", '{b["  "]}'],
        [],  # Before Python 3.12 no program
    )
    assert literals("not Python") == ()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("- size", "not a mapping"),
        ("size", "not a mapping"),
        ("", "not a mapping"),
        ("1: 一", "line 1 holds .* quote it"),
        ("a: 甲\nno: 否", "line 2 holds .* quote it"),
        ("a: [甲]", "line 1 holds"),
        ("a: 甲\na: 乙", "'a' stands there twice"),
        ("a: '甲", "no YAML"),
    ],
)
def test_a_block_is_a_mapping_of_strings(source, why):
    with pytest.raises(ValueError, match=why):
        read_strings(source)


def test_a_block_is_yaml():
    block = """
        "{n} products: {x:.2f}": '{n}次乘法：{x:.2f}'
        'two\\nlines': '两\\n行'
        size: 大小
        """
    assert read_strings(block) == {
        "{n} products: {x:.2f}": "{n}次乘法：{x:.2f}",
        r"two\nlines": r"两\n行",
        "size": "大小",
    }


def test_comments_come_in_the_order_of_the_table_of_languages():
    [(*_, parts)] = comments("x  # Wait | | 待つ")
    assert [pick(parts, index) for index in range(4)] == ["Wait", "", "待つ", "Wait"]
    assert translate("x  # Wait | | 待つ", 1) == "x"
    assert translate("x  # Wait | | 待つ", 2) == "x  # 待つ"


# ---- In a text -----------------------------------------------------------------------------------

CODE = 'size = 3\nprint(f"{size} products of size {size**2}")'
SPOKEN = """
+++ {"strings": "zh"}
"{size} products of size {size**2}": 大小为{size**2}的{size}次乘法
"""


def bilingual(*sources, after=SPOKEN, section=""):
    """Return a small text in English and Chinese; `after` follows its first cell."""
    text = cells(*sources)
    head, _, rest = text.partition("# Title\n")
    text = f'{head}# Title\n\n+++ {{"lang": "zh", "id": "intro"}}\n# 标题\n{section}{rest}'
    text += '\n+++ {"lang": "zh", "id": "end"}\n## 小结\n\n## 练习\n'
    return text.replace(f"{sources[0]}\n```\n", f"{sources[0]}\n```\n{after}", 1)


def notebooks(tmp_path, text):
    section = make(tmp_path, small=text).sections()[0]
    return [render.notebook(section, "mxnet", lang) for lang in section.langs]


def test_a_cell_has_the_strings_of_its_language(tmp_path):
    en, zh = notebooks(tmp_path, bilingual(CODE, 'print("size")'))
    assert [cell.source for cell in en.cells[2:4]] == [CODE, 'print("size")']
    assert zh.cells[2].source == 'size = 3\nprint(f"大小为{size**2}的{size}次乘法")'
    assert zh.cells[3].source == 'print("size")'
    assert zh.cells[1].source.startswith(
        "# @title 在Colab和Kaggle之外不起作用\nimport os\nimport sys\n\n"
        'os.environ["D2L_LANGUAGE"] = "zh"\n\nhosted = '
    )
    title = "# @title Does nothing outside Colab and Kaggle\n"
    assert en.cells[1].source.startswith(f"{title}import os\nimport sys\n\nhosted = ")


def test_a_text_without_strings_sets_no_language(tmp_path):
    en, zh = notebooks(tmp_path, bilingual(CODE, after=""))
    assert "D2L_LANGUAGE" not in en.cells[1].source + zh.cells[1].source


def test_strings_of_the_section_hold_for_all_cells_and_give_way_to_a_cells_own(tmp_path):
    section = '\n+++ {"strings": "zh", "for": "section"}\nsize: 大小\ncount: 个数\n'
    own = '\n+++ {"strings": "zh"}\nsize: 尺寸\n'
    text = bilingual('print("size")', 'print("size", "count")', after=own, section=section)
    _, zh = notebooks(tmp_path, text)
    assert [cell.source for cell in zh.cells[2:4]] == ['print("尺寸")', 'print("大小", "个数")']


def test_nothing_translated_may_be_said(tmp_path):
    section = '\n+++ {"strings": "zh", "for": "section"}\n{}\n'
    _, zh = notebooks(tmp_path, bilingual("1", after="", section=section))
    assert 'os.environ["D2L_LANGUAGE"] = "zh"' in zh.cells[1].source


@pytest.mark.parametrize(
    ("after", "section", "why"),
    [
        ('\n+++ {"strings": "zh"}\nsizes: 大小\n', "", "no string in the code is 'sizes'"),
        ('\n+++ {"strings": "zh"}\n- size\n', "", "not a mapping"),
        ('\n+++ {"strings": "ja"}\nsize: 大小\n', "", "no translation is in ja"),
        ('\n+++ {"strings": "en"}\nsize: 大小\n', "", "no translation is in en"),
        ('\n+++ {"strings": "zh", "for": "all"}\nsize: 大小\n', "", "strings stand under"),
        ('\n+++ {"strings": "zh", "for": "section"}\nsize: 大小\n', "", "right after their cell"),
        ("", '\n+++ {"strings": "zh"}\nsize: 大小\n', "right after their cell"),
        (SPOKEN.replace("{size**2}的{size}", "{size}的{size}"), "", "different fields"),
    ],
)
def test_what_a_block_of_strings_must_not_be(tmp_path, after, section, why):
    text = bilingual(CODE, 'print("size")', after=after, section=section)
    with pytest.raises(BuildError, match=f"small.md:[0-9]+: .*{why}"):
        make(tmp_path, small=text)


@pytest.mark.parametrize(
    ("strings", "why"), [("{}", None), ("size: 大小", "no string in the code is 'size'")]
)
def test_strings_of_a_section_without_code(tmp_path, strings, why):
    text = small_chapter.bilingual(
        f'\n+++ {{"strings": "zh", "for": "section"}}\n{strings}\n', "mxnet"
    )
    if why is None:
        assert make(tmp_path, small=text).sections()[0].translated_into == {"zh"}
    else:
        with pytest.raises(BuildError, match=why):
            make(tmp_path, small=text)


# ---- What is left --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('print("two devices and one")', ["two devices and one"]),
        ('print(f"{a} products take {b:.2f} sec")', ["{a} products take {b:.2f} sec"]),
        ('print(f"overlap {a}", "a", "/usr/lib of")', []),  # Few words are names or units
        ('ax.set_title("width", loc="left")', ["width"]),
        ('ax = d2l.axes("width helps", "rows")', ["width helps", "rows"]),
        ('ax.set(xlabel="width", ylabel=f"{unit} a step")', ["width", "{unit} a step"]),
        ('ax.plot(x, "o-", label="measured"); ax.legend(["k"])', ["measured"]),
        ('ax.plot(x, label=names["measured"])', []),
        ('def f():\n    """Return all of it."""', ["Return all of it."]),
        ('raise ValueError("that is not a number")', []),  # Errors stay English
        ('%matplotlib inline\n!ls\nprint("two devices and one")', ["two devices and one"]),
    ],
)
def test_what_the_code_says_and_no_block_translates(tmp_path, code, found):
    section = make(tmp_path, small=bilingual(code, after="")).sections()[0]
    said = [what for _, what in untranslated.strings(section, "zh")]
    assert said == [f"[zh] not translated: {inner!r}" for inner in found]


def test_what_is_translated_or_meant_to_stay_is_not_reported(tmp_path):
    after = '\n+++ {"strings": "zh"}\nwidth: 宽度\ntorch scaler: torch scaler\n'
    code = 'ax.set(xlabel="width", ylabel="torch scaler")'
    section = make(tmp_path, small=bilingual(code, after=after)).sections()[0]
    assert list(untranslated.strings(section, "zh")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu(0) 1.23: forward passes on it", ["forward passes on it"]),
        ("在cpu(0)上做前向传播", []),
        ("x = the_name(of a_thing)\n/usr/lib/of the", []),
        ("read at the end", []),  # The original does not print it
        ("MXNetError: a b c d", []),
        ("RuntimeError, a b c d", []),
        ("on MXNetError: a b c d", ["a b c d"]),
        ("续写：'then forward passes on it'", []),  # Quoted is data
        ("don't: forward passes on it, isn't it", ["forward passes on it"]),
    ],
)
def test_sentences_of_the_original_in_the_outputs(text, found):
    def printing(text):
        output = new_output("stream", name="stdout", text=text)
        return Notebook([Cell("code", "x", "x", outputs=[output])])

    original = printing("cpu(1) 3.21: forward passes on it, and so on\nMXNetError: a b c d")
    problems = [f"cell x: not translated: {phrase}" for phrase in found]
    assert untranslated.outputs(printing(text), original) == problems


def test_a_language_with_strings_is_executed_by_itself(tmp_path, capsys):
    after = '\n+++ {"strings": "zh"}\n"{x} is what it says": 它说{x}\n'
    measured = "from d2l_local.measure import timing\nprint(timing.Measurement((1.0,)))"
    code = 'x = 3\nprint(f"{x} is what it says")'
    chapter = make(tmp_path, small=bilingual(code, measured, after=after))
    assert call(chapter, "build") == 0 and call(chapter, "check", "--release") == 0
    said = {}
    for lang in ("en", "zh"):
        cells = read_notebook(chapter.notebook_path("mxnet", lang, "small")).cells
        said[lang] = [cell.outputs[0].text for cell in cells[2:4]]
    assert said["en"][0] == "3 is what it says\n" and said["zh"][0] == "它说3\n"
    assert "1.0000 sec (median" in said["en"][1] and "1.0000秒（1次的中位数" in said["zh"][1]
    capsys.readouterr()
    assert call(chapter, "build") == 0
    assert "nothing to write" in capsys.readouterr().out


def test_what_is_not_translated_is_a_warning_and_stops_a_release(tmp_path, capsys):
    code = 'print("two devices", "and one")\nprint("a phrase that stays as it is")'
    after = '\n+++ {"strings": "zh"}\ntwo devices: 两个设备\n'
    chapter = make(tmp_path, small=bilingual(code, after=after), plain=bilingual(code, after=""))
    assert call(chapter, "build") == 0
    capsys.readouterr()
    assert call(chapter, "check") == 0
    said = capsys.readouterr().out
    assert (
        "warning: small.md:11: [code] [zh] not translated: 'a phrase that stays as it is'" in said
    )
    assert "cell intro_1: not translated: a phrase that stays as it is" in said
    assert "warning: plain.md: [zh] translates no strings of 1" in said
    assert call(chapter, "check", "--release") == 1


def test_a_key_that_is_translated_is_not_asked_for_within_an_f_string(tmp_path):
    """There it would stay as it is, and be no key any more."""
    cell = '\n```{code-cell}\ntimes = {"in turns": 1}\nprint(f"{times[\'in turns\']} s")\n```\n'
    strings = '\n+++ {"strings": "zh"}\n"in turns": 串行\n'
    with pytest.raises(BuildError, match="'in turns' stands within an f-string, where"):
        make(tmp_path, small=small_chapter.bilingual(cell + strings, "mxnet")).sections()


def test_a_text_without_strings_shows_the_originals_outputs(tmp_path):
    chapter = make(tmp_path, small=bilingual("import os\nprint(os.getpid())", after=""))
    assert call(chapter, "build") == 0
    cells = [
        read_notebook(chapter.notebook_path("mxnet", lg, "small")).cells[2] for lg in ("en", "zh")
    ]
    assert cells[0].outputs == cells[1].outputs
