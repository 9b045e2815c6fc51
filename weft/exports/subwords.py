"""weft's subwords as a file of the `tokenizers` library, for programs that do not have weft.

The file does on its own what `Subwords` does around the library: a space goes before a text on the way in and off
again on the way out, where the signs vanish too. They are not the library's special tokens: those it would find in a
text, and "the end" is something people say.
"""

from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, normalizers

from weft.data.codecs.subwords import SPECIAL_TOKENS, Subwords


def write_tokenizer(tokeniser: Subwords, file: Path) -> None:
    pieces = Tokenizer.from_str(tokeniser.pieces.to_str())
    pieces.normalizer = normalizers.Prepend(" ")
    no_signs = decoders.Replace(Regex(f"^({'|'.join(SPECIAL_TOKENS)})$"), "")  # no piece holds a space, so none is lost
    pieces.decoder = decoders.Sequence([no_signs, decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    pieces.save(str(file))
