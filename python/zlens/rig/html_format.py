"""Results as one self-contained HTML file with charts, which it saves as SVG and PNG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from zlens.answers import html_format
from zlens.rendering import charts
from zlens.rendering.html import page
from zlens.rig import tables
from zlens.rig.results import RigResult
from zlens.version import VERSION

_STYLE = """\
th small { display: block; font-weight: normal; color: GrayText; }
.red { color: #b00020; font-weight: 600; }
.green { color: #00664d; }
@media (prefers-color-scheme: dark) { .red { color: #ff8a80; } .green { color: #80e0c0; } }
figure { margin: 0 0 1.5rem; max-width: 760px; }
figcaption { font-weight: 600; }
figcaption a { font-weight: normal; margin-left: .7rem; }
section { border-top: 1px solid GrayText; margin-top: 2rem; }
"""
#: Saves a chart: the SVG with its colors resolved, or drawn to a canvas of twice its size.
_SCRIPT = """\
for (const figure of document.querySelectorAll("figure")) {
  const name = figure.dataset.name, svg = figure.querySelector("svg");
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
    """The page. when: the date that it names."""
    whole = tables.answer(results)
    parts = [
        f"<h1>{escape(whole.title)}</h1>",
        f"<p>zlens {VERSION}, {escape(when)}. Observed numbers are those of the runs.</p>",
        "<ul>",
        *(
            f"<li><a href='#{escape(one.rig.name)}'>{escape(one.rig.title)}</a>: {_word(one)}</li>"
            for one in tables.in_order(results)
        ),
        "</ul>",
    ]
    for one in tables.in_order(results):
        parts += _section(one)
    return page(whole.title, "\n".join(parts), _STYLE, _SCRIPT, pictures=True)


def _word(result: RigResult) -> str:
    if not result.complete:
        return "<span class=red>interrupted</span>"
    return (
        "<span class=green>as expected</span>" if result.passed else "<span class=red>not as expected</span>"
    )


def _section(result: RigResult) -> Iterator[str]:
    rig = result.rig
    place = f", {escape(rig.source.place)}" if rig.source.place else ""
    yield f"<section id='{escape(rig.name)}'><h2>{escape(rig.title)}: {_word(result)}</h2>"
    yield f"<p>{escape(rig.text)}</p>"
    yield f"<p>Source: {escape(rig.source.publication)}{place} ({escape(rig.source.status)})</p>"
    if rig.source.note:
        yield f"<p>{escape(rig.source.note)}</p>"
    for number, chart in enumerate(tables.charts(result), 1):
        drawn = charts.svg(chart)
        if drawn:
            name = f"{rig.name}-{number}"
            yield f"<figure data-name='{escape(name)}'><figcaption>{escape(chart.title)}</figcaption>"
            yield f"{drawn}</figure>"
    own = tables.answer([result], every=True)
    for table in own.tables:
        yield from html_format.drawn(table)
    yield from (f"<p class=red>{escape(note)}</p>" for note in own.notes)
    yield f"<details><summary>{escape(rig.name)}.toml</summary><pre>{escape(rig.toml)}</pre></details>"
    yield "</section>"
