"""Tests of the OpenAPI document: it is complete, and a base for arbitrary requests."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iterations import iterations
from zlens.server.endpoints import ENDPOINTS
from zlens.server.openapi import document
from zlens.server.response_bodies import LINES

#: Endpoints with fixed costs: they read the complete input whatever the parameters.
WHOLE = ("reports",)


def test_openapi_document_equals_response(served):
    assert served.get("openapi.json").json() == document()


def test_openapi_describes_every_endpoint():
    found = document()
    assert found["openapi"].startswith("3.1")
    assert {"title", "version"} <= set(found["info"])
    assert set(found["paths"]) == {endpoint.path for endpoint in ENDPOINTS}
    names = []
    for methods in found["paths"].values():
        for method, operation in methods.items():
            names.append(operation["operationId"])
            assert operation["summary"]
            assert {"200", "400", "403", "409"} <= set(operation["responses"])
            assert ("requestBody" in operation) == (method == "post")
            for parameter in operation.get("parameters", ()):
                assert parameter["description"]
                assert parameter["in"] == "query"
                check_schema(parameter["schema"])
            if method == "post":
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                assert all(one["description"] for one in schema["properties"].values())
                check_schema(schema)
    assert len(set(names)) == len(names)


def check_schema(schema):
    """Check that all keywords are JSON Schema's, each where it applies."""
    known = {"type", "anyOf", "enum", "description", "items", "properties", "required"}
    known |= {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
    known |= {"maxProperties", "additionalProperties"}
    assert set(schema) <= known
    assert "type" in schema or "anyOf" in schema
    for one in schema.get("anyOf", []):
        check_schema(one)
    for one in schema.get("properties", {}).values():
        check_schema(one)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            check_schema(schema[part])
    assert set(schema.get("required", ())) <= set(schema.get("properties", ()))


WORDS = st.sampled_from(
    ["load", "cpu", "busy_pct", "cpu_id", "system", "ZLDEMO", "prclog", "interval_end", "PAG-003", "../x"]
)
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)


def values(schema):
    """Return a strategy of mostly valid values for a schema."""
    return st.one_of(allowed(schema), allowed(schema), allowed(schema), STRANGE)


def allowed(schema):
    if "anyOf" in schema:
        return st.one_of([values(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema["type"]
    if kind == "string":
        return st.one_of(WORDS, st.text(max_size=min(30, schema["maxLength"])))
    if kind == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    if kind == "number":
        return st.floats(schema["minimum"], schema["maximum"])
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if kind == "array":
        return st.lists(values(schema["items"]), min_size=schema["minItems"], max_size=3)
    if "properties" not in schema:
        return st.dictionaries(WORDS, values(schema["additionalProperties"]), max_size=2)
    needed = schema.get("required", [])
    parts = {name: values(one) for name, one in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: parts[name] for name in needed},
        optional={name: part for name, part in parts.items() if name not in needed},
    )


def in_form(response):
    assert response.status_code < 500, response.text
    if response.headers["content-type"] == LINES:
        assert response.status_code == 200
        for line in response.text.splitlines():
            assert isinstance(json.loads(line), dict)
        return
    if response.headers["content-type"] == "application/octet-stream":
        assert response.status_code == 200
        return
    assert response.headers["content-type"] == "application/json"
    found = response.json()
    if response.status_code != 200:
        assert set(found) == {"error"}
        assert set(found["error"]) - {"position"} == {"message", "expected", "cure", "kind"}
        assert found["error"]["message"]
    assert "Traceback" not in response.text or response.status_code == 200


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if one.name not in WHOLE], ids=lambda endpoint: endpoint.name
)
def test_any_parameters_are_handled(served, endpoint):
    schema = endpoint.record.schema()

    @settings(
        max_examples=iterations(25, 8),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(values(schema))
    def ask(parameters):
        if endpoint.method == "POST":
            in_form(served.client.post(endpoint.path, json=parameters))
        elif isinstance(parameters, dict):
            in_form(served.client.get(endpoint.path, params={k: str(v) for k, v in parameters.items()}))

    ask()
