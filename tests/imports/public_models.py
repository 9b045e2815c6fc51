"""Small public models that the tests make: random weights as transformers writes them, with a vocabulary."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn

from tests.toys import PAIRS
from weft.folder import Folder
from weft.parts.call import Call

DATA = Path(__file__).parents[3] / "shared" / "data" / "pretrained-small"  # too large for the repository
SIZE = 300
TEXTS = ["red green blue", "The tree, the house!", "naïve 😀 text", " two  spaces\n\n", "red</s>"]


def shared(name: str) -> Path:
    """A folder of public weights; where it is absent, the test says so and is left out."""
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not here")
    return DATA / name


def byte_level(size: int = SIZE) -> Tokenizer:
    """A vocabulary like GPT-2's, with an end token as its last."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size - 1, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator((f"{source} {target}" for source, target in PAIRS), trainer)
    made.add_special_tokens(["<|endoftext|>"])
    return made


def stirred(model: nn.Module) -> nn.Module:
    """No bias at zero and no gain at one."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def gpt2(folder: Path, **changed: Any) -> Any:
    """A random GPT-2 as a folder, and the model of transformers."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    settings = {
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 40,
        "vocab_size": SIZE,
        "bos_token_id": SIZE - 1,
    }
    torch.manual_seed(0)
    config = transformers.GPT2Config(**{**settings, "eos_token_id": SIZE - 1, **changed})
    return _saved(stirred(transformers.GPT2LMHeadModel(config)), folder)


def llama(folder: Path, starts: bool = True, **changed: Any) -> Any:
    """A random Llama as a folder, whose prompts begin with a start token or not, and the model of transformers."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    settings = {"hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 4}
    settings |= {"vocab_size": SIZE, "max_position_embeddings": 64, "bos_token_id": SIZE - 1, "eos_token_id": SIZE - 1}
    torch.manual_seed(0)
    model = _saved(stirred(transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**settings, **changed}))), folder)
    if starts:
        tokenizer = byte_level()
        sign = ("<|endoftext|>", SIZE - 1)
        tokenizer.post_processor = processors.TemplateProcessing(f"{sign[0]} $A", special_tokens=[sign])
        tokenizer.save(str(folder / "tokenizer.json"))
    return model


def _saved(model: Any, folder: Path) -> Any:
    model.save_pretrained(folder)
    byte_level().save(str(folder / "tokenizer.json"))
    return model


def changed(folder: Path, file: str = "config.json", **values: Any) -> None:
    """Other values in a JSON file; None takes one away."""
    data = json.loads((folder / file).read_text())
    data = {key: value for key, value in {**data, **values}.items() if value is not None}
    (folder / file).write_text(json.dumps(data))


def logits(folder: Folder, ids: Tensor) -> Tensor:
    """What weft makes of these ids."""
    model = folder.model()
    with torch.no_grad():
        return model.head.logits(model.hidden({"tokens": ids}, Call()))  # type: ignore[no-any-return]


def same_logits(folder: Folder, theirs: Any, length: int = 40) -> None:
    torch.manual_seed(2)
    ids = torch.randint(0, folder.plan().vocabulary, (3, length))
    with torch.no_grad():
        torch.testing.assert_close(logits(folder, ids), theirs(ids).logits, atol=1e-4, rtol=1e-4)
