"""RMF reports: XML of the Postprocessor and of Monitor III, and printed Postprocessor reports."""
