"""The user's prices of an MSU, by product: a TOML file (--prices FILE).

    currency = "EUR"

    [[product]]
    name = "Database"
    price = 100.0
    partitions = ["PROD1", "PROD2"]

`price` is for one MSU of the month's highest hour: of the sum of the four-hour averages of the product's
partitions, or of all without `partitions`.
"""

from typing import Annotated

from msgspec import Meta, field

from zlens.errors import InputError
from zlens.schema import document, structs, user_files
from zlens.schema.structs import FactTable
from zlens.schema.validators import DocumentErrors

_CURE = 'write currency = "EUR", and for each product: [[product]], name = "Database", price = 100.0'


class PricedProduct(FactTable, frozen=True):
    """A product with its price."""

    name: Annotated[str, Meta(description="name of the product", min_length=1)]
    price: Annotated[float, Meta(description="price of one MSU of the month's highest hour", ge=0)]
    partitions: Annotated[
        tuple[str, ...], Meta(description="partitions in which the product runs; by default all")
    ] = ()


class Prices(FactTable, frozen=True):
    """Prices in one currency."""

    currency: Annotated[str, Meta(description="unit of the prices", min_length=1)]
    products: Annotated[tuple[PricedProduct, ...], Meta(description="the products", min_length=1)] = field(
        name="product"
    )


def read(path: str) -> Prices:
    """Return the prices in a file; InputError if it cannot be read or is invalid."""
    return parse(user_files.read_text(path, user_files.HAND_WRITTEN, "file of prices", _CURE), path)


def parse(text: str, path: str) -> Prices:
    """Return the prices in the text of a file."""
    values = document.parse_toml(text, path, InputError, _CURE)
    return structs.convert(values, Prices, DocumentErrors(path, InputError, text=text))
