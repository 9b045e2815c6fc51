"""What is measured, on one example at a time: a mixer layer, a whole training step, and one token of decoding."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from weft.measuring.timing import Workload
from weft.models.base import Generative
from weft.parts.call import Call, State
from weft.parts.mixer import Mixer
from weft.parts.optimisers import Numbers
from weft.plans.catalogue import Catalogue
from weft.plans.catalogues import CROSSES, MIXERS, OPTIMISERS
from weft.plans.part import Part
from weft.plans.plan import Decoder, Encoder, Plan, part_of_layer
from weft.plans.rules import check, with_parts


def widened(plan: Plan, width: int) -> Plan:
    """The same plan in another width; widths inside its parts are scaled in proportion."""

    def wider(_: str, catalogue: Catalogue[Any], part: Part) -> Part:
        inner = {n: v for n, v in part.options.items() if v and catalogue.declared(part.name, n).grows}
        return Part(part.name, {**part.options, **{n: max(1, v * width // plan.width) for n, v in inner.items()}})

    check(plan)
    found = with_parts(plan, wider).with_settings({"width": width})
    check(found)
    return found


def mixers(plan: Plan) -> dict[str, list[Mixer]]:
    """The mixers of each side, layer by layer, on the meta device."""
    with torch.device("meta"):
        return {
            name: [MIXERS.build(part_of_layer(side.mixer, i), plan.width, side.is_causal) for i in range(side.layers)]
            for name, side in plan.sides().items()
        }


def cross_mixers(plan: Plan) -> list[Mixer]:
    """The decoder's cross-attention layers, if it has any."""
    decoders = [side for side in plan.sides().values() if isinstance(side, Decoder)]
    with torch.device("meta"):
        crosses = [
            CROSSES.build(part_of_layer(side.cross, i), plan.width) for side in decoders for i in range(side.layers)
        ]
    return [cross for cross in crosses if cross is not None]


def first_side(plan: Plan) -> Encoder:
    """The side that reads first: the encoder where there is one."""
    return next(iter(plan.sides().values()))


def layer(plan: Plan, length: int) -> Workload:
    """The first mixer of the first side, forward and back."""
    side = first_side(plan)
    mixer = MIXERS.build(part_of_layer(side.mixer, 0), plan.width, side.is_causal)
    x = torch.randn(1, length, plan.width, requires_grad=True)
    back = torch.ones(1, length, plan.width)

    def run() -> None:
        torch.autograd.backward(mixer(x, Call()), back)
        mixer.zero_grad()
        x.grad = None

    return run


def step(plan: Plan, length: int) -> Workload:
    """A training step with Adam on one example with `length` tokens on each side."""
    model = plan.build().train()
    options = plan.training
    numbers = Numbers(options.rate, (options.beta1, options.beta2), options.epsilon, options.weight_decay)
    optimiser = OPTIMISERS.build("adam", model, numbers)  # Muon computes in bfloat16, which some machines cannot
    batch = model.example(length)

    def run() -> None:
        loss = model(batch)
        torch.autograd.backward(loss.objective / loss.count)
        clip_grad_norm_(model.parameters(), options.clip or torch.inf)
        optimiser.step()
        optimiser.zero_grad()

    return run


class Decoding:
    """The last of `length` tokens, with cached state and without; after a source of the same length, if it has one."""

    def __init__(self, plan: Plan, length: int):
        model = plan.build().eval()
        assert isinstance(model, Generative)
        self.model = model
        example = model.example(length)
        self.tokens = example.targets
        self.positions = torch.arange(length)[None]
        with torch.inference_mode():
            self.memory = self.model.prompt(example.inputs, Call())
            self.state = State()
            self._decode(slice(None, -1), self.state)

    def _decode(self, which: slice, state: State | None) -> Tensor:
        call = Call(positions=self.positions[:, which], state=state)
        return self.model.decode(self.tokens[:, which], self.memory, call)

    @property
    def bytes(self) -> int:
        """All that the next token needs: the cached state and, where the decoder reads it again, the encoder's output.
        A tensor that both hold counts once."""
        kinds = (self.state.hypotheses, self.state.newest, self.state.sentences)
        needed = [tensor for kind in kinds for tensor in kind.values()]
        parts = self.model.sides["decoder"].stack.modules()
        if any(getattr(part, "rereads_memory", False) for part in parts):
            assert self.memory is not None
            needed += [each for each in (self.memory.output, self.memory.embedded) if each is not None]
        return sum({tensor.data_ptr(): tensor.nbytes for tensor in needed}.values())

    @torch.inference_mode()
    def cached(self) -> None:
        state = State()  # a copy: each run starts from the state after all tokens but the last
        entries = vars(self.state).items()
        vars(state).update({name: dict(kind) for name, kind in entries if isinstance(kind, dict)})
        hidden = self._decode(slice(-1, None), state)
        self.model.head.best(hidden[:, -1], 1)

    @torch.inference_mode()
    def recomputed(self) -> None:
        self.model.head.best(self._decode(slice(None), None)[:, -1], 1)
