"""What all faces show numbers with: rows as text, CSV and JSON, and charts as SVG."""
