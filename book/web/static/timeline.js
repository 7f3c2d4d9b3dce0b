// Timelines that the reader can zoom into; the picture stays for print and without JavaScript.
"use strict";

const words = JSON.parse(document.getElementById("timeline-labels").textContent);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const inMs = (ms) => (ms < 1 ? `${Math.round(1e3 * ms)} µs` : `${ms.toPrecision(4)} ms`);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Triples of name, start and duration in µs, as d2l_local/measure/drawn.py writes them.
function readSpans(text, { names, copies, loads = [] }) {
  const numbers = text.split(" ").filter(Boolean).map(Number);
  return Array.from({ length: numbers.length / 3 }, (_, i) => {
    const [name, start, length] = numbers.slice(3 * i, 3 * i + 3);
    const kind = copies.includes(name) ? "copy" : loads.includes(name) ? "load" : "compute";
    return { name: names[name], kind, start: start / 1e3, length: length / 1e3 };
  });
}

// Lane, time in µs and what was written there.
function readText(line) {
  const [, lane, time, text] = line.match(/^(\S+) (\S+) (.*)$/s);
  return { lane: Number(lane), time: time / 1e3, text };
}

function hatched(context, plain) {
  const tile = element("canvas", { width: 8, height: 8 });
  const pen = tile.getContext("2d");
  pen.fillStyle = plain;
  pen.fillRect(0, 0, 8, 8);
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const x of [-8, 0, 8]) {
    pen.moveTo(x, 8);
    pen.lineTo(x + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

class Chart {
  constructor(place, chart, drawn) {
    const { charts, left_out: leftOut } = drawn;
    this.lanes = Object.keys(chart.lanes);
    this.spans = Object.values(chart.lanes).map((text) => readSpans(text, drawn));
    this.texts = (chart.texts ?? []).map(readText).sort((a, b) => a.time - b.time);
    const predicted = Object.entries(chart.outlines ?? {});
    this.outlines = predicted.flatMap(([lane, text]) =>
      readSpans(text, drawn).map((span) => ({ ...span, lane: this.lanes.indexOf(lane) })),
    );
    const end = Math.max(...[...this.spans.flat(), ...this.outlines].map((span) => span.start + span.length));
    this.end = chart.end === undefined ? end : chart.end / 1e3; // Common to charts that share an axis
    // Charts of one figure are as wide as each other, whatever their lanes are called
    this.widest = Math.max(...charts.flatMap((other) => Object.keys(other.lanes)).map((lane) => lane.length));
    this.chosen = null; // [lane, index of the span]

    this.readout = element("p", { className: "timeline-readout", ariaLive: "polite" });
    this.canvas = element("div", { className: "timeline-chart", tabIndex: 0, role: "application" });
    const button = (text, sign, act) => {
      const made = element("button", { type: "button", title: text, ariaLabel: text, textContent: sign });
      made.addEventListener("click", act);
      return made;
    };
    const bar = element(
      "div",
      { className: "timeline-bar" },
      element("span", { className: "timeline-title", textContent: chart.title }),
      ...this.kinds().map((kind) =>
        element("span", { className: `timeline-key ${kind}`, textContent: words[kind] }),
      ),
      element(
        "span",
        { className: "timeline-buttons" },
        button(words.zoom_in, "+", () => this.zoom(0.5)),
        button(words.zoom_out, "−", () => this.zoom(2)),
        button(words.all, "↔", () => this.show(0, this.end)),
      ),
    );
    const help = matchMedia("(hover: none)").matches ? words.help_touch : words.help;
    this.canvas.ariaLabel = `${words.name}. ${help}`;
    this.help = ""; // Once a figure is enough, below its last chart
    if (chart === charts.at(-1)) this.help = leftOut ? `${help} ${fill(words.left_out, { count: leftOut })}` : help;
    this.readout.textContent = this.help;
    place.append(element("div", { className: "timeline-box" }, bar, this.canvas, this.readout));
    this.draw();
  }

  draw() {
    const axis = {
      stroke: () => color("--pst-color-text-base"),
      grid: { stroke: () => color("--pst-color-border"), width: 1 },
      ticks: { show: false },
      font: "13px sans-serif",
    };
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        scales: {
          x: { time: false, range: (_, low, high) => this.within(low, high) },
          y: { dir: -1, range: () => [-0.5, this.lanes.length - 0.5] },
        },
        series: [{}, { paths: () => null, points: { show: false } }],
        axes: [
          { ...axis, size: 34, space: 70, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(6)} ms`) },
          {
            ...axis,
            grid: { show: false },
            size: Math.min(150, 8 * this.widest + 14),
            splits: () => this.lanes.map((_, i) => i),
            values: () => this.lanes,
          },
        ],
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false },
          bind: {
            mousedown: (_, __, zoom) => (event) => (event.shiftKey ? this.startMove(event) : zoom(event)),
            dblclick: () => () => this.show(0, this.end),
          },
        },
        hooks: {
          draw: [(plot) => this.paint(plot)],
          setCursor: [(plot) => this.hover(plot)],
          setScale: [(plot) => this.note(plot.scales.x)],
        },
      },
      [[0, this.end], [0, 0]],
      this.canvas,
    );
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.canvas);
    new MutationObserver(() => this.plot.redraw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const over = this.plot.over;
    over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    over.addEventListener("pointerdown", (event) => this.touch(event));
  }

  size() {
    return { width: this.canvas.clientWidth || 600, height: 34 * this.lanes.length + 48 };
  }

  // A stretch of time that is inside the recording and not shorter than can be told apart.
  within(low, high) {
    const length = Math.min(Math.max(high - low, Math.min(0.01, this.end)), this.end);
    const start = Math.min(Math.max(low, 0), this.end - length);
    return [start, start + length];
  }

  // For style sheets and tests: what is to be seen, in ms.
  note({ min, max }) {
    Object.assign(this.canvas.dataset, { from: min, to: max });
  }

  show(low, high) {
    const [min, max] = this.within(low, high);
    this.plot.setScale("x", { min, max });
  }

  zoom(factor, around) {
    const { min, max } = this.plot.scales.x;
    const middle = around ?? (this.chosen ? this.span.start + this.span.length / 2 : (min + max) / 2);
    const center = Math.min(Math.max(middle, min), max);
    this.show(center - (center - min) * factor, center + (max - center) * factor);
  }

  // What is told apart, if anything is.
  kinds() {
    const there = new Set(this.spans.flat().map((span) => span.kind));
    return there.size > 1 ? ["compute", "copy", "load"].filter((kind) => there.has(kind)) : [];
  }

  get span() {
    return this.spans[this.chosen[0]][this.chosen[1]];
  }

  paint(plot) {
    const { ctx } = plot;
    const fill = { copy: hatched(ctx, color("--timeline-copy")) };
    for (const kind of ["compute", "load"]) fill[kind] = color(`--timeline-${kind}`);
    const [low, high] = [plot.scales.x.min, plot.scales.x.max];
    ctx.save();
    ctx.beginPath();
    ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    ctx.clip();
    this.spans.forEach((spans, lane) => {
      const top = plot.valToPos(lane - 0.36, "y", true);
      const height = plot.valToPos(lane + 0.36, "y", true) - top;
      spans.forEach((span, i) => {
        if (span.start > high || span.start + span.length < low) return;
        const left = plot.valToPos(span.start, "x", true);
        const width = Math.max(plot.valToPos(span.start + span.length, "x", true) - left, 1);
        ctx.fillStyle = fill[span.kind];
        ctx.fillRect(left, top, width > 3 ? width - 1 : width, height);
        if (this.chosen?.[0] === lane && this.chosen[1] === i) {
          ctx.strokeStyle = color("--pst-color-text-base");
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.strokeRect(left, top, width, height);
        }
      });
    });
    ctx.strokeStyle = color("--pst-color-text-base");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const { lane, start, length } of this.outlines) {
      const [left, right] = [start, start + length].map((time) => plot.valToPos(time, "x", true));
      const [top, bottom] = [lane - 0.45, lane + 0.45].map((place) => plot.valToPos(place, "y", true));
      ctx.strokeRect(left, top, right - left, bottom - top);
    }
    this.canvas.dataset.outlines = this.outlines.length; // For tests
    this.write(plot);
    ctx.restore();
  }

  // What was written on spans, where they are long enough for it.
  write(plot) {
    const { ctx } = plot;
    Object.assign(ctx, { fillStyle: color("--timeline-text"), textAlign: "center", textBaseline: "middle" });
    ctx.font = `${13 * devicePixelRatio}px sans-serif`;
    const ends = []; // Of the last text in each lane
    const written = this.texts.filter(({ lane, time, text }) => {
      const [x, y] = [plot.valToPos(time, "x", true), plot.valToPos(lane, "y", true)];
      const half = ctx.measureText(text).width / 2 + devicePixelRatio;
      const [low, high] = [x - half, x + half].map((place) => plot.posToVal(place, "x", true));
      const covered = (this.spans[Math.round(lane)] ?? []).reduce(
        (sum, { start, length }) => sum + Math.max(Math.min(start + length, high) - Math.max(start, low), 0),
        0,
      );
      if (covered < 0.9 * (high - low) || low < ends[lane]) return false;
      ends[lane] = high;
      ctx.fillText(text, x, y);
      return true;
    });
    this.canvas.dataset.texts = written.map(({ text }) => text).join(" "); // For tests
  }

  choose(chosen) {
    if (String(chosen) === String(this.chosen)) return;
    this.chosen = chosen;
    const { name, start, length } = chosen ? this.span : {};
    this.readout.textContent = chosen
      ? fill(words.readout, { name, lane: this.lanes[chosen[0]], start: inMs(start), length: inMs(length) })
      : this.help;
    this.plot.redraw(false);
  }

  // The span at a place in the chart, in CSS pixels; a short one counts as three pixels wide.
  at(left, top) {
    const lane = Math.round(this.plot.posToVal(top, "y"));
    const time = this.plot.posToVal(left, "x");
    const near = this.plot.posToVal(left + 1.5, "x") - time;
    const index = (this.spans[lane] ?? []).findIndex(
      ({ start, length }) => time >= start - Math.max(near - length / 2, 0) && time <= start + Math.max(length, length / 2 + near),
    );
    return index < 0 ? null : [lane, index];
  }

  hover(plot) {
    const { left, top } = plot.cursor;
    if (left >= 0) this.choose(this.at(left, top));
  }

  key(event) {
    const [lane, index] = this.chosen ?? [0, -1];
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const change = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0") this.show(0, this.end);
    else if (step) this.select(lane, index + step);
    else if (change) {
      const now = this.chosen ? this.span.start : 0;
      const next = Math.min(Math.max(lane + change, 0), this.lanes.length - 1);
      const first = this.spans[next].findIndex(({ start, length }) => start + length > now);
      this.select(next, first < 0 ? this.spans[next].length - 1 : first);
    } else return;
    event.preventDefault();
  }

  select(lane, index) {
    this.choose([lane, Math.min(Math.max(index, 0), this.spans[lane].length - 1)]);
    const { min, max } = this.plot.scales.x;
    const { start, length } = this.span;
    if (start < min || start + length > max) {
      const half = Math.max(max - min, 2 * length) / 2;
      this.show(start + length / 2 - half, start + length / 2 + half);
    }
  }

  time(event) {
    return this.plot.posToVal(event.clientX - this.plot.over.getBoundingClientRect().left, "x");
  }

  // Without Ctrl the wheel scrolls the page, as everywhere; a pinch on a touchpad sets Ctrl.
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY / 200), this.time(event));
  }

  startMove(event) {
    const { min, max } = this.plot.scales.x;
    const perPixel = (max - min) / this.plot.over.clientWidth;
    const move = (now) => {
      const shift = (event.clientX - now.clientX) * perPixel;
      this.show(min + shift, max + shift);
    };
    const end = new AbortController();
    document.addEventListener("mousemove", move, { signal: end.signal });
    document.addEventListener("mouseup", () => end.abort(), { signal: end.signal });
  }

  // One finger moves and chooses, two zoom; up and down scrolls the page (CSS: touch-action).
  touch(event) {
    if (event.pointerType !== "touch") return;
    const over = this.plot.over;
    this.fingers ??= new Map();
    this.fingers.set(event.pointerId, event);
    over.setPointerCapture(event.pointerId);
    if (this.fingers.size > 1) return;
    const box = over.getBoundingClientRect();
    this.choose(this.at(event.clientX - box.left, event.clientY - box.top));
    const end = new AbortController();
    const move = (now) => {
      if (!this.fingers.has(now.pointerId)) return;
      const before = [...this.fingers.values()];
      this.fingers.set(now.pointerId, now);
      const after = [...this.fingers.values()];
      if (after.length > 1) {
        const apart = ([a, b]) => Math.max(Math.abs(a.clientX - b.clientX), 8);
        this.zoom(apart(before) / apart(after), (this.time(after[0]) + this.time(after[1])) / 2);
      } else {
        const { min, max } = this.plot.scales.x;
        const shift = this.time(before[0]) - this.time(after[0]);
        this.show(min + shift, max + shift);
      }
    };
    const lift = (now) => {
      this.fingers.delete(now.pointerId);
      if (!this.fingers.size) end.abort();
    };
    over.addEventListener("pointermove", move, { signal: end.signal });
    for (const name of ["pointerup", "pointercancel"]) over.addEventListener(name, lift, { signal: end.signal });
  }
}

for (const script of document.querySelectorAll("script.timeline")) {
  const data = JSON.parse(script.textContent);
  const pictures = [...script.closest(".cell_output").querySelectorAll("img")].filter(
    (image) => image.compareDocumentPosition(script) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  const picture = pictures.at(-1);
  const charts = data.charts.filter((chart) => Object.values(chart.lanes).join(""));
  if (!picture || !charts.length) continue;
  const place = element("div");
  picture.after(place);
  picture.classList.add("timeline-picture");
  for (const chart of charts) new Chart(place, chart, { ...data, charts });
}
