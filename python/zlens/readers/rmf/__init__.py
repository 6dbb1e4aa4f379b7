"""Reports of RMF in XML: of the Postprocessor and of Monitor III."""
