"""Frame of self-contained HTML files."""

from __future__ import annotations

from html import escape

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'{allowed}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; max-width: 80rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; margin-bottom: 1.5rem; }}
th, td {{ padding: .15rem .6rem; text-align: right; white-space: nowrap; }}
th {{ vertical-align: bottom; border-bottom: 1px solid GrayText; }}
.t {{ text-align: left; }}
.m {{ color: GrayText; }}
svg {{ max-width: 760px; width: 100%; font-size: 12px; display: block; }}
svg text {{ fill: currentColor; }}
svg .g {{ stroke: currentColor; stroke-opacity: .15; }}
.wide {{ overflow-x: auto; }}
{style}</style>
</head>
<body>
{body}
{script}</body>
</html>
"""


def page(title: str, body: str, style: str = "", script: str = "", *, pictures: bool = False) -> str:
    """Return a document; only the title is escaped. pictures: whether the script draws some."""
    return _FRAME.format(
        title=escape(title),
        body=body,
        style=style,
        allowed="; script-src 'unsafe-inline'" * bool(script) + "; img-src data:" * pictures,
        script=f"<script>\n{script}</script>\n" if script else "",
    )
