"""Which of the two forms a client wants, and what it is called."""

from __future__ import annotations

OPENMETRICS = "application/openmetrics-text"
_CONTENT = {
    True: f"{OPENMETRICS}; version=1.0.0; charset=utf-8",
    False: "text/plain; version=0.0.4; charset=utf-8",
}


def content_type(*, openmetrics: bool) -> str:
    """The content type of an answer."""
    return _CONTENT[openmetrics]


def wants_openmetrics(accept: str | None) -> bool:
    """Whether the Accept header of a request prefers OpenMetrics to text."""
    quality = {"text/plain": 0.0, OPENMETRICS: 0.0}
    for part in (accept or "").lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        if name in quality and weight.replace(".", "", 1).isdecimal():
            quality[name] = max(quality[name], float(weight))
    return quality[OPENMETRICS] > 0 and quality[OPENMETRICS] >= quality["text/plain"]
