"""weft's subwords as a file of the `tokenizers` library, for programs without weft.

The file does what `Subwords` does around the library: it adds a space before a text, and on decoding removes it and the
special tokens. They are not special tokens of the library, which would find them inside a text, and people do write
"the end".
"""

from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, normalizers

from weft.data.codecs.subwords import SPECIAL_TOKENS, Subwords


def write_tokenizer(tokeniser: Subwords, file: Path) -> None:
    pieces = Tokenizer.from_str(tokeniser.pieces.to_str())
    pieces.normalizer = normalizers.Prepend(" ")
    no_signs = decoders.Replace(Regex(f"^({'|'.join(SPECIAL_TOKENS)})$"), "")  # no other token has a space
    pieces.decoder = decoders.Sequence([no_signs, decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    pieces.save(str(file))
