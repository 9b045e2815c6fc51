"""What is measured, on one sentence at a time: a mixer layer, a whole training step, and one token of decoding."""

from dataclasses import replace
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from weft.measuring.timing import Workload
from weft.models.sequence_to_sequence import END, START, Batch, SequenceToSequence
from weft.parts.call import Call, State
from weft.parts.context_attention import ContextAttention
from weft.parts.decoders import ByteNetDecoder
from weft.parts.mixer import Mixer
from weft.plans.catalogues import CROSSES, MIXERS
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.rules import check, part_of_layer

INNER_WIDTHS = ("hidden", "key_width", "value_width", "features")  # options that grow with the width of the model


def widened(plan: Plan, width: int) -> Plan:
    """The same plan in another width; widths inside its parts are scaled in proportion."""

    def wider(thing: Any) -> Any:
        if isinstance(thing, tuple):
            return tuple(map(wider, thing))
        if not isinstance(thing, Part):
            return thing
        inner = {name: value for name, value in thing.options.items() if name in INNER_WIDTHS and value}
        return Part(thing.name, {**thing.options, **{n: max(1, v * width // plan.width) for n, v in inner.items()}})

    sections: dict[str, Any] = {
        name: replace(section, **{slot: wider(value) for slot, value in vars(section).items()})
        for name, section in (("encoder", plan.encoder), ("decoder", plan.decoder))
    }
    found = replace(plan, **{slot: wider(value) for slot, value in vars(plan).items()} | sections | {"width": width})
    check(found)
    return found


def mixers(plan: Plan) -> list[Mixer]:
    """The encoder's mixers, layer by layer, on the meta device."""
    with torch.device("meta"):
        return [
            MIXERS.build(part_of_layer(plan.encoder.mixer, i), plan.width, False) for i in range(plan.encoder.layers)
        ]


def decoder_mixers(plan: Plan) -> list[Mixer]:
    with torch.device("meta"):
        return [
            MIXERS.build(part_of_layer(plan.decoder.mixer, i), plan.width, True) for i in range(plan.decoder.layers)
        ]


def cross_mixers(plan: Plan) -> list[Mixer]:
    """The decoder's cross-attention layers, if it has any."""
    with torch.device("meta"):
        crosses = [CROSSES.build(part_of_layer(plan.decoder.cross, i), plan.width) for i in range(plan.decoder.layers)]
    return [cross for cross in crosses if cross is not None]


def layer(plan: Plan, length: int) -> Workload:
    """The encoder's first mixer, forward and back."""
    mixer = MIXERS.build(part_of_layer(plan.encoder.mixer, 0), plan.width, False)
    x = torch.randn(1, length, plan.width, requires_grad=True)
    back = torch.ones(1, length, plan.width)

    def run() -> None:
        torch.autograd.backward(mixer(x, Call()), back)
        mixer.zero_grad()
        x.grad = None

    return run


def step(plan: Plan, length: int) -> Workload:
    """A training step on one pair with `length` tokens on each side."""
    model = plan.build().train()
    options = plan.training
    optimiser = torch.optim.Adam(model.parameters(), options.rate, (options.beta1, options.beta2), fused=True)
    batch = Batch(*_sentences(2, length, plan.vocabulary)[:, None])

    def run() -> None:
        loss = model(batch)
        torch.autograd.backward(loss.objective / loss.count)
        clip_grad_norm_(model.parameters(), options.clip or torch.inf)
        optimiser.step()
        optimiser.zero_grad()

    return run


class Decoding:
    """The last of `length` tokens, after a source of the same length, with cached state and without."""

    def __init__(self, plan: Plan, length: int):
        self.model: SequenceToSequence = plan.build().eval()
        source, self.tokens = _sentences(2, length, plan.vocabulary)[:, None]
        self.tokens[:, 0] = START
        self.positions = torch.arange(length)[None]
        with torch.inference_mode():
            self.memory = self.model.encode(source)
            self.state = State()
            self.model.decode(self.tokens[:, :-1], self.memory, self.positions[:, :-1], self.state)

    @property
    def bytes(self) -> int:
        """All that the next token needs: the cached state and, where the decoder reads it again, the encoder's output.
        A tensor that both hold counts once."""
        kinds = (self.state.hypotheses, self.state.newest, self.state.sentences)
        needed = [tensor for kind in kinds for tensor in kind.values()]
        if any(isinstance(part, ContextAttention | ByteNetDecoder) for part in self.model.decoder.modules()):
            needed += [each for each in (self.memory.output, self.memory.embedded) if each is not None]
        return sum({tensor.data_ptr(): tensor.nbytes for tensor in needed}.values())

    @torch.inference_mode()
    def cached(self) -> None:
        state = State()  # a copy: each run starts from the state after all tokens but the last
        vars(state).update({name: dict(entries) for name, entries in vars(self.state).items()})
        hidden = self.model.decode(self.tokens[:, -1:], self.memory, self.positions[:, -1:], state)
        self.model.head.best(hidden[:, -1], 1)

    @torch.inference_mode()
    def recomputed(self) -> None:
        self.model.head.best(self.model.decode(self.tokens, self.memory)[:, -1], 1)


def _sentences(count: int, length: int, vocabulary: int) -> torch.Tensor:
    ids = torch.randint(END + 1, vocabulary, (count, length))
    ids[:, -1] = END
    return ids
