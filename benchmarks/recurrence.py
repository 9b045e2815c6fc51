"""How fast is a training step of a recurrent plan, compared with a loop written by hand?

    python -m benchmarks.recurrence
    python -m benchmarks.recurrence --quick --json

The loops have the plan's own weights, and before anything is timed their loss without dropout must equal weft's. They
are textbook code: `torch.nn.LSTM`, `GRU` and `GRUCell`, `Dropout` and `cross_entropy`. Each is timed with weft's loss
too, which leaves the recurrence as the only difference. Batches are those of `benchmarks.training`.
"""

import math
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.measure import interleaved
from benchmarks.peers import shifted
from benchmarks.record import arguments, record
from benchmarks.tables import recurrence as table
from benchmarks.training import VOCABULARY, Mean, batches_like_multi30k, check, mean_of, turn, weft_mean
from weft.data.codecs.subwords import PAD
from weft.models.base import Batch
from weft.models.encoder_decoder import EncoderDecoder
from weft.plans.presets import plan

BATCHES = 4  # in a turn


class Loop(nn.Module):
    """What both loops have: (batch) → hidden (B, T, D), and words at both ends."""

    def __init__(self, model: EncoderDecoder, dropout: float):
        super().__init__()
        self.head = deepcopy(model.head)
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor) -> Tensor:
        words = self.head.words.weight  # (V, D)
        return self.dropout(F.embedding(ids, words) * math.sqrt(words.size(1)))  # type: ignore[no-any-return]

    def logits(self, batch: Batch) -> Tensor:
        return F.linear(self(batch), self.head.words.weight, self.head.bias)  # (B, T, V)

    def mean_in_chunks(self, batch: Batch) -> Tensor:
        real = batch.target != PAD
        found = self.head.loss(self(batch)[real], batch.target[real])
        return found.objective / found.count  # type: ignore[no-any-return]


class PlainLSTM(Loop):
    """`seq2seq-rnn`: LSTMs that begin where others ended."""

    def __init__(self, model: EncoderDecoder, dropout: float):
        super().__init__(model, dropout)
        self.encoder, self.decoder = (
            nn.ModuleList(deepcopy(layer.mix.body.cell.rnn) for layer in stack.layers)
            for stack in (model.encoder, model.decoder)
        )

    def forward(self, batch: Batch) -> Tensor:
        lengths = (batch.source != PAD).sum(1)
        backwards = lengths[:, None] - 1 - torch.arange(batch.source.size(1))
        x = self.embedded(batch.source.gather(1, backwards.clamp(min=0)))
        ends = []
        for i, lstm in enumerate(self.encoder):
            output, end = lstm(pack_padded_sequence(x, lengths, True, enforce_sorted=False))
            branch = self.dropout(pad_packed_sequence(output, True)[0])
            x = x + branch if i else branch
            ends.append(end)
        x = self.embedded(shifted(batch.target))
        for i, (lstm, end) in enumerate(zip(self.decoder, ends)):
            branch = self.dropout(lstm(x, end)[0])
            x = x + branch if i else branch
        return x


class HandWritten(Loop):
    """`bahdanau`: a cell in a loop, and attention before each of its steps."""

    def __init__(self, model: EncoderDecoder, dropout: float):
        super().__init__(model, dropout)
        D = model.head.words.embedding_dim
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
        return self.dropout(both.unflatten(-1, (-1, 2)).amax(-1))  # type: ignore[no-any-return]


LOOPS: dict[str, Callable[[EncoderDecoder, float], Loop]] = {
    "seq2seq-rnn-tiny": PlainLSTM,
    "bahdanau-tiny": HandWritten,
}


def measure(name: str, rounds: int) -> dict[str, object]:
    torch.manual_seed(1)
    recipe = plan(name)
    model = recipe.build(vocabulary=VOCABULARY)
    loop, fast = (LOOPS[name](model, recipe.decoder.dropout) for _ in range(2))
    batches = batches_like_multi30k(BATCHES)
    systems: dict[str, tuple[nn.Module, Mean]] = {
        "weft": (model, weft_mean(model)),
        "by hand": (loop, mean_of(loop.logits)),
        "by hand, with weft's loss": (fast, fast.mean_in_chunks),
    }
    apart = check(systems, batches[0])
    times = interleaved({key: turn(module, mean, batches) for key, (module, mean) in systems.items()}, rounds)
    tokens = sum(int((batch.target != PAD).sum()) for batch in batches)
    return {
        "plan": name,
        "time_against": {key: round(times["weft"].median / time.median, 3) for key, time in times.items()},
        "loss_apart": max(apart.values()),
        "systems": {
            key: {**time.to_dict(), "target_tokens_per_second": round(tokens / time.median)}
            for key, time in times.items()
        },
    }


def main() -> None:
    given = arguments(__doc__, quick="three rounds").parse_args()
    rounds = 3 if given.quick else 7
    found = {"rounds": rounds, "plans": [measure(name, rounds) for name in LOOPS]}
    record(given, "recurrence", found, table(found))


if __name__ == "__main__":
    main()
