"""The version of zlens."""

VERSION = "0.1.0"
