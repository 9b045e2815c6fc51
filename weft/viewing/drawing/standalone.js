// A saved file: the attention panel over numbers embedded in the page.

import { h } from "weft/dom.js";
import { attentionPanel } from "weft/panel.js";

const data = JSON.parse(document.getElementById("attention").textContent);
const counts = Object.fromEntries(Object.entries(data.attention).map(([kind, { maps }]) =>
  [kind, { layers: maps.length, heads: maps[0].length }]));

const source = {
  async layer(kind, layer) {
    const [queries, keys] = data.axes[kind];
    return { queries, keys, maps: data.attention[kind].maps[layer - 1] };
  },
  async overview(kind) {
    const [queries, keys] = data.axes[kind];
    const bytes = (map) => Uint8Array.from(map.flat(), (weight) => Math.round(weight * 255));
    return { queries, keys, pictures: data.attention[kind].maps.map((layer) => layer.map(bytes)) };
  },
};

document.querySelector("header").append(
  h("h1", {}, data.text), h("p", {}, data.translation), h("p", { class: "soft" }, `${data.model}, score ${data.score.toFixed(3)}`));
attentionPanel(document.querySelector("main"), data.kinds, counts, source,
  { kind: data.kind, layer: data.layer, mode: "lines", heads: null, mean: false });
