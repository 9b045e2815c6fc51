// The attention panel: choose a kind, layer and heads, and how to draw them. The page and saved files both use it.

import { colour, h, headColour, label, menu, segmented } from "weft/dom.js";
import { drawLines } from "weft/lines.js";
import { drawMatrix } from "weft/matrix.js";
import { drawOverview } from "weft/overview.js";

const SHARES = 8; // bars next to the drawing

/** The kind of attention that `state.kind` names; the last one where there is no such kind. */
export function chosenKind(kinds, state) {
  const found = kinds.find(({ name }) => name === state.kind) ?? kinds.at(-1);
  state.kind = found.name;
  return found;
}

/** A choice between the kinds of attention of a model. */
export function kindChoice(kinds, state, onchange) {
  return segmented("attention", Object.fromEntries(kinds.map(({ name, label: text }) => [name, text])), state.kind, onchange);
}

/**
 * kinds: [{name, label, query_title, key_title}], those that the model has; counts: {kind: {layers, heads}}.
 * source: {layer(kind, layer) → {queries, keys, maps: [head][query][key]}, overview(kind) → {queries, keys, pictures}},
 *   both as promises, of null where there is nothing to see: then the source has shown why.
 * state: {kind, layer, mode, heads (an array from 1, or null for all), mean}; `changed` is called when it is.
 */
export function attentionPanel(root, kinds, counts, source, state, changed = () => {}) {
  const controls = h("div", { class: "controls" });
  const drawing = h("div", { class: "drawing" });
  const caption = h("p", { class: "caption", role: "status" });
  const shares = h("ul", { class: "shares" });
  root.replaceChildren(h("div", { class: "panel" }, controls, h("div", { class: "figure" }, drawing, h("aside", {}, caption, shares))));
  let finish = () => {};
  let turn = 0;
  let kind = null;

  function set(change) {
    Object.assign(state, change);
    changed(state);
    controlsFor();
    show();
  }

  function controlsFor() {
    kind = chosenKind(kinds, state);
    const { layers, heads } = counts[state.kind];
    state.layer = Math.min(Math.max(1, state.layer ?? layers), layers);
    const focused = document.activeElement?.getAttribute("aria-label");
    const chosen = chosenHeads();
    const chips = Array.from({ length: heads }, (_, i) => h("button", {
      class: "chip", type: "button", "aria-label": `head ${i + 1}`, "aria-pressed": chosen.includes(i + 1),
      title: "Click to show or hide. Double-click to show only this head.",
      style: `--colour: ${headColour(i, heads)}`,
      onclick: () => set({ heads: toggled(i + 1) }),
      ondblclick: () => set({ heads: [i + 1] }),
    }, String(i + 1)));
    const parts = [
      kinds.length > 1 ? kindChoice(kinds, state, (name) => set({ kind: name, heads: null })) : "",
      segmented("drawn as", { lines: "Lines", matrix: "Matrix", overview: "Overview" }, state.mode, (mode) => set({ mode })),
    ];
    if (state.mode !== "overview" && layers > 1) {
      parts.push(h("label", { class: "control" }, h("span", {}, "Layer"),
        menu("layer", Array.from({ length: layers }, (_, i) => [i + 1, i + 1]), state.layer, (layer) => set({ layer: Number(layer) }))));
    }
    if (state.mode !== "overview" && heads > 1) {
      parts.push(
        h("div", { class: "control" }, h("span", {}, "Heads"), h("div", { class: "chips" }, ...chips)),
        h("div", { class: "control" },
          h("button", { class: "button", type: "button", "aria-label": "all heads", onclick: () => set({ heads: null }) }, "All"),
          h("button", {
            class: "button", type: "button", "aria-label": "mean of the heads", "aria-pressed": state.mean,
            onclick: () => set({ mean: !state.mean }),
          }, "Mean")));
    }
    controls.replaceChildren(...parts);
    if (focused) controls.querySelector(`[aria-label="${focused}"]`)?.focus();
  }

  function chosenHeads() {
    const all = Array.from({ length: counts[state.kind].heads }, (_, i) => i + 1);
    const chosen = all.filter((head) => state.heads?.includes(head));
    return chosen.length ? chosen : all;
  }

  function toggled(head) {
    const chosen = chosenHeads();
    const next = chosen.includes(head) ? chosen.filter((other) => other !== head) : [...chosen, head];
    return next.length === 0 || next.length === counts[state.kind].heads ? null : next;
  }

  async function show() {
    const mine = ++turn;
    const waiting = setTimeout(() => drawing.classList.add("loading"), 120);
    try {
      const overview = state.mode === "overview";
      const seen = await (overview ? source.overview(state.kind) : source.layer(state.kind, state.layer));
      if (mine !== turn) return;
      finish();
      finish = (!seen ? showNothing : overview ? showOverview : state.mode === "matrix" ? showMatrix : showLines)(seen);
    } finally {
      clearTimeout(waiting);
      if (mine === turn) drawing.classList.remove("loading");
    }
  }

  function showNothing() {
    drawing.replaceChildren();
    say();
    return () => {};
  }

  function showOverview({ queries, keys, pictures }) {
    say("Every layer and head, one pixel per weight. Click one to open it.");
    return drawOverview(drawing, pictures, queries.length, keys.length, (layer, head) =>
      set({ layer, heads: [head], mode: "matrix", mean: false }));
  }

  function showMatrix(seen) {
    const layers = drawnLayers(seen, true);
    const still = () => say(`${which()}. Each row sums to 1.`);
    still();
    return drawMatrix(drawing, { ...seen, map: layers[0].map }, `${kind.label} attention: ${which()}`,
      (cell) => (cell ? tell(seen, drawnLayers(seen, state.mean), 0, cell.query, cell.key) : still()));
  }

  function showLines(seen) {
    const layers = drawnLayers(seen, state.mean);
    const still = () => say(`${which(state.mean ? undefined : "one colour per head")}. Point at a token to follow it.`);
    still();
    return drawLines(drawing, { ...seen, layers }, [kind.query_title, kind.key_title],
      (chosen) => (chosen ? tell(seen, layers, chosen.side, chosen.at) : still()));
  }

  /** The layer and heads that are shown. */
  function which(several = `mean of heads ${chosenHeads().join(", ")}`) {
    const { layers, heads } = counts[state.kind];
    const chosen = chosenHeads();
    if (layers === 1 && heads === 1) return "The only head";
    if (heads === 1) return `Layer ${state.layer}`;
    return `Layer ${state.layer}, ${chosen.length === 1 ? `head ${chosen[0]}` : several}`;
  }

  /** What is drawn: one map with its colour for each head, or one for their mean. */
  function drawnLayers({ maps }, averaged) {
    const chosen = chosenHeads();
    if (averaged) return [{ map: mean(chosen.map((head) => maps[head - 1])), colour: colour("--accent") }];
    return chosen.map((head) => ({ map: maps[head - 1], colour: headColour(head - 1, counts[state.kind].heads) }));
  }

  /** Show as bars what a query attends to (side 0), or which queries attend to a key (side 1), with `at` marked. */
  function tell({ queries, keys }, layers, side, chosen, at = null) {
    const weight = (map, other) => (side === 0 ? map[chosen][other] : map[other][chosen]);
    const others = (side === 0 ? keys : queries).map((token, other) => {
      const parts = layers.map(({ map, colour: tint }) => [weight(map, other) / layers.length, tint]);
      return { token, other, parts, sum: parts.reduce((sum, [w]) => sum + w, 0) };
    });
    const most = [...others].sort((a, b) => b.sum - a.sum).slice(0, SHARES);
    if (at !== null && !most.some(({ other }) => other === at)) most.push(others[at]);
    say(h("b", {}, label((side === 0 ? queries : keys)[chosen])), side === 0 ? " attends to" : " is attended to by");
    shares.replaceChildren(...most.map(({ token, other, parts, sum }) => h("li", { class: other === at ? "chosen" : "" },
      h("span", {}, label(token)),
      h("i", {}, ...parts.map(([w, tint]) => h("u", { style: `width: ${(100 * w).toFixed(2)}%; background: ${tint}` }))),
      h("span", { class: "number" }, sum.toFixed(4)))));
  }

  function say(...what) {
    caption.replaceChildren(...what);
    shares.replaceChildren();
  }

  function retheme() {
    controlsFor();
    if (state.mode === "lines") show();
  }

  addEventListener("theme", retheme);
  controlsFor();
  show();
  return {
    reload: () => { controlsFor(); show(); },
    close: () => { turn++; finish(); removeEventListener("theme", retheme); },
  };
}

export function mean(maps) {
  return maps[0].map((row, query) => row.map((_, key) => maps.reduce((sum, map) => sum + map[query][key], 0) / maps.length));
}
