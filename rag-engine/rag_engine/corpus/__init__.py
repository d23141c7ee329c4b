"""From a folder to documents: walk, decode, front matter, sections, chunks."""
