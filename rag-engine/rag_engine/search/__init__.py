"""From a request to ranked passages: presets, filters, retrieval, fusion, results."""
