"""weft's subwords as a file of the `tokenizers` library, for programs without weft.

The file does what `Tokeniser` does around the library: it adds a space before a text, and on decoding removes it, and
the special tokens too. They are not declared as special tokens of the library, which would find them inside a text, and
"the end" is something people write.
"""

from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, normalizers

from weft.data.tokeniser import SPECIAL_TOKENS, Tokeniser


def write_tokenizer(tokeniser: Tokeniser, file: Path) -> None:
    pieces = Tokenizer.from_str(tokeniser.pieces.to_str())
    pieces.normalizer = normalizers.Prepend(" ")
    no_signs = decoders.Replace(
        Regex(f"^({'|'.join(SPECIAL_TOKENS)})$"), ""
    )  # no other token contains a space, so none is lost
    pieces.decoder = decoders.Sequence([no_signs, decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    pieces.save(str(file))
