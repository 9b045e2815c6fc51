// A saved picture: the attention panel over numbers that lie in the page itself.

import { h } from "weft/dom.js";
import { attentionPanel } from "weft/panel.js";

const data = JSON.parse(document.getElementById("attention").textContent);
const read = ["∅", ...data.target.slice(0, -1)];
const tokens = { encoder: [data.source, data.source], decoder: [data.target, read], cross: [data.target, data.source] };
const counts = Object.fromEntries(Object.entries(data.attention).map(([kind, { maps }]) =>
  [kind, { layers: maps.length, heads: maps[0].length }]));

const source = {
  async layer(kind, layer) {
    const [queries, keys] = tokens[kind];
    return { queries, keys, maps: data.attention[kind].maps[layer - 1] };
  },
  async overview(kind) {
    const [queries, keys] = tokens[kind];
    const bytes = (map) => Uint8Array.from(map.flat(), (weight) => Math.round(weight * 255));
    return { queries, keys, pictures: data.attention[kind].maps.map((layer) => layer.map(bytes)) };
  },
};

document.querySelector("header").append(
  h("h1", {}, data.text), h("p", {}, data.translation), h("p", { class: "soft" }, `${data.model}, score ${data.score.toFixed(3)}`));
attentionPanel(document.querySelector("main"), counts, source,
  { kind: data.kind, layer: data.layer, mode: "lines", heads: null, mean: false });
