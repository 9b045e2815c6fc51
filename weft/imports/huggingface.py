"""Importing a Hugging Face folder: config.json, weights, and a tokeniser with its configuration."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from weft.data.codecs import PublicTokeniser
from weft.data.codecs.public import tokenizer_from
from weft.disk import read_text
from weft.errors import WeftError
from weft.imports.facts import MOST_BYTES, Facts, read_json
from weft.imports.gpt2 import gpt2
from weft.imports.llama import HUGGINGFACE, Sizes, llama
from weft.imports.shape import Found, Shape
from weft.imports.tensors import Tensors, read_tensors
from weft.imports.tokenisers import Piece, from_merges

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))  # Hugging Face's names, and OpenAI's
CONTROL = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>")  # special tokens of vocabularies that do not declare them


def read_huggingface(folder: Path) -> Found:
    config = Facts(read_json(folder / "config.json"), str(folder / "config.json"))
    kind = config.values.get("model_type")
    if kind not in SHAPES:
        known = ", ".join(map(repr, SHAPES))
        raise WeftError(f"model: {config.where} has model_type = {kind!r}, but weft imports only {known}.")
    shape = SHAPES[kind](config, Tensors(read_tensors(folder), str(folder)))
    codec, starts, facts = _tokeniser(folder, config, shape.plan.vocabulary)
    return Found(shape, codec, {"starts": starts, **facts, **_template(folder)})


def _llama(config: Facts, tensors: Tensors) -> Shape:
    config.one_of("hidden_act", {"silu": "swish", "swish": "swish"}, "feed_forward=swiglu", "silu")
    config.must_be("rope_scaling", [None], "mixer.position")
    config.must_be("partial_rotary_factor", [None, 1, 1.0], "mixer.position")
    config.must_be("sliding_window", [None], "mixer.pattern")
    rope = Facts(config.values.get("rope_parameters") or {}, config.where)
    rope.must_be("rope_type", ["default"], "mixer.position")
    rope.must_be("partial_rotary_factor", [None, 1, 1.0], "mixer.position")
    width, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    sizes = Sizes(
        width,
        config.layers("num_hidden_layers"),
        heads,
        config.whole("num_key_value_heads", heads),
        config.whole("head_dim", max(1, width // heads)),
        config.whole("intermediate_size"),
        config.whole("vocab_size"),
        config.whole("max_position_embeddings", 2048),
        base=rope.real("rope_theta", config.real("rope_theta", 10000.0)),
        epsilon=config.real("rms_norm_eps", 1e-6),
        is_tied=config.flag("tie_word_embeddings", False),
        mixer_bias=config.flag("attention_bias", False),
        feed_bias=config.flag("mlp_bias", False),
        dropout=config.rate("attention_dropout"),
    )
    config.wrong += rope.wrong
    return llama(config, sizes, tensors, HUGGINGFACE, are_neighbours=False)


SHAPES: dict[object, Callable[[Facts, Tensors], Shape]] = {"gpt2": gpt2, "llama": _llama}


def _tokeniser(folder: Path, config: Facts, vocabulary: int) -> tuple[PublicTokeniser, bool, dict[str, Any]]:
    """The tokeniser, whether prompts begin with its start token, and further ends."""
    pieces = _pieces(folder)
    said = read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
    more = read_json(folder / "special_tokens_map.json") if (folder / "special_tokens_map.json").is_file() else {}

    def ids(name: str) -> Iterator[int]:
        for source in (said, more):
            named = source.get(f"{name}_token")
            text = named.get("content") if isinstance(named, dict) else named
            if isinstance(text, str) and (i := pieces.token_to_id(text)) is not None:
                yield i
        given = config.values.get(f"{name}_token_id")
        for i in given if isinstance(given, list) else [given]:
            if type(i) is int and 0 <= i < vocabulary:
                yield i

    ends = list(dict.fromkeys(ids("eos")))
    if not ends:
        raise WeftError(
            f"{folder} names no end token: neither eos_token in tokenizer_config.json nor an eos_token_id below "
            f"{vocabulary} in config.json."
        )
    start = next(ids("bos"), ends[0])
    try:
        codec = PublicTokeniser.made(pieces, start, ends[0], next(ids("pad"), None), vocabulary)
    except ValueError as error:
        raise WeftError(f"the tokeniser of {folder} does not fit its model: {error}") from None
    begun = pieces.encode("").ids[:1] == [start]  # the library itself puts it there
    starts = begun or said.get("add_bos_token") is True
    return codec, starts, {"ends": ends} if len(ends) > 1 else {}


def _pieces(folder: Path) -> Tokenizer:
    file = folder / "tokenizer.json"
    if file.is_file():
        try:
            return tokenizer_from(read_text(file, MOST_BYTES))
        except WeftError:
            raise
        except Exception as error:  # the library raises plain Exception
            raise WeftError(f"{file} is not a file of the tokenizers library: {error}") from None
    for vocab, merges in PAIRS:
        if (folder / vocab).is_file() and (folder / merges).is_file():
            return read_vocabulary(folder / vocab, folder / merges)
    hint = (
        "tokenizer.model alone is not enough: let transformers write it as tokenizer.json."
        * (folder / "tokenizer.model").is_file()
    )
    raise WeftError(f"{folder} has no tokeniser: neither tokenizer.json nor vocab.json and merges.txt. {hint}".rstrip())


def read_vocabulary(vocab: Path, merges: Path) -> Tokenizer:
    """The tokeniser in GPT-2's two files."""
    ids = read_json(vocab)
    if sorted(ids.values(), key=str) != sorted(range(len(ids)), key=str):
        raise WeftError(f"{vocab}: expected the ids 0 to {len(ids) - 1}, one for each token.")
    pieces = [Piece(text, kind=Piece.CONTROL if text in CONTROL else Piece.NORMAL) for text in sorted(ids, key=ids.get)]  # type: ignore[arg-type]
    lines = read_text(merges, MOST_BYTES).split("\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#version") or not line:
            continue
        left, space, right = line.partition(" ")
        if not (left and space and right) or " " in right:
            raise WeftError(f"{merges}, line {number}: expected two pieces with a space between them, got {line!r}.")
        pairs.append((left, right))
    try:
        return from_merges(pieces, pairs)
    except WeftError as error:
        raise WeftError(f"{vocab} and {merges.name}: {error}") from None


def _template(folder: Path) -> dict[str, str]:
    """The chat template of the tokeniser, if it has one."""
    if (file := folder / "chat_template.jinja").is_file():
        return {"chat_template": read_text(file, MOST_BYTES)}
    if not (file := folder / "tokenizer_config.json").is_file():
        return {}
    found = read_json(file).get("chat_template")
    if isinstance(found, list):  # several by name
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = named.get("default")
    return {"chat_template": found} if isinstance(found, str) else {}
