"""A drawing in one language: boxes, arrows and text in the one style of the chapter's figures."""

from pathlib import Path
from xml.sax.saxutils import escape

import yaml

IMG = Path(__file__).resolve().parents[2] / "img"
LABELS = {"en": None, **yaml.safe_load((IMG / "labels.yml").read_text(encoding="utf-8"))}

SANS = "'Helvetica Neue', Arial, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"
TEXT, SMALL, CODE = 14, 12, 12.5  # Font sizes
LINE, ARROW, RADIUS = 1.5, 2, 6  # Stroke widths and the radius of corners
HEAD, HALF_HEAD = 9, 4.5  # Length and half the width of arrow heads

# Okabe and Ito's colors, which color-blind readers can tell apart, as (line, fill). Their orange,
# yellow and pink are too faint for lines on white (below 3:1), so those lines are darker.
BLUE = ("#0072B2", "#D9EAF4")
ORANGE = ("#B37400", "#FBE3B0")
GREEN = ("#009E73", "#D3EEE5")
PINK = ("#A04E7D", "#F5E1EC")
YELLOW = ("#8A8000", "#FCF8CC")
GRAY = ("#5F6670", "#F1F3F5")
INK, PAPER, EDGE = "#1B1F24", "#FFFFFF", "#D0D5DB"
PALETTE = {*BLUE, *ORANGE, *GREEN, *PINK, *YELLOW, *GRAY, INK, PAPER, EDGE}

# What boxes stand for. Color is never alone: copies are pills, data has sharp corners, waiting is
# dashed.
KINDS = {
    "compute": (BLUE, RADIUS, None),
    "copy": (ORANGE, 99, None),
    "data": (GREEN, 0, None),
    "overhead": (PINK, RADIUS, None),
    "notice": (YELLOW, RADIUS, None),
    "wait": (GRAY, RADIUS, "5 4"),
    "lane": ((EDGE, GRAY[1]), RADIUS, None),
    "mark": (YELLOW, 99, None),
    "backward": (GREEN, RADIUS, None),
    "device_0": (BLUE, 0, None),
    "device_1": (PINK, 0, None),
    "both": (GRAY, 0, None),
    "plain": ((GRAY[0], PAPER), 0, None),
    "partial": (BLUE, 0, None),
    "done": (GREEN, 0, None),
}


def number(x):
    """Write a coordinate with at most one decimal, the same on every machine."""
    return f"{round(float(x), 1):g}"


def is_wide(char):
    """Tell whether a character takes a whole em: Chinese, Japanese and their punctuation."""
    return ord(char) >= 0x2E80


def text_width(text, size):
    """Estimate the width of a line; the reader's font is unknown."""
    return size * sum(1 if is_wide(c) else 0.54 for c in text)


class Drawing:
    """One figure in one language: a list of SVG elements on a light panel.

    The panel makes the figure legible on a dark page, which an embedded image cannot know of.
    """

    def __init__(self, language, width, height, title, desc):
        self.language, self.width, self.height = language, width, height
        self.used = set()
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" lang="{language}" role="img" '
            f'font-family="{SANS}" font-size="{TEXT}" fill="{INK}">',
            f"<title>{escape(self.t(title))}</title>",
            f"<desc>{escape(self.t(desc))}</desc>",
        ]
        self.rect(0.5, 0.5, width - 1, height - 1, (EDGE, PAPER), 10)

    def t(self, label, *args):
        """Return a label in the drawing's language; `args` go where the label has {}."""
        self.used.add(label)
        labels = LABELS[self.language]
        if labels is not None:
            if label not in labels:
                raise KeyError(f"labels.yml has no {self.language} for {label!r}")
            label = labels[label]
        return label.format(*args)

    def rect(self, x, y, w, h, colors, radius=RADIUS, dash=None):
        """Draw a rectangle; its corner is at (x, y)."""
        line, fill = colors
        radius = min(radius, w / 2, h / 2)
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
            + (f' rx="{number(radius)}"' if radius else "")
            + f' fill="{fill}" stroke="{line}" stroke-width="{number(LINE)}"'
            + (f' stroke-dasharray="{dash}"' if dash else "")
            + "/>"
        )

    def text(self, x, y, text, size=TEXT, anchor="middle", bold=False, mono=False, color=INK):
        """Write lines of text, centered on `y`."""
        lines = text.split("\n")
        top = y - (len(lines) - 1) * size * 0.65 + size * 0.35  # 1.3 line spacing; the baseline
        spans = [
            f'<tspan x="{number(x)}" y="{number(top + i * size * 1.3)}">{escape(line)}</tspan>'
            for i, line in enumerate(lines)
        ]
        attributes = [f'text-anchor="{anchor}"']
        attributes += [f'font-size="{size}"'] if size != TEXT else []
        attributes += ['font-weight="bold"'] if bold else []
        attributes += [f'font-family="{MONO}"'] if mono else []
        attributes += [f'fill="{color}"'] if color != INK else []
        self.parts.append(f"<text {' '.join(attributes)}>{''.join(spans)}</text>")

    def symbol(self, x, y, symbol):
        """Write a symbol with an index, such as `t_q`, centered on (x, y)."""
        letter, index = symbol.split("_")
        self.text(x, y, letter, anchor="end")
        self.text(x, y + 3, index, SMALL - 2, anchor="start")

    def box(self, x, y, w, h, label="", code="", kind="compute", size=TEXT, bold=False):
        """Draw a box around (x, y) with a label and, below it, code."""
        colors, radius, dash = KINDS[kind]
        self.parts.append("<g>")
        self.rect(x - w / 2, y - h / 2, w, h, colors, radius, dash)
        shift = 9 if code and label else 0
        if label:
            self.text(x, y - shift, label, size, bold=bold)
        if code:
            self.text(x, y + shift, code, CODE, mono=True)
        self.parts.append("</g>")

    def lane(self, x, y, w, h, label="", below=False):
        """Draw a shaded area with its corner at (x, y), named at its top or bottom."""
        colors, radius, dash = KINDS["lane"]
        self.rect(x, y, w, h, colors, radius, dash)
        if label:
            self.text(x + w / 2, y + (h - 16 if below else 16), label, bold=True)

    def line(self, points, colors=GRAY, dash=None, width=ARROW):
        """Draw a line through points, with round corners."""
        path = f"M{number(points[0][0])} {number(points[0][1])}"
        for before, (x, y), after in zip(points, points[1:], points[2:]):
            (ax, ay), (bx, by) = toward((x, y), before, 8), toward((x, y), after, 8)
            path += f"L{number(ax)} {number(ay)}Q{number(x)} {number(y)} {number(bx)} {number(by)}"
        path += f"L{number(points[-1][0])} {number(points[-1][1])}"
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{colors[0]}" '
            f'stroke-width="{number(width)}"{dash}/>'
        )

    def arrow(self, points, colors=GRAY, dash=None, both=False):
        """Draw an arrow through points, with a head at its end or at both ends."""
        end, start = toward(points[-1], points[-2], HEAD - 1), points[0]
        if both:
            start = toward(points[0], points[1], HEAD - 1)
        self.line([start, *points[1:-1], end], colors, dash)
        self.head(points[-1], points[-2], colors)
        if both:
            self.head(points[0], points[1], colors)

    def head(self, tip, origin, colors):
        """Draw an arrow head at `tip` that points away from `origin`."""
        x, y = toward(tip, origin, HEAD)
        dx, dy = (tip[0] - x) / HEAD * HALF_HEAD, (tip[1] - y) / HEAD * HALF_HEAD
        corners = [tip, (x - dy, y + dx), (x + dy, y - dx)]
        path = "L".join(f"{number(a)} {number(b)}" for a, b in corners)
        self.parts.append(f'<path d="M{path}Z" fill="{colors[0]}"/>')

    def legend(self, y, **kinds):
        """Explain kinds of boxes and arrows in a centered row."""
        widths = [58 + text_width(text, SMALL) for text in kinds.values()]
        x = (self.width - sum(widths) + 24) / 2
        for (kind, text), width in zip(kinds.items(), widths):
            if kind.startswith("arrow"):
                colors = ORANGE if "orange" in kind else GRAY
                dash = "5 4" if "dashed" in kind else None
                self.arrow([(x, y), (x + 26, y)], colors, dash, both="both" in kind)
            else:
                self.box(x + 13, y, 26, 14, kind=kind)
            self.text(x + 33, y, text, SMALL, anchor="start")
            x += width

    def svg(self):
        """Return the file's text."""
        return "\n".join([*self.parts, "</svg>", ""])


def toward(start, end, distance):
    """Return the point at a distance from `start` on the way to `end`."""
    (x, y), (u, v) = start, end
    length = max(((u - x) ** 2 + (v - y) ** 2) ** 0.5, 1e-9)
    share = min(distance / length, 0.5) if length < distance * 2 else distance / length
    return x + (u - x) * share, y + (v - y) * share
