"""How fast is a training step of a decoder alone, compared with other libraries that do the same work?

    python -m benchmarks.training_decoders
    python -m benchmarks.training_decoders --shape "4 layers of 128" --quick --json

The same GPT-2 in weft, in transformers, and in a plain rewrite in the manner of nanoGPT, with the same weights, the
same blocks of 256 characters and AdamW with clipping. Before a system is timed, its loss must equal weft's. Each is
timed in float32, which is what the other two do as they come, and where the machine computes in bfloat16, under
autocast, too. weft takes the faster one by itself (`precision=auto`).
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measure import interleaved
from benchmarks.record import arguments, record
from benchmarks.tables import training_decoders as table
from weft.exports.huggingface import gpt2
from weft.exports.public_shapes import parts_of_decoder
from weft.models.base import Batch, Model
from weft.plans.plan import Plan
from weft.plans.presets import plan
from weft.training.precision import PRECISIONS, computing, supported

CPU = torch.device("cpu")
VOCABULARY, LENGTH = 68, 256
BIASES = ["mixer.bias=true", "feed_forward.bias=true"]  # as in GPT-2
SHAPES = {  # plan, settings, rows of a batch, batches in a turn
    "4 layers of 128": ("gpt-tiny", [*BIASES, "dropout=0.1"], 16, 8),
    "6 layers of 384": ("gpt-small", [*BIASES, "dropout=0.2"], 16, 2),
}
Mean = Callable[[Tensor], Tensor]  # rows of LENGTH + 1 tokens → the mean loss


class PlainAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        q, k, v = (each.view(B, T, self.heads, -1).transpose(1, 2) for each in self.c_attn(x).split(D, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.dropout(self.c_proj(mixed.transpose(1, 2).reshape(B, T, D)), self.p, self.training)


class PlainBlock(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, dropout: float):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = PlainAttention(width, heads, dropout)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, hidden), "c_proj": nn.Linear(hidden, width)})
        self.p = dropout

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        hidden = F.gelu(self.mlp["c_fc"](self.ln_2(x)))
        return x + F.dropout(self.mlp["c_proj"](hidden), self.p, self.training)


class PlainGPT(nn.Module):
    """A GPT-2 as anyone would write it: the fused attention of torch, the whole logits, its cross-entropy."""

    def __init__(self, config: dict[str, Any], dropout: float):
        super().__init__()
        width = config["n_embd"]
        self.wte = nn.Embedding(config["vocab_size"], width)
        self.wpe = nn.Embedding(config["n_positions"], width)
        self.h = nn.ModuleList(
            PlainBlock(width, config["n_head"], config["n_inner"], dropout) for _ in range(config["n_layer"])
        )
        self.ln_f = nn.LayerNorm(width)
        self.p = dropout

    def forward(self, ids: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        x = F.dropout(x, self.p, self.training)
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def systems(recipe: Plan) -> dict[str, tuple[nn.Module, Mean]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    model = recipe.build(vocabulary=VOCABULARY)
    config, tensors = gpt2(recipe, parts_of_decoder(recipe, model))
    weights = {name: tensor.detach().clone() for name, tensor in tensors}
    p = recipe.decoder.dropout
    other = GPT2LMHeadModel(
        GPT2Config(**config, resid_pdrop=p, embd_pdrop=p, attn_pdrop=0.0, use_cache=False, attn_implementation="sdpa")
    )
    other.load_state_dict({**weights, "lm_head.weight": weights["transformer.wte.weight"]})
    plain = PlainGPT(config, p)
    plain.load_state_dict(  # there, matrices lie (in, out)
        {
            name.removeprefix("transformer."): tensor.T if ".c_" in name and tensor.dim() == 2 else tensor
            for name, tensor in weights.items()
        }
    )
    return {
        "weft": (model, weft_mean(model)),
        "transformers GPT-2": (other, mean_of(lambda ids: other(ids).logits)),
        "a plain rewrite": (plain, mean_of(plain)),
    }


def weft_mean(model: Model) -> Mean:
    def loss(rows: Tensor) -> Tensor:
        found = model(Batch({"tokens": rows[:, :-1]}, rows[:, 1:]))
        return found.objective / found.count  # type: ignore[no-any-return]

    return loss


def mean_of(logits: Callable[[Tensor], Tensor]) -> Mean:
    return lambda rows: F.cross_entropy(logits(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def turn(model: nn.Module, mean: Mean, batches: list[Tensor], precision: str) -> Callable[[], None]:
    """Training steps on these batches."""
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, betas=(0.9, 0.99), weight_decay=0.1, fused=True)

    def steps() -> None:
        for rows in batches:
            optimiser.zero_grad()
            with computing(CPU, precision):
                loss = mean(rows)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()

    return steps


def measure(shape: str, rounds: int) -> dict[str, Any]:
    name, settings, rows, count = SHAPES[shape]
    recipe = plan(name).with_settings(settings)
    torch.manual_seed(1)
    batches = [torch.randint(3, VOCABULARY, (rows, LENGTH + 1)) for _ in range(count)]
    found = systems(recipe)
    with torch.no_grad():
        losses = {each: float(mean(batches[0])) for each, (model, mean) in found.items() if model.eval()}
    apart = {each: abs(loss - losses["weft"]) for each, loss in losses.items()}
    if max(apart.values()) > 1e-4:
        sys.exit(f"the systems do not compute the same loss: {losses}")
    turns = {
        (each, precision): turn(model, mean, batches, precision)
        for precision in PRECISIONS
        if supported(precision, CPU)
        for each, (model, mean) in found.items()
    }
    times = interleaved(turns, rounds)
    chosen = min(time.median for (each, _), time in times.items() if each == "weft")
    return {
        "shape": shape,
        "plan": name,
        "settings": settings,
        "batches": count,
        "rounds": rounds,
        "loss_apart": apart,
        "systems": [
            {
                "system": each,
                "precision": precision,
                **time.to_dict(),
                "tokens_per_second": round(count * rows * LENGTH / time.median),
                "ratio": round(time.median / chosen, 3),
            }
            for (each, precision), time in times.items()
        ],
    }


def main() -> None:
    options = arguments(__doc__, quick="three rounds")
    options.add_argument("--shape", choices=SHAPES, action="append")
    given = options.parse_args()
    numbers = {"shapes": [measure(shape, 3 if given.quick else 9) for shape in given.shape or SHAPES]}
    record(given, "training-decoders", numbers, table(numbers))


if __name__ == "__main__":
    main()
