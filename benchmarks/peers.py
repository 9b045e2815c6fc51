"""weft's weights in the models of others, so that the same work is timed and the same answers are checked.

transformers_model   its MarianMTModel, or Pegasus           post-norm, or pre-norm; ReLU, tied
TorchTransformer     torch.nn.Transformer with embeddings   post-norm, ReLU, tied
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.data.codecs.subwords import END, PAD, START
from weft.models.base import Batch
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.attention import Attention
from weft.parts.positions import sinusoids
from weft.plans.plan import Plan

LONGEST = 256


def shifted(target: Tensor) -> Tensor:
    return F.pad(target[:, :-1], (1, 0), value=START)


def transformers_model(model: EncoderDecoder, plan: Plan) -> nn.Module:
    """Marian; where norms stand before, Pegasus, which is Marian with norms before."""
    from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration

    pre = plan.encoder.wiring.name == "pre"
    first = model.encoder.layers[0]
    # Learned positions are a table as well, and may be shorter.
    tables = [getattr(side.position.table, "weight", None) for side in (model.source, model.target)]
    longest = LONGEST if tables[0] is None else tables[0].size(0)
    Config, Model = (PegasusConfig, PegasusForConditionalGeneration) if pre else (MarianConfig, MarianMTModel)
    peer = Model(
        Config(
            vocab_size=model.head.words.num_embeddings,
            d_model=plan.width,
            encoder_layers=plan.encoder.layers,
            decoder_layers=plan.decoder.layers,
            encoder_attention_heads=first.mix.body.heads,
            decoder_attention_heads=first.mix.body.heads,
            encoder_ffn_dim=first.feed.body.project.out_features,
            decoder_ffn_dim=first.feed.body.project.out_features,
            activation_function="relu",
            dropout=plan.decoder.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            max_position_embeddings=longest,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=END,
            forced_eos_token_id=None,
            decoder_start_token_id=START,
            attn_implementation="sdpa",
        )
    )
    with torch.no_grad():
        peer.model.shared.weight.copy_(model.head.words.weight)
        peer.final_logits_bias.copy_(model.head.bias[None])
        for mine, theirs, table in zip(
            (model.encoder, model.decoder), (peer.model.encoder, peer.model.decoder), tables
        ):
            theirs.embed_positions.weight.copy_(sinusoids(longest, plan.width) if table is None else table)
            for layer, other in zip(mine.layers, theirs.layers):
                _their_attention(layer.mix, other.self_attn, other.self_attn_layer_norm)
                if mine is model.decoder:
                    _their_attention(layer.cross, other.encoder_attn, other.encoder_attn_layer_norm)
                _copy(layer.feed.body.project, other.fc1)
                _copy(layer.feed.body.out, other.fc2)
                _copy(layer.feed.wiring.norm, other.final_layer_norm)
            if pre:
                _copy(mine.closing, theirs.layer_norm)
    return peer


def _their_attention(sublayer: Any, theirs: Any, norm: nn.Module) -> None:
    body: Attention = sublayer.body
    parts = zip(body.project.weight.split(body.widths), body.project.bias.split(body.widths))
    for (weight, bias), linear in zip(parts, (theirs.q_proj, theirs.k_proj, theirs.v_proj)):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    _copy(body.out, theirs.out_proj)
    _copy(sublayer.wiring.norm, norm)


def transformers_logits(peer: nn.Module, batch: Batch) -> Tensor:
    return peer(  # type: ignore[no-any-return]
        input_ids=batch.source,
        attention_mask=(batch.source != PAD).long(),
        decoder_input_ids=shifted(batch.target),
        use_cache=False,
    ).logits


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between a tied embedding and the words."""

    def __init__(self, model: EncoderDecoder, plan: Plan):
        super().__init__()
        body: Attention = model.decoder.layers[0].mix.body
        self.words = nn.Embedding(*model.head.words.weight.shape)
        self.bias = nn.Parameter(torch.zeros(self.words.num_embeddings))
        self.dropout = nn.Dropout(plan.decoder.dropout)
        self.register_buffer("table", sinusoids(LONGEST, plan.width))
        self.body = nn.Transformer(
            plan.width,
            body.heads,
            plan.encoder.layers,
            plan.decoder.layers,
            model.encoder.layers[0].feed.body.project.out_features,
            plan.decoder.dropout,
            batch_first=True,
        )
        self.body.encoder.norm = self.body.decoder.norm = None  # post-norm closes with one already
        with torch.no_grad():
            self.words.weight.copy_(model.head.words.weight)
            self.bias.copy_(model.head.bias)
            for mine, theirs in ((model.encoder, self.body.encoder), (model.decoder, self.body.decoder)):
                for layer, other in zip(mine.layers, theirs.layers):
                    _torch_attention(layer.mix, other.self_attn, other.norm1)
                    if mine is model.decoder:
                        _torch_attention(layer.cross, other.multihead_attn, other.norm2)
                    _copy(layer.feed.body.project, other.linear1)
                    _copy(layer.feed.body.out, other.linear2)
                    _copy(layer.feed.wiring.norm, other.norm2 if mine is model.encoder else other.norm3)

    def forward(self, batch: Batch) -> Tensor:
        future = torch.ones(batch.target.size(1), batch.target.size(1), dtype=torch.bool).triu(1)
        padding = batch.source == PAD
        hidden = self.body(
            self._embedded(batch.source),
            self._embedded(shifted(batch.target)),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.words.weight, self.bias)

    def _embedded(self, tokens: Tensor) -> Tensor:
        scaled = self.words(tokens) * self.words.embedding_dim**0.5
        return self.dropout(scaled + self.table[: tokens.size(1)])  # type: ignore[no-any-return, index]


def _torch_attention(sublayer: Any, theirs: nn.MultiheadAttention, norm: nn.Module) -> None:
    theirs.in_proj_weight.copy_(sublayer.body.project.weight)
    theirs.in_proj_bias.copy_(sublayer.body.project.bias)
    _copy(sublayer.body.out, theirs.out_proj)
    _copy(sublayer.wiring.norm, norm)


def _copy(mine: Any, theirs: Any) -> None:
    theirs.weight.copy_(mine.weight)
    theirs.bias.copy_(mine.bias)
