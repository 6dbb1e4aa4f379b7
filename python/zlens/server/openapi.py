"""The OpenAPI document, made of the endpoints that requests are checked by."""

from __future__ import annotations

from typing import Any

from zlens.schema.kinds import Key
from zlens.server.endpoints import ENDPOINTS, Endpoint
from zlens.version import VERSION

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "expected", "cure", "kind"],
            "properties": {
                "message": {"type": "string", "description": "what is wrong, one sentence"},
                "expected": {"type": ["string", "null"], "description": "what should have been there"},
                "cure": {"type": ["string", "null"], "description": "what to do about it"},
                "kind": {"type": "string", "description": "QueryError, Cancelled, Token, ..."},
            },
        }
    },
}
_REFUSED = {
    "400": "the question is wrong",
    "401": "the token is missing",
    "403": "another site asks",
    "404": "there is no such question",
    "409": "the question was cancelled",
    "410": "an input cannot be read any more",
    "413": "the question is too long",
    "415": "the question is no JSON",
    "500": "a bug in zlens",
    "503": "too much is being asked at a time",
}


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "zlens",
            "version": VERSION,
            "description": "What the page asks. The same as the commands of zlens answer, as JSON.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # Without a token only where the server listens to this machine alone.
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{endpoint.name.partition('.')[0]}",
        "summary": endpoint.summary,
        "responses": {
            "200": {
                "description": endpoint.lists or "the answer",
                "content": {"application/json": {"schema": _given(endpoint)}},
            },
            **{status: _refused(text) for status, text in _REFUSED.items()},
        },
    }
    if endpoint.method == "GET":
        found["parameters"] = [_parameter(key) for key in endpoint.record.keys]
    else:
        schema = endpoint.record.schema()
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _given(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.lists:
        return {"type": "array", "items": {"type": "object"}}
    told = {name: {"description": text} for name, text in endpoint.gives.items()}
    return {"type": "object", "properties": told}


def _parameter(one: Key) -> dict[str, Any]:
    schema = one.kind.schema()
    found = {
        "name": one.name,
        "in": "query",
        "required": one.needed,
        "description": one.text,
        "schema": schema,
    }
    return found | ({"style": "form", "explode": False} if schema.get("type") == "array" else {})


def _refused(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
