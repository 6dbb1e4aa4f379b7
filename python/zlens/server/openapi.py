"""The OpenAPI document, generated from the endpoints that requests are checked against."""

from __future__ import annotations

from typing import Any

from zlens.schema.validators import Key
from zlens.server.endpoints import ENDPOINTS
from zlens.server.endpoints.endpoint import Endpoint
from zlens.server.response_bodies import LINES
from zlens.version import VERSION

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "expected", "cure", "kind"],
            "properties": {
                "message": {"type": "string", "description": "the error, in one sentence"},
                "expected": {"type": ["string", "null"], "description": "expected values"},
                "cure": {"type": ["string", "null"], "description": "fix, as an imperative"},
                "kind": {"type": "string", "description": "QueryError, Cancelled, Token, ..."},
                "position": {"type": "integer", "description": "byte offset of the error in the query"},
            },
        }
    },
}
_REFUSED = {
    "400": "the request is invalid",
    "401": "the token is missing or wrong",
    "403": "cross-site request",
    "404": "no such endpoint",
    "409": "the request was canceled",
    "410": "an input can no longer be read",
    "413": "the request is too long",
    "415": "the request is not JSON",
    "500": "a bug in zlens",
    "503": "too many requests in progress",
}


def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "zlens",
            "version": VERSION,
            "description": "The API of the web UI: the results of zlens' commands, as JSON.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # No token is needed if the server listens on this machine only.
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{endpoint.name.partition('.')[0].replace('/', '_')}",
        "summary": endpoint.summary,
        "responses": {
            "200": {
                "description": endpoint.lists or endpoint.lines or "the answer",
                "content": _content(endpoint),
            },
            **{status: _refused(text) for status, text in _REFUSED.items()},
        },
    }
    if endpoint.method == "GET":
        operation["parameters"] = [_parameter(key) for key in endpoint.record.keys]
    else:
        schema = endpoint.record.schema()
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _content(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.media:
        return {endpoint.media: {"schema": {"type": "string", "format": "binary"}}}
    return {LINES if endpoint.lines else "application/json": {"schema": _schema(endpoint)}}


def _schema(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.lists:
        return {"type": "array", "items": {"type": "object"}}
    properties = {name: {"description": text} for name, text in endpoint.gives.items()}
    return {"type": "object", "properties": properties}


def _parameter(key: Key) -> dict[str, Any]:
    schema = key.kind.schema()
    parameter = {
        "name": key.name,
        "in": "query",
        "required": key.is_required,
        "description": key.text,
        "schema": schema,
    }
    return parameter | ({"style": "form", "explode": False} if schema.get("type") == "array" else {})


def _refused(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
