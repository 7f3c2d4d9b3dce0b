"""The site in a real browser: switches, memory, links, search, folds, timelines, manners."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from conftest import DESKTOP, PHONE, ROOT, Watched, served
from sample import WORDS

AXE = ROOT / "book/web/node_modules/axe-core/axe.min.js"
SCREENSHOTS = ROOT / "build/web-screenshots"

UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"

pytestmark = pytest.mark.timeout(600)  # Most of it is for the first visit to every page


def frameworks_shown(page) -> dict[str, bool]:
    """Return whether what belongs to each framework can be seen."""
    return {
        name: page.get_by_text(f"run_with('{name}')").is_visible() for name in ("mxnet", "pytorch")
    }


def click_in_place(locator) -> None:
    """Click as a mouse does; Playwright would first scroll what stands in the sticky header."""
    box = locator.bounding_box()
    locator.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def settle(page) -> None:
    """Wait until formulas are set and everything has arrived."""
    page.evaluate("window.MathJax?.startup?.promise")
    page.wait_for_load_state("networkidle")


# --- Frameworks -----------------------------------------------------------------------------------


def test_the_switch_changes_code_prose_outputs_and_stamp_at_once(sample, visit):
    page = visit(sample, "en/two.html").page
    for name, other in (("mxnet", "pytorch"), ("pytorch", "mxnet")):
        page.get_by_role("button", name={"mxnet": "MXNet", "pytorch": "PyTorch"}[name]).click()
        texts = (WORDS["en"][name], f"run_with('{name}')", f"devices of {name}")
        for text in texts:
            assert page.get_by_text(text).is_visible()
        for text in (WORDS["en"][other], *(text.replace(name, other) for text in texts[1:])):
            assert not page.get_by_text(text).is_visible()
        assert page.locator(f".stamp.framework-{name}").is_visible()
        assert not page.locator(f".stamp.framework-{other}").is_visible()
        assert page.get_by_text("print(sum(values))").is_visible()  # What is common stays
        pressed = page.locator('.frameworks [aria-pressed="true"]').all_inner_texts()
        assert [text.lower() for text in pressed] == [name]
        heading = page.get_by_role("heading", name="Streams")
        contents = page.locator("#pst-page-toc-nav").get_by_text("Streams")
        assert heading.is_visible() == contents.is_visible() == (name == "pytorch")


def test_the_choice_of_a_framework_is_remembered(sample, visit):
    watched = visit(sample, "en/two.html")
    assert frameworks_shown(watched.page) == {"mxnet": True, "pytorch": False}
    watched.page.get_by_role("button", name="PyTorch").click()
    assert frameworks_shown(watched.open("en/two.html")) == {"mxnet": False, "pytorch": True}
    assert frameworks_shown(watched.open("zh/two.html")) == {"mxnet": False, "pytorch": True}


def test_an_address_names_a_framework(sample, visit):
    watched = visit(sample, "en/two.html?framework=pytorch")
    assert frameworks_shown(watched.page) == {"mxnet": False, "pytorch": True}
    watched.page.get_by_role("button", name="MXNet").click()
    assert watched.page.url.endswith("en/two.html?framework=mxnet")
    nonsense = watched.open("en/two.html?framework=nonsense")
    assert frameworks_shown(nonsense) == {"mxnet": True, "pytorch": False}


def test_nothing_flashes_while_the_page_loads(sample, visit, chromium):
    """The right framework shows without the page's own scripts, which come last."""
    context = chromium.new_context()
    context.route("**/*.js*", lambda route: route.abort())
    page = context.new_page()
    page.goto(sample.address + "en/two.html?framework=pytorch", wait_until="load")
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}
    context.close()


def test_without_javascript_both_frameworks_can_be_read(sample, visit):
    page = visit(sample, "en/two.html", java_script_enabled=False).page
    assert frameworks_shown(page) == {"mxnet": True, "pytorch": True}
    assert not page.locator(".frameworks").is_visible()
    labels = page.evaluate(
        """() => [...document.querySelectorAll("div.framework")].map(
            (element) => getComputedStyle(element, "::before").content)"""
    )
    assert {'"MXNet"', '"PyTorch"'} == set(labels)
    assert page.locator("img[src$='.png']").first.is_visible()
    page.get_by_text("Solution 1").click()
    assert page.get_by_text("why_mxnet()").is_visible()


def test_a_section_of_one_framework_says_so(sample, visit):
    page = visit(sample, "en/servers.html?framework=pytorch").page
    assert page.get_by_text("serve()").is_visible()
    assert page.get_by_role("button", name="PyTorch").is_disabled()
    mxnet = page.get_by_role("button", name="MXNet")
    assert mxnet.get_attribute("aria-pressed") == "true"


def test_a_page_without_the_chosen_framework_shows_another(wide, visit):
    """Else what its frameworks have each would be hidden."""
    watched = visit(wide, "en/guess.html?framework=tiny")
    assert watched.page.get_by_text("look_inside()").count() == 1
    assert watched.page.locator(".stamp.framework-mxnet").is_visible()
    pressed = watched.page.locator('.frameworks [aria-pressed="true"]')
    assert pressed.all_inner_texts() == ["MXNet"]
    assert watched.page.get_by_role("button", name="Tiny").is_disabled()
    # The choice holds where there is one
    page = watched.open("en/two.html")
    assert page.get_by_text("run_with('tiny')").is_visible()
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": False}
    assert not watched.problems


def test_the_switch_keeps_the_reader_s_place(sample, visit):
    page = visit(sample, "en/two.html", viewport={"width": 800, "height": 300}).page
    heading = page.get_by_role("heading", name="Look Closely")
    heading.evaluate("element => window.scrollTo(0, element.offsetTop - 100)")
    page.wait_for_timeout(300)
    before = heading.bounding_box()["y"]
    click_in_place(page.get_by_role("button", name="PyTorch"))
    assert heading.bounding_box()["y"] == pytest.approx(before, abs=2)


# --- Languages ------------------------------------------------------------------------------------


def test_the_language_switch_keeps_page_heading_and_framework(sample, visit):
    low = {"width": 1000, "height": 500}
    page = visit(sample, "en/two.html?framework=pytorch", viewport=low).page
    page.get_by_role("heading", name="Look Closely").evaluate("e => e.scrollIntoView()")
    click_in_place(page.locator(".languages a"))
    page.wait_for_url("**/zh/two.html#look")
    assert page.get_by_role("heading", name="仔细看").bounding_box()["y"] < 200
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}
    click_in_place(page.locator(".languages a"))
    page.wait_for_url("**/en/two.html#look")


@pytest.mark.parametrize(("locale", "lang"), [("en-US", "en"), ("zh-CN", "zh"), ("fr-FR", "en")])
def test_the_entrance_leads_to_the_reader_s_language(sample, visit, locale, lang):
    page = visit(sample, "", locale=locale).page
    page.wait_for_url(f"**/{lang}/index.html")


def test_a_third_language_is_offered_where_it_is_there(wide, visit):
    page = visit(wide, "en/two.html").page
    offered = page.locator(".languages a")
    assert offered.all_inner_texts() == ["中文", "日本語"]
    offered.last.click()
    page.wait_for_url("**/ja/two.html")
    page.get_by_role("link", name="サーバ").click()
    page.wait_for_url("**/en/servers.html")
    assert page.locator(".languages a").all_inner_texts() == ["中文"]
    # Words that nothing divides are found in parts
    found = visit(wide, "ja/search.html?q=ンは計算グラ").page.locator("#search-results li")
    found.first.wait_for()
    assert "二つのデバイス" in found.first.inner_text()


def test_the_choice_of_a_language_is_remembered(sample, visit):
    watched = visit(sample, "", locale="en-US")
    watched.page.locator(".languages").get_by_text("中文").click()
    watched.page.wait_for_url("**/zh/index.html")
    watched.open("").wait_for_url("**/zh/index.html")


def test_the_entrance_works_without_javascript(sample, visit):
    page = visit(sample, "", java_script_enabled=False).page
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/zh/index.html")


# --- Search ---------------------------------------------------------------------------------------


def results(page, query: str) -> list[str]:
    page.locator("#pst-search-dialog input, .bd-search-container input").last.fill(query)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.wait_for_function("/[0-9]|one page|找到|not match|没有|未/.test(Search.status?.innerText)")
    return page.locator("#search-results li").all_inner_texts()


@pytest.mark.parametrize(
    ("path", "query", "found"),
    [
        ("en/search.html", "parameter server", "Parameter Servers"),
        ("en/search.html", "hybridize", "Compilers and Interpreters"),
        ("en/search.html", "overlapping", "Automatic Parallelism"),
        ("zh/search.html", "参数服务器", "参数服务器"),
        ("zh/search.html", "计算图", "自动并行"),
        ("zh/search.html", "自动并行", "自动并行"),
        ("zh/search.html", "小批量", "多设备训练的从零开始实现"),
        ("zh/search.html", "容错", "参数服务器"),
        ("zh/search.html", "数据并行 全归约", "并行训练的策略"),
        ("zh/search.html", "hybridize", "编译器和解释器"),
        ("zh/search.html", "解释器做了什么", ""),
    ],
)
def test_search_finds_words(chapter, visit, path, query, found):
    watched = visit(chapter, path)
    listed = results(watched.page, query)
    assert any(found in text for text in listed), listed
    assert not watched.problems


def test_stamps_are_not_searched(sample, visit):
    """They would make every page a result for each version, and for Colab."""
    page = visit(sample, "en/search.html").page
    assert [text.split("\n")[0] for text in results(page, "H200")] == ["Status"]
    [listed, *_] = results(visit(sample, "en/search.html").page, "independent")
    assert "Both frameworks" in listed and "Download" not in listed


def test_excerpts_begin_and_end_with_whole_words(chapter, visit):
    page = visit(chapter, "en/search.html").page
    results(page, "timeline")
    page.locator("#search-results .highlighted").first.wait_for()
    for text in page.locator("#search-results .context").all_inner_texts():
        assert not re.search(r"^\.\.\.\w|\w\.\.\.$", text), text
        assert text.startswith("…") or text.endswith("…")


def test_results_fit_a_phone(chapter, visit):
    page = visit(chapter, "zh/search.html", viewport=PHONE).page
    results(page, "计算图")
    page.wait_for_load_state("networkidle")  # Each excerpt is from its page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_result_leads_to_what_was_found(sample, visit):
    """It is far down the page, and in the text of the framework that is not chosen."""
    watched = visit(
        sample, "zh/search.html?framework=mxnet", viewport={"width": 400, "height": 200}
    )
    page = watched.page
    results(page, "锁页内存")
    marked = page.locator("#search-results .highlighted").first
    marked.wait_for()
    assert marked.inner_text() == "锁页内存"
    page.locator("#search-results a").first.click()
    found = page.locator("article .highlighted").first
    found.wait_for()
    page.wait_for_function("scrollY > 100")
    assert 0 < found.bounding_box()["y"] < 200
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}
    assert frameworks_shown(watched.open("zh/two.html")) == {"mxnet": True, "pytorch": False}


@pytest.mark.parametrize("query", ["zyzzyva", "土拨鼠"])
def test_search_finds_no_more_than_there_is(chapter, visit, query):
    assert results(visit(chapter, "zh/search.html").page, query) == []


def test_every_chinese_term_that_the_chapter_uses_is_found(chapter, visit):
    """What the reader sees on a page is what the search must find there."""
    watched = visit(chapter, "zh/search.html?q=并行")
    watched.page.wait_for_function("Search.hasIndex()")
    texts = watched.open("zh/async-computation.html").evaluate(
        """() => {
            const walk = document.createTreeWalker(document.querySelector("article"), 4);
            const texts = [], others = ".timeline-box, .stamp, summary, button";
            while (walk.nextNode()) {
                const {data, parentElement} = walk.currentNode;
                if (!parentElement.closest(others)) texts.push(data);
            }
            return texts;
        }"""
    )
    words = {word for text in texts for word in re.findall("[\u4e00-\u9fff]{2,6}", text)}
    watched.open("zh/search.html?q=并行")
    missing = watched.page.evaluate(
        """(words) => words.filter((word) => {
            const [, ...terms] = Search._parseQuery(word);
            const found = Search.performTermsSearch(terms[0], terms[1]);
            return !found.some((result) => result[0] === "async-computation");
        })""",
        sorted(words),
    )
    assert len(words) > 200
    assert not missing


def test_the_search_button_opens_the_search(sample, visit):
    page = visit(sample, "zh/two.html", viewport=PHONE).page
    page.get_by_role("button", name="搜索").last.click()
    page.keyboard.type("锁页内存")
    page.keyboard.press("Enter")
    page.wait_for_url("**/zh/search.html?q=*")
    page.get_by_role("link", name="两个设备").first.wait_for()


# --- Folds, copying, links ------------------------------------------------------------------------


def test_solutions_are_folded(sample, visit):
    page = visit(sample, "en/two.html").page
    answer = page.get_by_text("Because of the graph.")
    code = page.get_by_text("why_mxnet()")
    assert not answer.is_visible() and not code.is_visible()
    page.get_by_text("Solution 1").focus()
    page.keyboard.press("Enter")
    assert answer.is_visible() and code.is_visible()


def test_what_a_block_is_for_decides_what_is_folded(sample, visit):
    page = visit(sample, "en/guess.html").page
    for fold, inside in (
        ("Show the code", "def draw():"),
        ("Why the first call is slow", "look_inside()"),
        ("Hint 1", "Twice."),
        ("Solution", "def faster(): # mxnet"),
        ("Show what was measured", "measured with mxnet"),
    ):
        text = page.get_by_text(inside).locator("visible=true")
        assert text.count() == 0, fold
        page.locator("summary:visible", has_text=re.compile(f"^{fold}$")).click()
        assert text.count() == 1, fold
    for shown in ("drawn", "measure()", "def faster():\n    pass", "check(faster)", "not yet"):
        assert page.locator("pre", has_text=shown).first.is_visible(), shown
    # Of the prediction's two charts, which were drawn while nobody saw them
    chart = page.locator(".framework-mxnet .timeline-box")
    assert chart.locator(".u-over").bounding_box()["width"] > 300
    assert page.locator(".kind-predict").inner_text().startswith("Predict.")


def test_paper_shows_what_was_measured(sample, visit):
    page = visit(sample, "en/guess.html").page
    page.emulate_media(media="print")
    assert page.get_by_text("measured with mxnet").is_visible()
    assert not page.get_by_text("Show what was measured").first.is_visible()
    assert not page.get_by_text("look_inside()").is_visible()


def test_a_link_into_a_fold_opens_it(sample, visit):
    page = visit(sample, "en/two.html#solution-1").page
    assert page.get_by_text("Because of the graph.").is_visible()


def test_a_link_to_a_hidden_heading_shows_it(sample, visit):
    page = visit(sample, "en/two.html#streams").page
    heading = page.get_by_role("heading", name="Streams")
    assert heading.is_visible()
    assert heading.bounding_box()["y"] < 200
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}


def test_copying_leaves_prompts_out(sample, visit):
    watched = visit(sample, "en/two.html", permissions=["clipboard-read", "clipboard-write"])
    page = watched.page
    for block, expected in (
        (".highlight-console", "python -m d2l_local\nimport d2l_local"),
        (".cell_input", "values = [1, 2, 3]\nprint(sum(values))"),
    ):
        place = page.locator(block).first
        place.hover()
        place.get_by_role("button").click()
        page.wait_for_timeout(100)
        assert page.evaluate("navigator.clipboard.readText()").strip() == expected


def test_copying_keeps_comments(chapter, visit):
    """A prompt is what a shell or Python prints; a comment is code."""
    watched = visit(
        chapter, "en/auto-parallelism.html", permissions=["clipboard-read", "clipboard-write"]
    )
    place = watched.page.locator(".cell_input").filter(has_text="# ").first
    text = place.locator("pre").inner_text().strip()
    place.hover()
    place.get_by_role("button").click()
    watched.page.wait_for_timeout(100)
    assert watched.page.evaluate("navigator.clipboard.readText()").strip() == text


def test_previous_and_next_lead_through_the_chapter(chapter, visit):
    page, seen = visit(chapter, "zh/index.html").page, []
    while page.locator(".right-next").count():
        seen.append(page.url)
        page.locator(".right-next").click()
        page.wait_for_url(lambda url: url != seen[-1])
    assert len(seen) >= 8
    page.locator(".left-prev").click()
    page.wait_for_url(seen[-1])


def test_a_notebook_is_downloaded(sample, visit):
    page = visit(sample, "zh/two.html?framework=pytorch").page
    with page.expect_download() as download:
        page.get_by_role("link", name="下载笔记本").click()
    assert download.value.suggested_filename == "two.ipynb"
    assert "pytorch" in Path(download.value.path()).read_text("utf-8")
    colab = page.get_by_role("link", name="在Colab中打开").get_attribute("href")
    assert colab.endswith("/chapters/pytorch/zh/two.ipynb")


# --- Timelines ------------------------------------------------------------------------------------


@pytest.fixture
def timeline(sample, visit):
    page = visit(sample, "en/two.html").page
    box = page.locator(".timeline-box")
    box.scroll_into_view_if_needed()
    return box


def at(box, share: float, lane: int):
    """Move the mouse to a lane, at a share of its width."""
    over = box.locator(".u-over").bounding_box()
    x, y = over["x"] + share * over["width"], over["y"] + (lane + 0.5) * over["height"] / 2
    box.page.mouse.move(x, y)
    return x, y


def test_hovering_tells_operation_lane_and_duration(timeline):
    at(timeline, 0.04, 0)
    readout = timeline.locator(".timeline-readout")
    assert readout.inner_text() == "dot on cpu/0: 9.000 ms, begun at 0 µs"
    at(timeline, 0.555, 1)
    assert readout.inner_text() == "CopyCPU2CPU on cpu/1: 2.000 ms, begun at 54.00 ms"
    at(timeline, 0.03, 1)
    assert "Drag to zoom" in readout.inner_text()
    assert "The 3 shortest" in readout.inner_text()


def begins(box) -> tuple[float, float]:
    """Return the stretch of time in the chart, read off under both of its edges, in ms."""
    return tuple(box.locator(".timeline-chart").evaluate("e => [+e.dataset.from, +e.dataset.to]"))


def test_dragging_zooms_shift_moves_and_a_double_click_shows_all(timeline):
    assert begins(timeline) == pytest.approx((0, 99), abs=0.5)
    mouse = timeline.page.mouse
    at(timeline, 0.25, 0)
    mouse.down()
    at(timeline, 0.75, 0)
    mouse.up()
    low, high = begins(timeline)
    assert (low, high) == pytest.approx((24.75, 74.25), abs=1)
    timeline.page.keyboard.down("Shift")
    at(timeline, 0.6, 0)
    mouse.down()
    at(timeline, 0.4, 0)
    mouse.up()
    timeline.page.keyboard.up("Shift")
    assert begins(timeline) == pytest.approx((low + 9.9, high + 9.9), abs=1)
    mouse.dblclick(*at(timeline, 0.5, 0))
    assert begins(timeline) == pytest.approx((0, 99), abs=0.5)


def test_buttons_zoom(timeline):
    timeline.get_by_role("button", name="Zoom in").click()
    assert begins(timeline) == pytest.approx((24.75, 74.25), abs=0.5)
    timeline.get_by_role("button", name="Zoom out").click()
    timeline.get_by_role("button", name="Zoom out").click()
    assert begins(timeline) == pytest.approx((0, 99), abs=0.5)


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(timeline):
    page = timeline.page
    at(timeline, 0.5, 0)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(300)
    assert begins(timeline) == pytest.approx((0, 99), abs=0.5)
    assert page.evaluate("scrollY") > before
    at(timeline, 0.5, 0)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    low, high = begins(timeline)
    assert high - low < 60


def test_the_keyboard_walks_through_a_timeline(timeline):
    press = timeline.page.keyboard.press
    timeline.locator(".timeline-chart").focus()
    readout = timeline.locator(".timeline-readout")
    press("ArrowRight")
    assert readout.inner_text().startswith("dot on cpu/0: 9.000 ms, begun at 0")
    press("ArrowRight")
    assert readout.inner_text().endswith("begun at 10.00 ms")
    press("ArrowDown")
    assert readout.inner_text().startswith("CopyCPU2CPU on cpu/1")
    press("+")
    press("+")
    low, high = begins(timeline)
    assert high - low == pytest.approx(24.75, abs=0.5)
    for _ in range(9):
        press("ArrowRight")
    low, high = begins(timeline)
    assert low < 94 < high  # The chart follows
    press("0")
    assert begins(timeline) == pytest.approx((0, 99), abs=0.5)


def test_a_finger_moves_and_chooses(sample, visit):
    page = visit(sample, "en/two.html", viewport=PHONE, has_touch=True, is_mobile=True).page
    box = page.locator(".timeline-box")
    box.scroll_into_view_if_needed()
    over = box.locator(".u-over").bounding_box()
    page.touchscreen.tap(over["x"] + 0.04 * over["width"], over["y"] + over["height"] / 4)
    assert box.locator(".timeline-readout").inner_text().startswith("dot on cpu/0")


def colors(canvas) -> set[str]:
    """Return the opaque colors of a canvas."""
    found = canvas.evaluate(
        """(canvas) => {
            const {width, height} = canvas;
            const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] === 255) seen.add([...data.slice(i, i + 3)].join());
            return [...seen];
        }"""
    )
    return set(found)


def test_timelines_are_drawn_in_both_themes(sample, visit):
    for scheme in ("light", "dark"):
        page = visit(sample, "en/two.html", color_scheme=scheme).page
        compute = {"light": "0,114,178", "dark": "86,169,224"}[scheme]
        assert {compute, "230,159,0"} <= colors(page.locator(".timeline-chart canvas"))


@pytest.fixture
def charts(sample, visit):
    """Return the two timelines of one figure."""
    boxes = visit(sample, "en/pipeline.html").page.locator(".timeline-box")
    boxes.first.scroll_into_view_if_needed()
    return boxes.all()


def test_timelines_show_what_was_written_on_their_spans(charts):
    chart = charts[0].locator(".timeline-chart")
    texts = "e => e.dataset.texts"
    assert chart.evaluate(texts) == "F1 F2"  # The third is wider than its span
    assert "255,255,255" in colors(chart.locator("canvas"))
    chart.focus()
    for key in ("ArrowDown", *"+++++++"):
        charts[0].page.keyboard.press(key)
    assert "short one" in chart.evaluate(texts)


def test_a_prediction_is_outlined_over_its_timeline(charts):
    outlined = [box.locator(".timeline-chart").get_attribute("data-outlines") for box in charts]
    assert outlined == ["1", "0"]


def test_timelines_that_share_an_axis_show_the_same_time(charts):
    assert [begins(box) for box in charts] == [(0, 100), (0, 100)]  # One is over after 40 ms
    charts[0].get_by_role("button", name="Zoom in").click()
    charts[0].get_by_role("button", name="Show everything").click()
    assert begins(charts[0]) == (0, 100)


def test_a_figure_of_two_timelines_explains_itself_once(charts):
    readouts = [box.locator(".timeline-readout") for box in charts]
    assert readouts[0].inner_text() == ""
    assert "Drag to zoom" in readouts[1].inner_text()
    for box, readout, length in zip(charts, readouts, (20, 50), strict=True):
        at(box, 0.1, 0)
        assert readout.inner_text() == f"dot on cpu/0: {length}.00 ms, begun at 0 µs"
    at(charts[0], 0.9, 0)
    assert readouts[0].inner_text() == ""


def test_the_plotting_library_is_loaded_only_where_it_is_needed(sample, visit):
    for path, needed in (("en/two.html", True), ("en/servers.html", False)):
        page = visit(sample, path).page
        assert page.evaluate("typeof uPlot !== 'undefined'") is needed
        assert bool(page.locator("script[src*=mathjax]").count()) is needed


def test_print_shows_the_picture_and_leaves_the_page_s_tools_out(sample, visit):
    page = visit(sample, "en/two.html").page
    picture = page.locator("img.timeline-picture")
    assert not picture.is_visible()
    page.emulate_media(media="print")
    assert picture.is_visible()
    for gone in (".timeline-box", ".tools", ".bd-sidebar-primary", ".prev-next-footer"):
        assert not page.locator(gone).first.is_visible(), gone
    assert page.get_by_role("heading", name="Two Devices").first.is_visible()
    assert page.locator("article").bounding_box()["width"] > 1000  # As wide as the paper


@pytest.mark.parametrize("path", ["en/auto-parallelism.html", "zh/multiple-gpus.html"])
def test_pages_print_to_pdf(chapter, visit, path):
    page = visit(chapter, path).page
    settle(page)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    target = SCREENSHOTS / f"{path.replace('/', '-').removesuffix('.html')}.pdf"
    page.pdf(path=target, format="A4", margin={"top": "1.5cm", "bottom": "1.5cm"})
    content = target.read_bytes()
    assert 3 <= content.count(b"/Type /Page\n") <= 40
    page.emulate_media(media="print")
    pictures = page.locator("article img[src$='.png']:visible").count()
    assert content.count(b"/Subtype /Image") >= pictures > 0  # Though they load when needed only


def test_paper_is_white(sample, visit):
    page = visit(sample, "en/two.html", color_scheme="dark").page
    page.evaluate(
        """() => window.addEventListener("beforeprint", () => {
            window.printed = document.documentElement.dataset.theme;
        })"""
    )
    page.pdf()
    assert page.evaluate("[printed, document.documentElement.dataset.theme]") == ["light", "dark"]


def test_print_breaks_no_code_and_leaves_out_what_is_folded(sample, visit):
    page = visit(sample, "en/two.html", viewport={"width": 700, "height": 1000}).page
    page.get_by_text("Solution 2").first.click()
    page.emulate_media(media="print")
    assert not page.get_by_text("Solution 1").is_visible()
    assert page.get_by_text("then()").first.is_visible()
    frames = page.locator(".cell_input, .cell_input .highlight, pre")
    assert set(frames.evaluate_all("all => all.map((e) => getComputedStyle(e).breakInside)")) == {
        "avoid"
    }


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_status_fits_the_paper_and_a_small_desktop(chapter, visit, lang):
    page = visit(chapter, f"{lang}/status.html").page
    table = page.locator(".pst-scrollable-table-container").first
    for media, width in (("screen", DESKTOP["width"]), ("print", 700)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media=media)
        assert table.evaluate("e => e.scrollWidth - e.clientWidth") <= 0, media
        assert not page.evaluate(NARROW)
    breaks = table.locator("table").evaluate("e => getComputedStyle(e).breakInside")
    assert breaks == "auto"  # Else it would leave the first page empty


# --- Formulas and pictures ------------------------------------------------------------------------


def test_formulas_do_not_spread_the_lines(sample, visit):
    page = visit(sample, "en/two.html").page
    settle(page)
    line = page.locator("p:has(mjx-container)").first
    height = line.evaluate("e => parseFloat(getComputedStyle(e).lineHeight)")
    assert line.bounding_box()["height"] == pytest.approx(height, 0.05)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_formulas_stay_whole_and_with_their_punctuation(sample, visit, lang):
    page = visit(sample, f"{lang}/two.html").page
    settle(page)
    split = page.locator("p:has(mjx-container)").first.evaluate(
        """(paragraph) => {
            const formula = paragraph.querySelector("mjx-math"), split = [];
            const mark = document.createRange();
            const walk = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
            let stop;
            while (walk.nextNode()) if (!walk.currentNode.parentElement.closest("mjx-container"))
                stop = walk.currentNode;
            mark.selectNodeContents(stop);
            for (let width = 150; width < 450; width += 1) {
                paragraph.style.width = `${width}px`;
                const { height, bottom } = formula.getBoundingClientRect();
                if (height > 40 || mark.getBoundingClientRect().top > bottom) split.push(width);
            }
            return split;
        }"""
    )
    assert not split


def test_plots_stay_large_enough_to_read_on_a_phone(chapter, visit):
    page = visit(chapter, "en/multiple-gpus.html", viewport=PHONE).page
    plot = page.locator(".picture:has(img.wide:visible)").first
    plot.scroll_into_view_if_needed()
    assert plot.locator("img:visible").bounding_box()["width"] > 500
    assert plot.bounding_box()["width"] < PHONE["width"]
    page.wait_for_function("e => e.tabIndex === 0", arg=plot.element_handle())


# --- What is wider than its box -------------------------------------------------------------------

WIDE = """() => document.querySelector("article").insertAdjacentHTML("beforeend", `
    <pre id="code">${"&nbsp;".repeat(200)}</pre>
    <pre id="short">&nbsp;</pre>
    <div class="pst-scrollable-table-container" id="table"><table class="table"><tbody>
        <tr><td style="min-width: 200vw">&nbsp;</td></tr></tbody></table></div>
    <div class="math"><mjx-container id="formula">
        <div style="width: 200vw; height: 2rem"></div></mjx-container></div>
    <div class="picture" id="plot"><img class="wide" src="_images/box-en.svg" alt=""></div>
    <p id="figure"><img src="_images/box-en.svg" alt=""></p>`)"""
# The colors at the left edge, in the middle and at the right edge of a picture
ACROSS = """async (png) => {
    const answer = await fetch(`data:image/png;base64,${png}`);
    const image = await createImageBitmap(await answer.blob());
    const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
    pen.drawImage(image, 0, 0);
    const color = (x) => pen.getImageData(x, image.height >> 1, 1, 1).data.join();
    return [4, image.width >> 1, image.width - 5].map(color);
}"""


def across(element) -> list[str]:
    return element.page.evaluate(ACROSS, base64.b64encode(element.screenshot()).decode())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shadows_say_where_there_is_more(sample, visit, scheme):
    page = visit(sample, "en/servers.html", viewport=PHONE, color_scheme=scheme).page
    page.evaluate(WIDE)
    for kind in ("code", "table", "formula", "plot", "figure"):
        box = page.locator(f"#{kind}")
        box.scroll_into_view_if_needed()
        page.wait_for_function(
            "e => (e.querySelector('img')?.complete ?? true)", arg=box.element_handle()
        )
        left, middle, right = across(box)
        assert left == middle != right, kind
        box.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
        left, middle, right = across(box)
        assert left != middle == right, kind
    assert len(set(across(page.locator("#short")))) == 1
    page.emulate_media(media="print")
    assert page.locator("#code").evaluate("e => getComputedStyle(e).backgroundImage") == "none"


def test_printed_lines_wrap_on_a_desktop_only(sample, visit):
    page = visit(sample, "en/two.html").page
    output = page.locator(".cell_output pre").first
    output.evaluate("e => (e.textContent = 'number '.repeat(60) + 'x'.repeat(300))")
    fits = "e => e.scrollWidth <= e.clientWidth"
    assert output.evaluate(fits)
    assert (
        page.locator(".cell_input pre").first.evaluate("e => getComputedStyle(e).whiteSpace")
        == "pre"
    )
    page.set_viewport_size(PHONE)
    assert not output.evaluate(fits)  # Or columns would fall apart


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_table_of_sections_fits_a_phone(chapter, visit, lang):
    page = visit(chapter, f"{lang}/index.html", viewport=PHONE).page
    table = page.locator("table", has=page.locator("td a[href^='hybridize']"))
    heading = table.locator("th").last.bounding_box()
    assert heading["x"] + heading["width"] <= PHONE["width"] - 16


@pytest.mark.parametrize(("lang", "label"), [("en", "Hardware"), ("zh", "硬件")])
def test_the_status_has_a_card_for_each_notebook_on_a_phone(sample, visit, lang, label):
    page = visit(sample, f"{lang}/status.html", viewport=PHONE).page
    for cell in page.locator("#status td").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    hardware = page.locator("#status td", has_text="H200").first
    content = "e => getComputedStyle(e, '::before').content"
    assert hardware.evaluate(content) == f'"{label}"'
    page.set_viewport_size(DESKTOP)
    assert hardware.evaluate(content) == "none"


def test_previous_and_next_fit_a_phone(chapter, visit):
    page = visit(chapter, "en/parallel-strategies.html", viewport=PHONE).page
    for link in page.locator(".prev-next-area a").all():
        assert link.evaluate("e => e.scrollWidth <= e.clientWidth")
        arrow = link.locator(".fa-solid").bounding_box()
        assert arrow["width"] > 10
        assert 0 < arrow["x"] < PHONE["width"] - arrow["width"]


def test_the_link_of_a_heading_takes_no_line(sample, visit):
    heading = visit(sample, "en/two.html").page.get_by_role("heading", name="Look Closely")
    taller = heading.evaluate(
        """(heading) => {
            const link = heading.querySelector(".headerlink"), taller = [];
            const height = (display) => {
                link.style.display = display;
                return heading.getBoundingClientRect().height;
            };
            for (let width = 100; width < 250; width += 1) {
                heading.style.width = `${width}px`;
                if (height("") > height("none")) taller.push(width);
            }
            return taller;
        }"""
    )
    assert not taller


def test_every_fold_looks_like_a_solution(sample, visit):
    look = "e => ['border', 'padding', 'margin'].map((name) => getComputedStyle(e)[name])"
    solution, other = (
        visit(sample, path).page.locator("article details").last.evaluate(look)
        for path in ("en/two.html", "en/pipeline.html")
    )
    assert solution == other
    assert "solid" in solution[0]


# --- Every page -----------------------------------------------------------------------------------

WEIGHT = """() => [...performance.getEntriesByType("navigation"),
                   ...performance.getEntriesByType("resource")]
    .filter((entry) => !/mathjax.*woff2/.test(entry.name))
    .reduce((sum, entry) => sum + entry.transferSize, 0)"""
FOLDS = "() => [...document.querySelectorAll('details.fold')].map((fold) => fold.open)"
# Regions that scroll aside and that the keyboard cannot reach
UNREACHABLE = """() => [...document.querySelectorAll("body *")].filter((e) =>
    e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0
    && /auto|scroll/.test(getComputedStyle(e).overflowX)
    && !e.querySelector("a, button, [tabindex='0']")).map((e) => e.outerHTML.slice(0, 80))"""
# Cells of tables in which every character has a line of its own
NARROW = """() => [...document.querySelectorAll("th, td")].filter((e) =>
    e.checkVisibility() && e.textContent.trim().length > 1 && e.clientWidth < 45)
    .map((e) => e.textContent)"""
CUT = """() => [...document.querySelectorAll(".cell_input pre")].filter((e) =>
    e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)"""
TOOLS = """() => [...document.querySelectorAll(".tools button, .tools a")]
    .map((tool) => tool.getBoundingClientRect()).filter((box) => box.width)
    .map(({left, right, width, height}) => ({left, right, width, height}))"""


def violations(page) -> list[str]:
    """Return what axe-core finds serious or critical, WCAG 2 AA included.

    It judges no contrast on gradients, so without those at the edges of what scrolls.
    """
    page.add_style_tag(content="article * { background-image: none !important; }")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{v['id']} ({v['impact']}): {node['target']} {node['failureSummary']}"
        for v in found
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]


@pytest.fixture(scope="module", params=["chapter", "sample"])
def every_page(request, chromium):
    """Visit every page for the first time, wide and narrow; return what is to be judged of it.

    English on light and Chinese on dark ground: colors do not depend on the language.
    """
    site, facts = request.getfixturevalue(request.param), {}
    for path in site.pages():
        scheme = "light" if path.startswith("en") else "dark"
        context = chromium.new_context(viewport=DESKTOP, color_scheme=scheme)
        watched = Watched(context, site.address)
        page = watched.open(path)
        settle(page)
        fact = facts[path] = {
            "weight": page.evaluate(WEIGHT),
            "theme": page.evaluate("document.documentElement.dataset.theme"),
            "wrong formulas": page.locator("mjx-merror").count(),
            "language": page.locator(".languages a").evaluate("(a) => a.href"),
            "folds open": page.evaluate(FOLDS),
            "text": page.locator("main").inner_text(),
        }
        page.evaluate(UNFOLD)
        fact["cut code"] = page.evaluate(CUT)
        fact["violations"] = violations(page)
        page.set_viewport_size(PHONE)
        fact["phone width"] = page.evaluate("document.documentElement.scrollWidth")
        fact["phone tools"] = page.evaluate(TOOLS)
        page.wait_for_timeout(500)  # What scrolls only now is made reachable
        fact["unreachable"] = page.evaluate(UNREACHABLE)
        fact["narrow cells"] = page.evaluate(NARROW)
        fact["problems"] = watched.problems
        context.close()
    assert len(facts) >= 8
    return site, facts


def bad(every_page, judge) -> dict:
    """Return the pages of which a judgment does not hold, with the facts."""
    return {path: fact for path, fact in every_page[1].items() if not judge(fact)}


def test_no_page_has_an_error_or_leaves_the_origin(every_page):
    problems = {path: fact["problems"] for path, fact in every_page[1].items()}
    assert not any(problems.values()), problems
    assert not bad(every_page, lambda fact: fact["wrong formulas"] == 0)


def test_axe_finds_no_serious_violation(every_page):
    found = {path: fact["violations"] for path, fact in every_page[1].items()}
    assert not any(found.values()), found
    assert {fact["theme"] for fact in every_page[1].values()} == {"light", "dark"}


def test_a_first_page_is_light(every_page):
    weights = {path: fact["weight"] for path, fact in every_page[1].items()}
    assert all(20_000 < weight < 500_000 for weight in weights.values()), weights


def test_pages_fit_a_phone(every_page):
    widths = {path: fact["phone width"] for path, fact in every_page[1].items()}
    assert all(width <= PHONE["width"] for width in widths.values()), widths
    for path, fact in every_page[1].items():
        for tool in fact["phone tools"]:
            assert tool["left"] >= 0 and tool["right"] <= PHONE["width"], path
            assert tool["height"] >= 24 and tool["width"] >= 24, path  # WCAG 2.2, 2.5.8


def test_tables_and_formulas_can_be_read_on_a_phone(every_page):
    assert not bad(every_page, lambda fact: not fact["unreachable"])
    assert not bad(every_page, lambda fact: not fact["narrow cells"])


def test_code_fits_a_small_desktop(every_page):
    """A line of the chapter's code has 100 characters at most, bar those that say `fmt: skip`."""
    cut = {path: fact["cut code"] for path, fact in every_page[1].items() if fact["cut code"]}
    assert all(len(cells) <= 4 for cells in cut.values()), cut


def test_every_page_leads_to_itself_in_the_other_language(every_page):
    site, facts = every_page
    for path, fact in facts.items():
        lang, name = path.split("/")
        other = {"en": "zh", "zh": "en"}[lang]
        assert fact["language"] == f"{site.address}{other}/{name}"


def test_code_is_reachable_once_it_is_shown(sample, visit):
    page = visit(sample, "en/two.html", viewport=PHONE).page
    pre = page.locator("pre").filter(has_text="run_with('pytorch')")
    pre.evaluate("e => { e.append(' '.padEnd(200, 'x')); e.tabIndex = -1; }")
    page.get_by_role("button", name="PyTorch").click()
    page.wait_for_function("e => e.tabIndex === 0", arg=pre.element_handle())


def test_all_solutions_are_folded(every_page):
    folds = [is_open for fact in every_page[1].values() for is_open in fact["folds open"]]
    assert len(folds) >= 6
    assert not any(folds)
    assert not bad(every_page, lambda fact: "<details" not in fact["text"])


# --- Manners --------------------------------------------------------------------------------------


def test_the_status_leads_to_each_framework(sample, visit):
    page = visit(sample, "en/status.html").page
    row = page.locator("tr", has_text="Two Devices").filter(has_text="PyTorch")
    row.get_by_role("link").click()
    page.wait_for_url("**/two.html*")
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}


def test_the_server_sends_what_the_files_hold_now(tmp_path):
    page = tmp_path / "page.html"
    with served(tmp_path) as site:
        for text in ("before", "after"):
            page.write_text(text)
            request = Request(site.address + "page.html", headers={"Accept-Encoding": "gzip"})
            with urlopen(request) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                assert gzip.decompress(answer.read()).decode() == text


def test_a_first_page_is_soon_there(chapter, visit):
    """The fastest of some tries, because other work on the machine slows the rest."""
    times = []
    for _ in range(8):
        page = visit(chapter, "en/index.html").page
        times.append(
            page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        )
        if times[-1] < 1000:
            break
    assert min(times) < 1000


def test_the_sections_open_on_a_phone(chapter, visit):
    page = visit(chapter, "zh/index.html", viewport=PHONE).page
    page.get_by_role("button", name="显示或隐藏各节目录").click()
    page.locator("dialog").get_by_role("link", name="自动并行").click()
    page.wait_for_url("**/zh/auto-parallelism.html")


def test_the_keyboard_reaches_everything(sample, visit):
    page = visit(sample, "en/two.html").page
    reached, skipped = [], page.locator("#pst-skip-link a")
    page.keyboard.press("Tab")
    assert skipped.evaluate("e => e === document.activeElement")
    assert skipped.is_visible()
    for _ in range(80):
        reached.append(
            page.evaluate(
                """() => {
                    const {textContent, ariaLabel, tagName} = document.activeElement ?? {};
                    return textContent?.trim() || ariaLabel || tagName;
                }"""
            )
        )
        page.keyboard.press("Tab")
    for name in ("PyTorch", "中文", "Download notebook", "Solution 1", "Servers"):
        assert name in reached, reached
    assert any("Timeline" in (name or "") for name in reached)
    page.locator(".frameworks button").last.focus()
    page.keyboard.press("Space")
    assert frameworks_shown(page) == {"mxnet": False, "pytorch": True}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation_on_a_phone(sample, visit, scheme):
    for framework in ("mxnet", "pytorch"):
        address = f"zh/two.html?framework={framework}"
        page = visit(sample, address, viewport=PHONE, color_scheme=scheme).page
        page.evaluate(UNFOLD)
        assert not violations(page)


# --- Screenshots ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["index", "auto-parallelism", "status"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_screenshots(chapter, visit, lang, name, viewport, scheme):
    watched = visit(chapter, f"{lang}/{name}.html", viewport=viewport, color_scheme=scheme)
    settle(watched.page)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{lang}-{name}-{viewport['width']}-{scheme}.png"
    watched.page.screenshot(path=path)
    theme = watched.page.evaluate("document.documentElement.dataset.theme")
    assert theme == scheme
    assert path.stat().st_size > 10_000
