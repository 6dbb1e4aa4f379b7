"""Output formats shared by all interfaces: rows as text, CSV and JSON, charts as SVG."""
