"""Export to a folder that CTranslate2 loads, with the subwords and a README that shows how to use both."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import groupby
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

from weft.data.codecs.subwords import END, Subwords
from weft.exports.ctranslate2_spec import longest_output, refuse_inexpressible, specification
from weft.exports.subwords import write_tokenizer
from weft.models.base import Model
from weft.plans.plan import Plan

__all__ = ["QUANTISATIONS", "Engine", "refuse_inexpressible", "write"]

QUANTISATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")
AT_A_TIME = 64  # sentences per batch of CTranslate2

README = """\
# {name} for CTranslate2

Weights as {quantisation}, written by weft. In this folder, with `pip install ctranslate2 tokenizers`:

```python
import ctranslate2, tokenizers

tokeniser, translator = tokenizers.Tokenizer.from_file("tokenizer.json"), ctranslate2.Translator(".")
found = translator.translate_batch([tokeniser.encode("How are you?").tokens], beam_size=5)
print(tokeniser.decode([tokeniser.token_to_id(token) for token in found[0].hypotheses[0]]))
```

Leave out empty texts, which have no tokens. A text may have at most {rows} tokens: CTranslate2 refuses more.

## The same answers as weft

| option of `translate_batch` | as in weft | default |
|---|---|---|
| `beam_size` | 5 | 2 |
| `length_penalty` | 1: α in log P / \\|Y\\|^α, where both count END in \\|Y\\| | 1 |
| `patience` | 1: stop when as many hypotheses have ended as the beam is wide | 1 |
| `min_decoding_length` | 0: END may come first | 1 |
| `max_decoding_length` | twice the tokens of the source, including END, plus 20 | 256 |

Two differences remain. Among hypotheses cut off by `max_decoding_length`, weft prefers those that have ended, while
CTranslate2 ranks by score alone. And with `length_penalty=0`, CTranslate2 does not count ended hypotheses: it stops
when its best hypothesis has ended, which may be earlier or later than weft.
"""


def write(plan: Plan, model: Model, tokeniser: Subwords, folder: Path, quantisation: str) -> None:
    spec = specification(plan, deepcopy(model), tokeniser)  # it is quantised in place
    spec.optimize(quantisation)
    spec.save(str(folder))
    write_tokenizer(tokeniser, folder / "tokenizer.json")
    text = README.format(name=plan.name, quantisation=quantisation, rows=longest_output(plan))
    (folder / "README.md").write_text(text, encoding="utf-8")


class Engine:
    """The exported folder, used as its README shows."""

    def __init__(self, folder: Path):
        self.tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.ids = self.tokeniser.get_vocab()
        self.translator = ctranslate2.Translator(str(folder), device="cpu")

    def translate(self, texts: Sequence[str], beam: int, limits: Sequence[int]) -> list[list[int]]:
        sources = self._pieces(texts)
        found: dict[int, list[int]] = {}
        for limit, group in groupby(sorted(range(len(texts)), key=limits.__getitem__), limits.__getitem__):
            rows = list(group)  # CTranslate2 has one limit for all that are translated together
            results = self.translator.translate_batch(
                [sources[row] for row in rows],
                max_batch_size=AT_A_TIME,
                beam_size=beam,
                return_end_token=True,  # its absence shows that a translation was cut
                min_decoding_length=0,
                max_decoding_length=limit,
            )
            for row, result in zip(rows, results, strict=True):
                found[row] = [self.ids[piece] for piece in result.hypotheses[0]]
        return [found[row] for row in range(len(texts))]

    def log_probs(self, texts: Sequence[str], translations: Sequence[Sequence[int]]) -> list[list[float]]:
        targets = [[self.tokeniser.id_to_token(i) for i in ids if i != END] for ids in translations]
        results = self.translator.score_batch(self._pieces(texts), targets, max_batch_size=AT_A_TIME)
        return [list(result.log_probs) for result in results]

    def text(self, ids: Sequence[int]) -> str:
        return str(self.tokeniser.decode(list(ids)))

    def _pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [found.tokens for found in self.tokeniser.encode_batch(list(texts))]
