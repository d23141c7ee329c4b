"""The index on disk: manifest and publication, LanceDB vectors, Tantivy full text."""
