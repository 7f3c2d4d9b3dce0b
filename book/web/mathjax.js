// The parts of MathJax that the chapter needs, half of the whole, and its fonts from here too.
window.MathJax = {
  loader: {
    load: ["input/tex-base", "[tex]/ams", "output/chtml", "a11y/assistive-mml"],
    paths: { fonts: "[mathjax]/fonts" },
  },
  tex: { packages: ["base", "ams"] },
  options: { ignoreHtmlClass: "document", processHtmlClass: "math" },
  startup: {
    ready() {
      delete MathJax.config.options.menuOptions; // A setting of the menu, which is not loaded
      MathJax.startup.defaultReady();
    },
  },
};
