// Attention of every kind, layer and head: lines, matrix, overview.

import { h } from "weft/dom.js";
import { attentionPanel } from "weft/panel.js";
import { sentenceBar } from "./sentence.js";

export function open(root, app) {
  const bar = sentenceBar(app, () => panel.reload());
  const place = h("div");
  root.append(bar.element, place);

  const watched = (promise) => promise.catch((error) => { bar.fail(error); throw error; });
  const source = {
    async layer(kind, layer) {
      const seen = await watched(app.post("api/attention", { ...bar.asked(), kind, layer }));
      bar.own(seen.translation);
      return { queries: seen.queries, keys: seen.keys, maps: seen.maps[0] };
    },
    async overview(kind) {
      const seen = await watched(app.post("api/overview", { ...bar.asked(), kind }));
      bar.own(seen.translation);
      const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      return { ...seen, pictures: seen.pictures.map((layer) => layer.map(bytes)) };
    },
  };
  const panel = attentionPanel(place, app.model.heads, source, app.state, () => app.save());
  return panel.close;
}
