"""Export of a decoder alone to a folder that CTranslate2's `Generator` loads, with its tokeniser and a README."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from ctranslate2.specs import transformer_spec
from tokenizers import Tokenizer

from weft.data.codecs import TextCodec
from weft.exports.ctranslate2 import QUANTISATIONS
from weft.exports.ctranslate2_spec import (
    EXPRESSIBLE,
    NAME,
    fill_frontend,
    fill_stack,
    norms,
    switches,
)
from weft.exports.expressible import faults, mixtures, refuse
from weft.exports.vocabulary import Vocabulary, vocabulary_of
from weft.models.base import Model
from weft.parts.attention import Attention
from weft.parts.relative_positions import Rotary
from weft.plans.plan import Plan, parts_of
from weft.plans.size import context_of, outline

__all__ = ["FIRST_WORDS", "QUANTISATIONS", "Engine", "refuse_inexpressible", "write"]

ALONE = {
    **EXPRESSIBLE,
    "model": {"decoder": set[str]()},
    "mixer.position": {"none": set[str](), "rotary": {"base"}},
    "cross": {"none": set[str]()},
}
FIRST_WORDS = """
import sys
from pathlib import Path
from weft.exports.ctranslate2_decoder import Engine
print(len(Engine(Path(sys.argv[1])).continuation([1], 4)))
"""
README = """\
# {name} for CTranslate2

Weights as {quantisation}, written by weft. In this folder, with `pip install ctranslate2 tokenizers`:

```python
import ctranslate2, tokenizers

tokeniser, generator = tokenizers.Tokenizer.from_file("tokenizer.json"), ctranslate2.Generator(".")
prompt = {start}tokeniser.encode("Once upon a time", add_special_tokens=False).tokens
found = generator.generate_batch([prompt], max_length={length}, sampling_topk=10, include_prompt_in_result=True)
print(tokeniser.decode(found[0].sequences_ids[0]))
```

The model sees at most {context} tokens at once, prompt and continuation together. `sampling_topk=1` is greedy, as
`--temperature 0` is in weft; `sampling_temperature`, `sampling_topk` and `sampling_topp` are the options of
`weft generate` under these names.
"""


def refuse_inexpressible(plan: Plan) -> None:
    """Raise one error that names every slot of the plan that CTranslate2 cannot express."""
    wrong = faults(plan, ALONE, NAME) or mixtures(plan, NAME)
    turned = any("rotary" in str(part.options.get("position")) for part in parts_of(plan.decoder.mixer))
    if turned and plan.position.name != "none":
        wrong.append(f"position is {plan.position.name!r}, but with rotary positions {NAME} supports only 'none'.")
    if turned and not wrong:
        attention = next(part for part in outline(plan).modules() if isinstance(part, Attention))
        if attention.key_width % 2:
            wrong.append(f"mixer: {NAME} requires an even head width for rotary positions, got {attention.key_width}.")
    refuse(plan, "ctranslate2", wrong)


def write(
    plan: Plan, model: Model, codec: TextCodec, about: Mapping[str, Any], folder: Path, quantisation: str
) -> None:
    refuse_inexpressible(plan)
    vocabulary = vocabulary_of(codec)
    spec = specification(plan, deepcopy(model), vocabulary)  # it is quantised in place
    spec.optimize(quantisation)
    spec.save(str(folder))
    vocabulary.tokenizer.save(str(folder / "tokenizer.json"))
    start = f"[{vocabulary.start!r}] + " if about.get("starts") else ""
    context = context_of(plan)
    length = min(50, context // 2)
    text = README.format(name=plan.name, quantisation=quantisation, start=start, context=context, length=length)
    (folder / "README.md").write_text(text, encoding="utf-8")


@torch.no_grad()
def specification(plan: Plan, model: Model, vocabulary: Vocabulary) -> Any:
    """The CTranslate2 specification of a language model, ready to be saved."""
    side = model.sides["decoder"]
    stack: Any = side.stack
    first = stack.layers[0].mix.body
    assert isinstance(first, Attention)
    settings: dict[str, Any] = {"with_encoder_attention": False}
    if isinstance(first.position, Rotary):
        settings |= {"rotary_dim": 0, "rotary_interleave": False, "rotary_base": first.position.base}
    if first.kv_heads != first.heads:
        settings["num_heads_kv"] = first.kv_heads
    width = max(first.key_width, first.value_width)
    if width * first.heads != plan.width:
        settings["head_dim"] = width
    decoder = transformer_spec.TransformerDecoderSpec(
        **switches(stack),
        **settings,
        ffn_glu=len(stack.layers[0].feed.body.activations) == 2,
        rms_norm=isinstance(stack.layers[0].mix.wiring.norm, torch.nn.RMSNorm),
    )
    spec = transformer_spec.TransformerDecoderModelSpec(decoder)
    fill_frontend(decoder, decoder.embeddings, side.frontend, context_of(plan))
    fill_stack(decoder, stack)
    projection = model.head.projection()
    assert projection is not None, "ALONE lists heads that are a projection and a softmax"
    weight, bias = projection
    decoder.projection.weight = weight
    if bias.any():
        decoder.projection.bias = bias
    spec.register_vocabulary(list(vocabulary.tokens))
    spec.config.bos_token, spec.config.eos_token = vocabulary.start, vocabulary.end
    spec.config.unk_token = vocabulary.end  # required, but nothing is ever unknown
    spec.config.layer_norm_epsilon = next(norm.eps for norm in norms(model))
    spec.validate()
    return spec


class Engine:
    """The exported folder, used as its README shows."""

    def __init__(self, folder: Path):
        self.tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokeniser.encode_special_tokens = True
        self.generator = ctranslate2.Generator(str(folder), device="cpu")
        self.tokens = _tokens(folder)

    def encode(self, text: str) -> list[int]:
        return list(self.tokeniser.encode(text, add_special_tokens=False).ids)

    def log_probs(self, ids: Sequence[int]) -> list[float]:
        found = self.generator.score_batch([[self.tokens[i] for i in ids]])[0]
        return list(found.log_probs)

    def continuation(self, ids: Sequence[int], count: int) -> list[int]:
        found = self.generator.generate_batch(
            [[self.tokens[i] for i in ids]],
            max_length=count,
            include_prompt_in_result=False,
            return_end_token=True,
        )
        return list(found[0].sequences_ids[0])


def _tokens(folder: Path) -> list[str]:
    """The vocabulary under the engine's ids."""
    return list(json.loads((folder / "vocabulary.json").read_text(encoding="utf-8")))
