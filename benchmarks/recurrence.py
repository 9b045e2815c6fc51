"""What does the house cost? A training step of a recurrent plan, beside the loop that one would write by hand.

    python -m benchmarks.recurrence
    python -m benchmarks.recurrence --quick --json

The loops have the plan's own weights, so before anything is timed their loss without dropout has to be weft's. They
are what is found in textbooks: `torch.nn.LSTM`, `GRU` and `GRUCell`, `Dropout` and `cross_entropy`. Batches are those
of `benchmarks.training`.
"""

import argparse
import math
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.measure import interleaved, machine, say
from benchmarks.peers import shifted
from benchmarks.training import VOCABULARY, batches_like_multi30k, check, mean_of, turn, weft_mean
from weft.models.sequence_to_sequence import PAD, Batch, SequenceToSequence
from weft.plans.presets import plan

BATCHES = 4  # in a turn


class PlainLSTM(nn.Module):
    """`seq2seq-rnn`: two LSTMs with one vector between them."""

    def __init__(self, model: SequenceToSequence, dropout: float):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(model.head.words.weight.detach().clone(), freeze=False)
        self.bias = nn.Parameter(model.head.bias.detach().clone())
        self.encoder, self.decoder = (
            nn.ModuleList(deepcopy(layer.mix.body.cell.rnn) for layer in stack.layers)
            for stack in (model.encoder, model.decoder)
        )
        self.starts = nn.ModuleList(deepcopy(start.linear) for start in model.decoder.starts)
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.words(ids) * math.sqrt(self.words.embedding_dim))  # type: ignore[no-any-return]

    def forward(self, batch: Batch) -> Tensor:
        last = (batch.source != PAD).sum(1, keepdim=True) - 1  # (B, 1)
        x = self.embedded(batch.source.gather(1, (last - torch.arange(batch.source.size(1))).clamp(min=0)))  # reversed
        for i, lstm in enumerate(self.encoder):
            branch = self.dropout(lstm(x)[0])
            x = x + branch if i else branch
        vector = x[torch.arange(len(x)), last[:, 0]]  # (B, D): the source
        x = self.embedded(shifted(batch.target))
        for i, (lstm, start) in enumerate(zip(self.decoder, self.starts)):
            h, c = start(vector).tanh().chunk(2, -1)
            branch = self.dropout(lstm(x, (h[None].contiguous(), c[None].contiguous()))[0])
            x = x + branch if i else branch
        return F.linear(x, self.words.weight, self.bias)  # (B, T, V)


class HandWritten(nn.Module):
    """`bahdanau`: a cell in a loop, and attention before each of its steps."""

    def __init__(self, model: SequenceToSequence, dropout: float):
        super().__init__()
        D = model.head.words.embedding_dim
        self.words = nn.Embedding.from_pretrained(model.head.words.weight.detach().clone(), freeze=False)
        self.bias = nn.Parameter(model.head.bias.detach().clone())
        both = model.encoder.layers[0].mix.body
        self.encoder = nn.GRU(D, D // 2, bidirectional=True, batch_first=True)
        forwards, backwards = (side.cell.rnn.state_dict() for side in (both.forwards, both.backwards))
        self.encoder.load_state_dict(forwards | {f"{name}_reverse": value for name, value in backwards.items()})
        recurrence = model.decoder.recurrence
        self.cell = nn.GRUCell(2 * D, D)
        self.cell.load_state_dict({k.removesuffix("_l0"): v for k, v in recurrence.cell.rnn.state_dict().items()})
        score = recurrence.attention.score
        parts = (score.query, score.key, score.out, recurrence.start.linear, model.decoder.readout)
        self.query, self.key, self.score, self.start, self.readout = map(deepcopy, parts)
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.words(ids) * math.sqrt(self.words.embedding_dim))  # type: ignore[no-any-return]

    def forward(self, batch: Batch) -> Tensor:
        hidden = batch.source == PAD
        packed = pack_padded_sequence(self.embedded(batch.source), (~hidden).sum(1), True, enforce_sorted=False)
        memory = self.dropout(pad_packed_sequence(self.encoder(packed)[0], True)[0])  # (B, S, D)
        keys = self.key(memory)
        state = self.start(memory[:, 0]).tanh()
        x = self.embedded(shifted(batch.target))
        states, contexts = [], []
        for t in range(x.size(1)):
            scores = self.score((self.query(state)[:, None] + keys).tanh())[..., 0]  # (B, S)
            weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
            context = torch.bmm(weights[:, None], memory)[:, 0]  # (B, D)
            state = self.cell(torch.cat((x[:, t], context), -1), state)
            states.append(state)
            contexts.append(context)
        both = self.readout(torch.cat((torch.stack(states, 1), x, torch.stack(contexts, 1)), -1))  # (B, T, 2 D)
        return F.linear(self.dropout(both.unflatten(-1, (-1, 2)).amax(-1)), self.words.weight, self.bias)


LOOPS: dict[str, Callable[[SequenceToSequence, float], nn.Module]] = {
    "seq2seq-rnn-tiny": PlainLSTM,
    "bahdanau-tiny": HandWritten,
}


def measure(name: str, rounds: int) -> dict[str, object]:
    torch.manual_seed(1)
    recipe = plan(name)
    model = recipe.build(vocabulary=VOCABULARY)
    loop = LOOPS[name](model, recipe.decoder.dropout)
    batches = batches_like_multi30k(BATCHES)
    systems = {"weft": (model, weft_mean(model)), "by hand": (loop, mean_of(loop))}
    apart = check(systems, batches[0])
    times = interleaved({key: turn(module, mean, batches) for key, (module, mean) in systems.items()}, rounds)
    tokens = sum(int((batch.target != PAD).sum()) for batch in batches)
    return {
        "plan": name,
        "time_against_by_hand": round(times["weft"].median / times["by hand"].median, 3),
        "loss_apart": apart["by hand"],
        "systems": {
            key: {**time.plain(), "target_tokens_per_second": round(tokens / time.median)}
            for key, time in times.items()
        },
        "rounds": rounds,
        "machine": machine(),
    }


def table(result: dict[str, object]) -> str:
    rows = [f"{result['plan']}: {result['time_against_by_hand']} of the time of the loop by hand"]
    for name, row in result["systems"].items():  # type: ignore[attr-defined]
        rows.append(
            f"  {name:10} {row['target_tokens_per_second']:>8,} target tokens/s   {row['median']:.3f} s a turn"
            f"   ({row['low']:.3f} to {row['high']:.3f})"
        )
    return "\n".join(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="three rounds")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    for name in LOOPS:
        result = measure(name, 3 if given.quick else 7)
        say(result, given.json, table(result))


if __name__ == "__main__":
    main()
