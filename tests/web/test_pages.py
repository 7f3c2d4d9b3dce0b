"""What is in the built pages: all of the notebooks, links that lead somewhere, nothing foreign."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from book.web.build import MARK, Book, head, status
from d2l_local.base import processes

import nbformat
import pytest
import yaml
from conftest import ROOT, run_build
from sample import FRAMEWORKS, HARDWARE, WORDS, write_book

LANGUAGES = ("en", "zh")

pytestmark = pytest.mark.timeout(600)  # Most of it is for building the sites

LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src"}


class Reader(HTMLParser):
    """Collects of a page: identifiers, links, what is loaded, the language, title and text."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.labels: list[str] = []
        self.images: list[list] = []
        self.lang = self.title = self.text = self.code = ""
        self.open: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.open.append(tag)
        for name in ("aria-label", "title", "placeholder", "data-tooltip"):
            self.labels += [values[name]] if values.get(name) else []
        if tag == "img":
            self.images.append(attributes)
        if tag == "html":
            self.lang = values.get("lang", "")
        if values.get("id"):
            self.ids.append(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link":
            alternate = values.get("rel") in ("alternate", "next", "prev", "index", "search")
            (self.links if alternate else self.loaded).append(values["href"])
        if values.get(LOADED.get(tag)):
            self.loaded.append(values[LOADED[tag]])

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "title" in self.open:
            self.title += data
        elif not {"script", "style"} & set(self.open):
            self.text += data
            if "pre" in self.open:
                self.code += data


@pytest.fixture(scope="module", params=["chapter", "sample", "wide"])
def site(request):
    return request.getfixturevalue(request.param)


def test_pictures_have_a_text_a_size_and_wait(read):
    images = [dict(image) for reader in read.values() for image in reader.images]
    assert images
    for image in images:
        assert image.get("alt") and image["alt"] != image["src"]
        assert int(image["width"]) > 50 and int(image["height"]) > 20
        assert image["loading"] == "lazy"


@pytest.fixture(scope="module")
def read(site):
    return {page: Reader(site.folder / page) for page in [*site.pages(), "index.html"]}


# --- Links ----------------------------------------------------------------------------------------


def test_every_link_and_anchor_leads_somewhere(site, read):
    broken = []
    for page, reader in read.items():
        for link in {*reader.links, *reader.loaded}:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("data:"):
                continue
            path = (site.folder / page).parent / unquote(parts.path)
            path = path.resolve() if parts.path else site.folder / page
            if not path.is_file():
                broken.append(f"{page}: {link}")
            elif parts.fragment and path.suffix == ".html":
                ids = read[path.relative_to(site.folder.resolve()).as_posix()].ids
                if unquote(parts.fragment) not in ids:
                    broken.append(f"{page}: {link}")
    assert not broken


@pytest.mark.parametrize("lang", LANGUAGES)
def test_bibliography_can_be_linked_to_and_not_run(chapter, lang):
    page = Reader(chapter.folder / lang / "references.html")
    assert "hadjis2016" in page.ids
    assert not [link for link in page.links if "colab" in link or link.endswith(".ipynb")]
    status = Reader(chapter.folder / lang / "status.html")
    assert not [link for link in status.links if "references.html?framework" in link]


def test_nothing_is_loaded_from_elsewhere(site, read):
    foreign = [x for r in read.values() for x in r.loaded if urlsplit(x).netloc]
    assert not foreign
    for style in site.folder.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))


def test_identifiers_are_unique(read):
    for page, reader in read.items():
        assert [x for x in reader.ids if reader.ids.count(x) > 1] == [], page


def test_other_addresses_are_the_project_s(read):
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    repository = re.search(r'^Repository = "(.*)"', project, re.MULTILINE)[1]
    slug = repository.removeprefix("https://github.com/")
    for host, address in {
        "colab.research": "https://colab.research.google.com/github/",
        "kaggle.com": "https://kaggle.com/kernels/welcome?src=https://github.com/",
    }.items():
        links = {x for r in read.values() for x in r.links if host in x}
        assert links
        for link in links:
            assert link.startswith(f"{address}{slug}/blob/main/chapters/")
    assert any(repository in reader.links for reader in read.values())


# --- Languages ------------------------------------------------------------------------------------


def test_both_languages_have_the_same_pages(site):
    pages = [{p.split("/")[1] for p in site.pages() if p.startswith(lang)} for lang in LANGUAGES]
    assert pages[0] == pages[1] >= {"index.html", "status.html", "search.html"}


def test_a_language_may_lack_sections(wide):
    pages = {p.split("/")[1] for p in wide.pages() if p.startswith("ja/")}
    assert pages == {"index.html", "two.html", "pipeline.html", "status.html", "search.html"}
    links = {name: Reader(wide.folder / f"en/{name}.html").links for name in ("two", "servers")}
    assert "./../ja/two.html" in links["two"]
    assert not [link for link in links["servers"] if "/ja/" in link]
    # What it lacks is read in another language
    japanese = Reader(wide.folder / "ja/two.html").links
    assert {"../en/servers.html", "../en/guess.html#question", "../en/index.html"} <= set(japanese)
    # An index that nobody has translated yet lists the sections, in the book's order
    index = Reader(wide.folder / "ja/index.html")
    assert WORDS["en"]["title"] in index.title
    assert index.text.index("二つのデバイス") < index.text.index("パイプライン")
    assert 'href="ja/index.html"' in (wide.folder / "index.html").read_text("utf-8")


def test_downloads_link_notebooks_that_there_are(wide):
    """Not all frameworks and languages have the section that both link."""
    for lang, framework, found in (
        ("ja", "mxnet", "mxnet/en"), ("zh", "pytorch", "mxnet/zh"), ("zh", "mxnet", "mxnet/zh")
    ):  # fmt: skip
        path = wide.folder / lang / "notebooks" / framework / "two.ipynb"
        prose = "".join(c.source for c in nbformat.read(path, as_version=4).cells)
        assert f"/blob/main/chapters/{found}/servers.ipynb" in prose


def test_a_language_has_its_fonts(wide):
    for lang, font in (("zh", "Noto Sans CJK SC"), ("ja", "Noto Sans CJK JP"), ("en", None)):
        style = (wide.folder / lang / "two.html").read_text("utf-8")
        assert re.findall(r'--language-fonts: "([^"]*)', style) == ([font] if font else [])


def test_pages_are_in_their_language(read):
    for page, reader in read.items():
        if page == "index.html":
            continue
        assert reader.lang == {"en": "en", "zh": "zh-CN", "ja": "ja"}[page[:2]], page
        if page != "ja/index.html":  # Nobody has translated it yet
            chinese = re.search("[\u3040-\u30ff\u4e00-\u9fff]", reader.title)
            assert bool(chinese) != page.startswith("en"), page


def test_headings_have_the_same_names_in_both_languages(read):
    for page, reader in read.items():
        for lang in ("zh", "ja"):
            twin = read.get(page.replace("en/", f"{lang}/"))
            untranslated = page == "en/index.html" and lang == "ja"
            assert twin is None or untranslated or reader.ids == twin.ids, (page, lang)


def test_buttons_and_fields_speak_the_page_s_language(read):
    found = {
        label
        for page, reader in read.items()
        if page.startswith(("zh/", "ja/"))
        for label in reader.labels
        if not re.search("[\u3040-\u30ff\u4e00-\u9fff]", label)
        # Sphinx itself has no Japanese for the one, the sample's index none for the other
        and not (page[:2] == "ja" and label in ("Link to this heading", WORDS["en"]["title"]))
    }
    assert not found


def test_labels_are_complete():
    labels = yaml.safe_load((ROOT / "book/web/labels.yml").read_text("utf-8"))

    def keys(value, path=""):
        if isinstance(value, dict):
            return {k for name, inner in value.items() for k in keys(inner, f"{path}/{name}")}
        fields = re.findall(r"\{\w+\}", value) if isinstance(value, str) else [len(value)]
        return {(path, *sorted(map(str, fields)))}

    assert len({frozenset(keys(words)) for words in labels.values()}) == 1


# --- Contents -------------------------------------------------------------------------------------


def notebooks(root: Path, lang: str):
    for path in sorted(root.glob(f"chapters/*/{lang}/*.ipynb")):
        yield path, nbformat.read(path, as_version=4)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("book", ["chapter", "sample"])
def test_pages_hold_all_code_and_printed_outputs(book, lang, request):
    site = request.getfixturevalue(book)
    root = request.getfixturevalue(f"{book}_root")
    count = 0
    for path, notebook in notebooks(root, lang):
        text = Reader(site.folder / lang / f"{path.stem}.html").text
        squeezed = re.sub(r"\s+", "", text)
        for cell in notebook.cells:
            kind = cell.metadata.get("d2l_local", {}).get("kind")
            if cell.cell_type != "code" or cell.id == "setup" or kind == "guess":
                continue  # On a page nobody can type a guess
            source = re.sub(r"^# @title .*\n", "", cell.source)
            parts = [source, *(o.text for o in cell.outputs if o.output_type == "stream")]
            for part in parts:
                assert re.sub(r"\s+", "", part) in squeezed, f"{path.stem}/{cell.id}"
                count += 1
    assert count > 5


def test_figures_are_there(chapter, chapter_root):
    for path, notebook in notebooks(chapter_root, "en"):
        loaded = Reader(chapter.folder / f"en/{path.stem}.html").loaded
        prose = "".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        for image in re.findall(r"!\[.*?\]\(.*?([\w-]+\.svg)\)", prose):
            assert f"_images/{image}" in loaded


def test_pictures_of_results_are_there(chapter, chapter_root):
    for path, notebook in notebooks(chapter_root, "en"):
        pictures = [
            output for c in notebook.cells for output in c.get("outputs", [])
            if "image/png" in output.get("data", {})
        ]  # fmt: skip
        loaded = Reader(chapter.folder / f"en/{path.stem}.html").loaded
        assert sum(image.endswith(".png") for image in loaded) >= len(pictures)


def test_sections_follow_the_order_of_the_index(chapter):
    links = Reader(chapter.folder / "en/index.html").links
    order = list(dict.fromkeys(x for x in links if re.fullmatch(r"[a-z-]+\.html", x)))
    assert order.index("hybridize.html") < order.index("auto-parallelism.html")
    assert order.index("auto-parallelism.html") < order.index("parameterserver.html")
    assert order[-2:] == ["references.html", "status.html"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_status_lists_every_notebook(chapter, chapter_root, lang):
    text = re.sub(r"\s+", " ", Reader(chapter.folder / lang / "status.html").text)
    found = list(notebooks(chapter_root, lang))
    runs = [notebook.metadata.d2l_local.runs for _, notebook in found]
    dates = [date for ran in runs for date in {run.date for run in ran}]  # A row names each once
    for date in dates:
        assert text.count(date) >= dates.count(date)
    for _, notebook in found:
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert f"/{len(code)}" in text or not code
        assert all(run.versions.numpy in text for run in notebook.metadata.d2l_local.runs)


def test_status_says_what_was_skipped_and_why(sample):
    chinese = re.sub(r"\s+", " ", Reader(sample.folder / "zh/status.html").text)
    assert "两个设备 MXNet console_1 本单元格需要2块GPU，这台机器有0块" in chinese
    text = re.sub(r"\s+", " ", Reader(sample.folder / "en/status.html").text)
    assert "Two Devices MXNet console_1 this cell needs 2 GPUs" in text
    assert "Servers MXNet box_1 It was not executed" in text
    assert "console_1" not in text.replace("MXNet console_1", "")  # Not skipped with PyTorch
    for machine in HARDWARE.values():
        assert machine in text


def test_notes_are_notes_in_their_language(sample):
    for lang, word in (("en", "Note"), ("zh", "注解|备注|注意")):
        source = (sample.folder / lang / "two.html").read_text("utf-8")
        assert re.search(rf'<p class="admonition-title">(?:{word})</p>\s*<p>pip, conda, uv', source)


def test_code_with_brackets_and_parentheses_is_no_link(sample):
    assert "independent work f[(2,)](x), see Servers" in Reader(sample.folder / "en/two.html").text
    for framework in FRAMEWORKS:
        path = sample.folder / f"en/notebooks/{framework}/two.ipynb"
        assert "`f[(2,)](x)`" in path.read_text("utf-8")


def test_stamps_stand_at_the_top(sample, chapter):
    text = Reader(sample.folder / "en/two.html").text
    for machine in HARDWARE.values():
        assert text.index(machine) < text.index(WORDS["en"]["intro"][:20])
    text = Reader(chapter.folder / "zh/index.html").text
    assert "核x86-64" in text


def test_a_notebook_of_several_runs_names_each(sample_root):
    [[path, notebook]] = [
        found for found in notebooks(sample_root, "en") if found[0].match("mxnet/en/pipeline.ipynb")
    ]
    [run] = notebook.metadata.d2l_local.runs
    other = {**run, "date": "2026-12-24", "machine": {"cores": 8, "architecture": "aarch64"}}
    notebook.metadata.d2l_local.runs.append(nbformat.from_dict(other))
    book, found = Book(sample_root), {path.parts[-3]: notebook}
    text = head(book, "en", path.stem, found)
    for date, machine in (("2026-11-21", HARDWARE["mxnet"]), ("2026-12-24", "8-core aarch64")):
        assert f"Ran on {date} on {machine} with " in text
    table = status(book, "zh", {path.stem: found})
    assert "2026-11-21、2026-12-24" in table and "、8核aarch64 |" in table
    assert table.count("NumPy 2.4.6") == 1  # The versions are the same


@pytest.mark.parametrize("lang", LANGUAGES)
def test_downloads_stand_alone(sample, sample_root, lang):
    for path, notebook in notebooks(sample_root, lang):
        framework = path.parent.parent.name
        got = nbformat.read(
            sample.folder / lang / "notebooks" / framework / path.name, as_version=4
        )
        nbformat.validate(got)
        assert [c.source for c in got.cells if c.cell_type == "code"] == [
            c.source for c in notebook.cells if c.cell_type == "code"
        ]
        for cell in got.cells:
            for link in re.findall(r"\]\(([^)]*)\)", cell.source.replace("`f[(2,)](x)`", "")):
                assert link.startswith(("https://", "attachment:", "#")), link
                if link.startswith("attachment:"):
                    [[kind, data]] = cell.attachments[link.removeprefix("attachment:")].items()
                    assert kind == "image/svg+xml" and data


# --- Errors ---------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Return a book; an image in it is a link to a secret beside it."""
    write_book(tmp_path / "book")
    shutil.copy(tmp_path / "book/img/box-en.svg", tmp_path / "secret.svg")
    (tmp_path / "book/img/innocent.svg").symlink_to(tmp_path / "secret.svg")
    return tmp_path / "book"


def spoil_image(book):
    (book / "img/box-zh.svg").unlink()
    return "shows ../../../img/box-zh.svg, and there is no such image"


def spoil_index(book):
    for path in book.glob("chapters/*/en/index.ipynb"):
        path.unlink()
    return "no index.ipynb in chapters/*/en"


def spoil_labels(book):
    path = book / "book/web/labels.yml"
    labels = yaml.safe_load(path.read_text("utf-8"))
    del labels["zh"]
    path.write_text(yaml.safe_dump(labels), "utf-8")
    return "labels.yml has nothing for 'zh'"


def saying(source, message):
    """Return what lets a notebook say something."""

    def spoil(book):
        path = book / "chapters/mxnet/en/servers.ipynb"
        content = json.loads(path.read_text("utf-8"))
        content["cells"][2]["source"] = source
        path.write_text(json.dumps(content), "utf-8")
        return message

    return pytest.param(spoil, id=source)


OUT = "leads out of the project, to "
SPOILS = [
    *(spoil_image, spoil_index, spoil_labels),
    saying("[gone](gone.ipynb)", "gone.ipynb"),
    saying("![A secret](../../../img/innocent.svg)", f"{OUT}../../../img/innocent.svg"),
    # Not all of Markdown's ways to show an image are those that notebooks have
    saying("![A][b]\n\n[b]: ../../../../secret.svg", "secret.svg is not one of the book's"),
]


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_failing_build_says_why_and_leaves_the_old_site(book, spoil):
    out = book / "build/html"
    out.mkdir(parents=True)
    (out / "index.html").write_text("the old site")
    (out / MARK).touch()
    message = spoil(book)
    done = run_build(book, out)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (out / "index.html").read_text() == "the old site"
    assert [path.name for path in out.parent.glob("*html*")] == ["html"]


@pytest.mark.parametrize("place", [".", "build", "mine"])
def test_a_folder_with_something_else_is_left_alone(book, place):
    out = book / place
    (out / "mine").mkdir(parents=True)
    (out / "mine/thesis.txt").write_text("three years of work")
    done = run_build(book, out)
    assert done.returncode == 1
    assert f"{out.resolve()} is not a site of this book" in done.stderr
    assert (out / "mine/thesis.txt").read_text() == "three years of work"


def test_a_site_replaces_one_from_before_and_nothing_beside_it(book):
    out, beside = book / "site", book / "site.new"
    for folder in (out, beside):
        folder.mkdir()
        (folder / "old.html").write_text("old")
    (out / MARK).touch()
    spoken = "</script><script>document.title=1</script><!--"
    path = book / "chapters/mxnet/en/pipeline.ipynb"
    content = json.loads(path.read_text("utf-8"))
    chart = content["cells"][2]["outputs"][0]["metadata"]["d2l_local"]["charts"][0]
    chart["title"] = spoken
    content["cells"][2]["outputs"].append(
        {"output_type": "stream", "name": "stdout", "text": f"skipped: this cell needs {spoken}"}
    )
    path.write_text(json.dumps(content), "utf-8")
    done = run_build(book, out)
    assert done.returncode == 0, done.stderr
    assert not (out / "old.html").exists() and (beside / "old.html").exists()
    assert not list(book.glob(f"{processes.FOLDERS}*"))
    # What a chart or an output says stays what it is
    [data] = re.findall(
        r'<script type="application/json" class="timeline">(.*?)</script>',
        (out / "en/pipeline.html").read_text("utf-8"),
    )
    assert json.loads(data)["charts"][0]["title"] == spoken
    for name in ("pipeline", "status"):
        assert "<script>document.title" not in (out / f"en/{name}.html").read_text("utf-8")
    assert spoken.removesuffix("<!--") in Reader(out / "en/status.html").text
