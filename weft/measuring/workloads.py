"""What is measured: one mixer layer, a whole training step, and one token of decoding. One sentence at a time."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from weft.data.codecs.subwords import END, START
from weft.measuring.timing import Workload
from weft.models.base import Batch, Generative
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
    """The same plan in another width; what it says of widths inside its parts grows in proportion."""

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
    """Those of the encoder, a layer after the other, without memory for their weights."""
    with torch.device("meta"):
        return [
            MIXERS.build(part_of_layer(plan.encoder.mixer, i), plan.width, False) for i in range(plan.encoder.layers)
        ]


def decoder_mixers(plan: Plan) -> list[Mixer]:
    with torch.device("meta"):
        return [
            MIXERS.build(part_of_layer(plan.decoder.mixer, i), plan.width, True) for i in range(plan.decoder.layers)
        ]


def looks(plan: Plan) -> list[Mixer]:
    """What the decoder looks at the source with, if it does."""
    with torch.device("meta"):
        crosses = [CROSSES.build(part_of_layer(plan.decoder.cross, i), plan.width) for i in range(plan.decoder.layers)]
    return [cross for cross in crosses if cross is not None]


def layer(plan: Plan, length: int) -> Workload:
    """The encoder's first mixer, forward and back."""
    mixer = MIXERS.build(part_of_layer(plan.encoder.mixer, 0), plan.width, False)
    x = torch.randn(1, length, plan.width, requires_grad=True)
    back = torch.ones(1, length, plan.width)

    def turn() -> None:
        torch.autograd.backward(mixer(x, Call()), back)
        mixer.zero_grad()
        x.grad = None

    return turn


def step(plan: Plan, length: int) -> Workload:
    """A step of training on one pair, with so many tokens on each side."""
    model = plan.build().train()
    options = plan.training
    optimiser = torch.optim.Adam(model.parameters(), options.rate, (options.beta1, options.beta2), fused=True)
    source, target = _sentences(2, length, plan.vocabulary)[:, None]
    batch = Batch({"source": source, "target": target}, target)

    def turn() -> None:
        loss = model(batch)
        torch.autograd.backward(loss.objective / loss.count)
        clip_grad_norm_(model.parameters(), options.clip or torch.inf)
        optimiser.step()
        optimiser.zero_grad()

    return turn


class Decoding:
    """The last token of so many, written after a source that is as long, with what is remembered and without."""

    def __init__(self, plan: Plan, length: int):
        model = plan.build().eval()
        assert isinstance(model, Generative)
        self.model = model
        source, self.tokens = _sentences(2, length, plan.vocabulary)[:, None]
        self.tokens[:, 0] = START
        self.positions = torch.arange(length)[None]
        with torch.inference_mode():
            self.memory = self.model.prompt({"source": source}, Call())
            self.state = State()
            self._decode(slice(None, -1), self.state)

    def _decode(self, which: slice, state: State | None) -> Tensor:
        call = Call(positions=self.positions[:, which], state=state)
        return self.model.decode(self.tokens[:, which], self.memory, call)

    @property
    def bytes(self) -> int:
        """Of all that the next token needs: what is remembered, and where a decoder goes back to them the encoder's
        columns, which may be remembered under other names too."""
        kinds = (self.state.hypotheses, self.state.newest, self.state.sentences)
        needed = [tensor for kind in kinds for tensor in kind.values()]
        parts = self.model.sides["decoder"].stack.modules()
        if any(isinstance(part, ContextAttention | ByteNetDecoder) for part in parts):
            assert self.memory is not None
            needed += [each for each in (self.memory.output, self.memory.embedded) if each is not None]
        return sum({tensor.data_ptr(): tensor.nbytes for tensor in needed}.values())

    @torch.inference_mode()
    def cached(self) -> None:
        state = State()  # each turn goes on from where the tokens before the last have led
        vars(state).update({name: dict(entries) for name, entries in vars(self.state).items()})
        hidden = self._decode(slice(-1, None), state)
        self.model.head.best(hidden[:, -1], 1)

    @torch.inference_mode()
    def anew(self) -> None:
        self.model.head.best(self._decode(slice(None), None)[:, -1], 1)


def _sentences(count: int, length: int, vocabulary: int) -> torch.Tensor:
    ids = torch.randint(END + 1, vocabulary, (count, length))
    ids[:, -1] = END
    return ids
