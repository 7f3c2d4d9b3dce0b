// The framework switch, the way to the other language, and links to what is hidden or folded.
"use strict";

const root = document.documentElement;

function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // No storage, no memory
  }
}

// ---- Frameworks --------------------------------------------------------------------------------

const buttons = document.querySelectorAll(".frameworks button");

// Keep what the reader sees where it is while other parts of the page come and go.
function keepPlace(change) {
  const seen = [...document.querySelectorAll("article :is(h1, h2, h3, p, pre, img)")].find(
    (element) => !element.closest(".framework") && element.getBoundingClientRect().top > 60,
  );
  const before = seen?.getBoundingClientRect().top;
  root.style.overflowAnchor = "none"; // Or the browser moves the page, too
  change();
  if (seen) window.scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
  requestAnimationFrame(() => (root.style.overflowAnchor = ""));
}

function showFramework(name, { forNow = false } = {}) {
  root.dataset.framework = name;
  if (!forNow) remember("framework", name);
  markButtons();
}

function markButtons() {
  for (const button of buttons) {
    button.setAttribute("aria-pressed", button.dataset.framework === root.dataset.framework);
  }
}

for (const button of buttons) {
  button.addEventListener("click", () => {
    keepPlace(() => showFramework(button.dataset.framework));
    const address = new URL(location);
    address.searchParams.set("framework", button.dataset.framework);
    history.replaceState(history.state, "", address);
  });
}
markButtons();

// ---- Links to what is hidden or folded ---------------------------------------------------------

function reveal(target, options) {
  const owner = target.closest(".framework") ?? target.querySelector(":scope > .framework:is(h1, h2, h3, h4)");
  const names = [...(owner?.classList ?? [])].filter((name) => name.startsWith("framework-"));
  const frameworks = names.map((name) => name.slice("framework-".length));
  if (owner && !frameworks.includes(root.dataset.framework)) showFramework(frameworks[0], options);
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView(options?.place);
}

function revealTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) reveal(target);
}

window.addEventListener("hashchange", revealTarget);
revealTarget();

// ---- Search ------------------------------------------------------------------------------------

const FOUND = "found"; // A result was followed; the next page is to show what was found

if (typeof Search !== "undefined") {
  const { htmlToText, makeSearchSummary } = Search;
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    for (const stamp of page.querySelectorAll(".stamp")) stamp.remove();
    return htmlToText(page.documentElement.outerHTML, anchor);
  };
  Search.makeSearchSummary = (...found) => {
    const summary = makeSearchSummary(...found);
    if (summary) // No halves of words at its ends
      summary.textContent = summary.textContent
        .replace(/^\.\.\.[!-~’]*\s+/, "… ")
        .replace(/\s+[!-~’]*\.\.\.$/, " …");
    return summary;
  };
  document.getElementById("search-results")?.addEventListener("click", (event) => {
    if (event.target.closest("a")) sessionStorage.setItem(FOUND, "yes");
  });
} else if (sessionStorage.getItem(FOUND)) {
  sessionStorage.removeItem(FOUND);
  const article = document.querySelector("article");
  const show = () => {
    const marked = [...article.querySelectorAll("span.highlighted")];
    if (!marked.length) return;
    found.disconnect();
    const seen = marked.find((mark) => mark.checkVisibility());
    reveal(seen ?? marked[0], { forNow: true, place: { block: "center" } });
  };
  const found = new MutationObserver(show); // Sphinx marks words some time after loading
  if (article && !location.hash) found.observe(article, { childList: true, subtree: true });
}

// ---- Languages ---------------------------------------------------------------------------------

const languages = document.querySelectorAll(".languages a");
const sections = [...document.querySelectorAll("article section[id] section[id], article details[id]")];

// Headings have the same names in every language, so the way over leads to where the reader is.
function markPlace() {
  const atEnd = scrollY > 0 && scrollY + innerHeight > root.scrollHeight - 2;
  const line = atEnd ? innerHeight / 2 : 120;
  const above = sections.filter((section) => {
    const { top, height } = section.getBoundingClientRect();
    return height > 0 && top < line;
  });
  for (const link of languages) {
    const address = new URL(link.href);
    address.hash = above.at(-1)?.id ?? "";
    link.href = address;
  }
}

for (const link of languages) {
  for (const event of ["pointerenter", "pointerdown", "focus", "click"]) link.addEventListener(event, markPlace);
  link.addEventListener("click", () => remember("language", link.dataset.language));
}

// ---- What is wider than a phone scrolls, with keys too -----------------------------------------

const wide = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
// The theme sees to code and tables, but not to those in a fold or of the other framework
const wider = "article :is(pre, .pst-scrollable-table-container, :is(p, .picture):has(> img))";
for (const element of document.querySelectorAll(wider)) wide.observe(element);
window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  for (const formula of document.querySelectorAll("div.math > mjx-container")) wide.observe(formula);
});

// ---- Paper is white ----------------------------------------------------------------------------

let theme;
window.addEventListener("beforeprint", () => {
  theme = root.dataset.theme;
  root.dataset.theme = "light";
});
window.addEventListener("afterprint", () => (root.dataset.theme = theme));
