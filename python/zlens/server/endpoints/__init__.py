"""All endpoints as data, used to check requests and to generate the OpenAPI document."""

from __future__ import annotations

from zlens.server.endpoints import application, findings, inputs, models, reports, systems, tables
from zlens.server.endpoints.endpoint import Endpoint

ENDPOINTS = (
    *inputs.ENDPOINTS,
    *tables.ENDPOINTS,
    *reports.ENDPOINTS,
    *findings.ENDPOINTS,
    *systems.ENDPOINTS,
    *models.ENDPOINTS,
    *application.ENDPOINTS,
)


def find(method: str, name: str) -> Endpoint:
    """Return the endpoint with this method and name."""
    return {(endpoint.method, endpoint.name): endpoint for endpoint in ENDPOINTS}[method, name]
