// Attention of every kind, layer and head: lines, matrix, overview.

import { h } from "weft/dom.js";
import { attentionPanel } from "weft/panel.js";
import { sentenceBar } from "./sentence.js";

export const needsAttention = true;
export const uses = ["text", "sentence", "target", "kind", "layer", "mode", "heads", "mean"];

export function open(root, app) {
  const bar = sentenceBar(app, () => panel.reload());
  const place = h("div");
  root.append(bar.element, place);

  let turn = 0;
  /** Ask about the sentence; null after an error. The bar shows the outcome of the last request only. */
  async function look(path, which) {
    const mine = ++turn;
    try {
      const seen = await app.post(path, { ...(await bar.asked()), ...which });
      if (mine === turn) bar.own(seen.translation);
      return seen;
    } catch (error) {
      if (mine === turn) bar.fail(error);
      return null;
    }
  }

  const source = {
    async layer(kind, layer) {
      const seen = await look("api/attention", { kind, layer });
      return seen && { queries: seen.queries, keys: seen.keys, maps: seen.maps[0] };
    },
    async overview(kind) {
      const seen = await look("api/overview", { kind });
      const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      return seen && { ...seen, pictures: seen.pictures.map((layer) => layer.map(bytes)) };
    },
  };
  const panel = attentionPanel(place, app.model.kinds, app.model.heads, source, app.state, () => app.save());
  return () => { bar.close(); panel.close(); };
}
