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

function showFramework(name) {
  root.dataset.framework = name;
  remember("framework", name);
  markButtons();
}

function markButtons() {
  const enabled = [...buttons].filter((button) => !button.disabled);
  for (const button of buttons) {
    // A section of one framework shows that one, whatever the choice is elsewhere
    const shown = enabled.length === 1 ? button === enabled[0] : button.dataset.framework === root.dataset.framework;
    button.setAttribute("aria-pressed", shown);
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

function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const owner = target.closest(".framework") ?? target.querySelector(":scope > .framework:is(h1, h2, h3, h4)");
  const names = [...(owner?.classList ?? [])].filter((name) => name.startsWith("framework-"));
  const frameworks = names.map((name) => name.slice("framework-".length));
  if (owner && !frameworks.includes(root.dataset.framework)) showFramework(frameworks[0]);
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

window.addEventListener("hashchange", reveal);
reveal();

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

// ---- Figures that are wider than a phone -------------------------------------------------------

for (const figure of document.querySelectorAll("article p:has(> img)")) {
  if (getComputedStyle(figure).overflowX === "auto") figure.tabIndex = 0; // To scroll with keys
}
