"""Results as one self-contained HTML file with charts, which it saves as SVG and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from zlens.rendering import answer_html
from zlens.rendering.html import page
from zlens.rig import tables
from zlens.rig.results import RigResult
from zlens.version import VERSION

_STYLE = """\
.red { color: #b00020; font-weight: 600; }
.green { color: #00664d; }
@media (prefers-color-scheme: dark) { .red { color: #ff8a80; } .green { color: #80e0c0; } }
figcaption a { font-weight: normal; margin-left: .7rem; }
section { border-top: 1px solid GrayText; margin-top: 2rem; }
"""
#: Saves a chart: the SVG with its colors resolved, or drawn to a canvas of twice its size.
_SCRIPT = """\
for (const figure of document.querySelectorAll("figure")) {
  const section = figure.closest("section"), svg = figure.querySelector("svg");
  const name = section.id + "-" + ([...section.querySelectorAll("figure")].indexOf(figure) + 1);
  const text = () => {
    const copy = svg.cloneNode(true);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = "text{font:12px sans-serif;fill:#000}.g{stroke:#000;stroke-opacity:.15}";
    copy.prepend(style);
    copy.setAttribute("width", 760);
    copy.setAttribute("height", 300);
    return new XMLSerializer().serializeToString(copy);
  };
  const save = (href, ending) => {
    const link = document.createElement("a");
    link.href = href;
    link.download = name + ending;
    link.click();
  };
  const uri = () => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text());
  const add = (label, run) => {
    const link = document.createElement("a");
    link.href = "#";
    link.textContent = label;
    link.onclick = (event) => { event.preventDefault(); run(); };
    figure.querySelector("figcaption").append(link);
  };
  add("SVG", () => save(uri(), ".svg"));
  add("PNG", () => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 1520;
      canvas.height = 600;
      const drawing = canvas.getContext("2d");
      drawing.fillStyle = "#fff";
      drawing.fillRect(0, 0, 1520, 600);
      drawing.drawImage(image, 0, 0, 1520, 600);
      save(canvas.toDataURL("image/png"), ".png");
    };
    image.src = uri();
  });
}
"""


def render(results: Sequence[RigResult], when: str) -> str:
    """Return the document. when: its date."""
    summary = tables.answer(results)
    parts = [
        f"<h1>{escape(summary.title)}</h1>",
        f"<p>zlens {VERSION}, {escape(when)}. Observed numbers are from the runs.</p>",
        "<ul>",
        *(
            f"<li><a href='#{escape(result.rig.name)}'>{escape(result.rig.title)}</a>: {_word(result)}</li>"
            for result in tables.in_order(results)
        ),
        "</ul>",
    ]
    for result in tables.in_order(results):
        rig = result.rig
        name = escape(rig.name)
        parts += [
            f"<section id='{name}'>",
            *answer_html.body(tables.scenario_answer(result)),
            f"<details><summary>{name}.toml</summary><pre>{escape(rig.toml)}</pre></details>",
            "</section>",
        ]
    return page(summary.title, "\n".join(parts), answer_html.STYLE + _STYLE, _SCRIPT, pictures=True)


def _word(result: RigResult) -> str:
    color = "green" if result.passed and result.complete else "red"
    return f"<span class={color}>{tables.outcome_word(result)}</span>"
