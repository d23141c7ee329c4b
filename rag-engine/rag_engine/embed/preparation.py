"""What is done to a text before the model sees it; the stored text stays as it is.

The default model's tokenizer does not lower-case and its vocabulary has no capitals, so "API"
and "LanceDB" would all become the unknown token. Lower-casing raised recall@1 of vector search
on a Chinese programming handbook from 0.383 to 0.518.
"""

from __future__ import annotations

import re

TEXT_PREPARATION = 1
"""Version of `prepare`; raise it with every change that can change a vector."""

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def prepare(text: str) -> str:
    """Return the text as the model is given it: lower-cased, white space folded.

    Every run of Unicode white space becomes one space, none is left at the ends, and a lone
    surrogate, which tokenizers refuse as not being text, becomes U+FFFD. The length may change
    ("İ" becomes two code points), so positions in the result mean nothing for the original.

    Args:
        text: Any string.

    Returns:
        The prepared text; preparing it again changes nothing.
    """
    return _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.lower().split()))
