"""Endpoints that the application answers: requests in progress, login, this description."""

from __future__ import annotations

from zlens.schema.validators import Key, Text
from zlens.server.endpoints.endpoint import Endpoint

ENDPOINTS = (
    Endpoint(
        "running",
        "Requests in progress",
        "",
        (),
        {},
        "a list: id, what, seconds, and done, of and text if the work reports its progress",
    ),
    Endpoint(
        "cancel",
        "Cancel a request",
        "",
        (Key("id", Text(64, 1), "the name of the request"),),
        {"cancelled": "number of requests of that name"},
        method="POST",
    ),
    Endpoint(
        "login",
        "Exchange the token for a cookie",
        "",
        (Key("token", Text(1000, 1), "the token that zlens serve printed"),),
        {"entered": "true; the answer sets a cookie that later requests send"},
        method="POST",
    ),
    Endpoint("openapi.json", "This description", "", (), {"openapi": "3.1.0"}),
)
