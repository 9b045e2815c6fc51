// @ts-check
// Model: its blocks and sizes, its parameters by part, its positions, its masks.

import { segmented } from "weft/controls.js";
import { fixed, thousands } from "weft/words.js";
import { get } from "../api.js";
import { View, define, hasPairs, html, nothing } from "../view.js";
import { partName } from "./diagram.js";
import "weft/bars.js";
import "weft/figure.js";
import "weft/matrix.js";

const POSITIONS = /** @type {Record<string, string>} */ ({
  sinusoid: "Sines (2i) and cosines (2i + 1) of decreasing frequency, added to the embeddings.",
  concatenated: "Sines and cosines of decreasing frequency, concatenated to the embeddings.",
  learned: "One learned vector per position, added to the embeddings.",
  none: "None: only parts that depend on order, such as recurrences and convolutions, know the order of the tokens.",
});
const PARTS = /** @type {Record<string, string>} */ ({ diagram: "Diagram", parameters: "Parameters",
  positions: "Positions", masks: "Masks" });
const VISIBLE = 0.62; // the shade of a cell that is not masked

class ModelView extends View {
  static measured = true; // the type is larger while presenting, so what was gone to is elsewhere
  static properties = {
    block: { state: true }, // the chosen one, as the diagram tells it
    place: { state: true }, // {query, key} in the table of positions
    side: { state: true },
    which: { state: true }, // dimensions: all, 2i or 2i + 1
    table: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */ this.block = null;
    this.place = { query: null, key: null };
    this.side = "";
    this.which = "even";
    /** @type {any} */ this.table = null;
    this.isTable = false; // whether it has come, or cannot come
    this.went = ""; // the part that was gone to
    this.masks = this.ask(() => (this.model.traces.includes("masks") ? ["api/masks", {}] : null));
  }

  connectedCallback() {
    super.connectedCallback();
    get("api/positions", { base: this.model.base }).then((found) => { this.table = found; }, () => {})
      .finally(() => { this.isTable = true; this.requestUpdate(); });
  }

  /** Go to the part that the address names, when all that is above it is there. */
  updated() {
    super.updated();
    const { part } = this.state;
    const there = `${part} ${document.documentElement.hasAttribute("data-present")}`;
    if (!part || there === this.went) return;
    this.querySelector(`[data-part=${part}]`)?.scrollIntoView({ block: "start" });
    if (this.isTable && !this.masks.busy) this.went = there;
  }

  controls() {
    const parts = Object.entries(PARTS).filter(([name]) => name !== "masks" || this.model.traces.includes("masks"));
    const go = (/** @type {string} */ part) => {
      this.went = "";
      this.change({ part });
      this.requestUpdate();
    };
    return html`<nav class="chips" aria-label="Parts of this view">${parts.map(([name, label]) =>
      html`<button type="button" class="button" @click=${() => go(name)}>${label}</button>`)}</nav>`;
  }

  /** The model is as it is, whatever is changed elsewhere. */
  get assumed() { return []; }

  /** The rest is there without a sentence. */
  problem() {
    return nothing;
  }

  draw() {
    const { model } = this;
    return html`<div class="anatomy">
      <p class="facts">${facts(model).map(([number, name]) => html`<span><b
        class="number">${number}</b> ${name}</span>`)}</p>
      <w-figure label="The model" class="wide" data-part="diagram" .caption=${this.made()}><w-diagram .model=${model}
        chosen=${this.block?.id ?? ""} @w-pick=${(/** @type {CustomEvent} */ { detail }) =>
          this.#choose(detail)}></w-diagram></w-figure>
      ${this.#parameters()}
      ${this.#positions()}
      ${model.traces.includes("masks") ? this.#masks() : nothing}
    </div>`;
  }

  #choose(block) {
    this.block = this.block?.id === block.id ? null : block;
    const site = block.sites?.at(-1);
    if (this.block && site) this.go(site, null);
  }

  inspector() {
    const { block } = this;
    if (!block) return nothing;
    const { sizes = {}, parameters = 0, formula } = block.block ?? {};
    const link = (view, text, site) => html`<a href="#/${view}"
      @click=${() => this.go(site, null)}>${text}</a>`;
    return html`<h3>${block.name}${block.of > 1 ? html` <span class="soft">${block.of} ×</span>` : nothing}</h3>
      <dl class="sizes">${[...Object.entries(sizes), ["parameters", parameters]].map(([name, value]) =>
        html`<dt>${name}</dt><dd class="number">${value.toLocaleString("en")}</dd>`)}</dl>
      ${formula ? html`<p class="formula">${formula}</p>` : nothing}
      ${(block.sites ?? []).map((site) => html`<p class="links"><span class="soft">${site.label}</span> ${link("look",
        "Look", site)} ${link("compute", "Compute", site)}</p>`)}`;
  }

  #parameters() {
    const { parameters: total } = this.model;
    const parts = this.model.parts.map(({ name, count }) => ({ name: roleName(name, this.model), count }));
    const most = Math.max(...parts.map((/** @type {any} */ { count }) => count));
    const rows = [...parts].sort((a, b) => b.count - a.count).map(({ name, count }) =>
      ({ label: name, value: count / most, number: `${thousands(count)} · ${((100 * count) / total).toFixed(1)} %`,
        title: name }));
    return html`<w-figure label="Parameters" data-part="parameters" .caption=${this.made()}
      .csv=${() => [["part", "parameters"],
      ...parts.map((part) => [part.name, part.count])]}>
      <w-bars class="parts" .rows=${rows} name="parameters by part"></w-bars></w-figure>`;
  }

  #positions() {
    const position = partName(this.model.plan.position);
    const sides = Object.keys(this.table ?? {});
    const side = sides.includes(this.side) ? this.side : sides[0];
    const rows = this.table?.[side];
    const isSinusoid = position === "sinusoid" || position === "concatenated";
    const kept = isSinusoid && this.which !== "all" ? (this.which === "even" ? 0 : 1) : null;
    const map = rows?.map((row) => (kept === null ? row : row.filter((_, i) => i % 2 === kept)));
    const most = map ? Math.max(...map.flat().map(Math.abs)) || 1 : 1;
    const { query, key } = this.place;
    const dimension = (column) => (kept === null ? column : 2 * column + kept);
    const value = query === null || key === null ? null : map?.[query]?.[key] ?? null;
    return html`<section class="wide" data-part="positions"><w-figure label="Positions" .caption=${this.made()}
      .legend=${map ? { signed: true, from: fixed(-most, 2), to: fixed(most, 2) } : null}
      .csv=${map ? () => [["position", "dimension", "value"],
      ...map.flatMap((row, at) => row.map((one, i) => [at, dimension(i), one]))] : null}>
      <div><p class="soft">${POSITIONS[position] ?? `The part is ${position}.`}</p>
      ${position === "none" || !map ? nothing : html`<div class="controls unsaved">
        ${sides.length > 1 ? segmented("positions of the", Object.fromEntries(sides.map((name) => [name, name])), side,
          (next) => { this.side = next; }) : nothing}
        ${isSinusoid ? segmented("dimensions", { even: "Sines", odd: "Cosines", all: "Both" }, this.which,
          (next) => { this.which = next; this.place = { query: null, key: null }; }) : nothing}
        <span class="scale signed"><span>${fixed(-most, 2)}</span><i></i><span>${fixed(most, 2)}</span></span></div>
        <w-matrix class="positions" whole signed .most=${most} .map=${map} .queries=${map.map((_, at) => String(at))}
          .keys=${map[0].map((_, at) => String(dimension(at)))} .axes=${["position", "dimension"]}
            .selected=${this.place} name="positions"
          @w-hover=${(event) => { event.stopPropagation(); this.place = event.detail ?? { query: null, key: null }; }}
          @w-pick=${(event) => event.stopPropagation()}></w-matrix>
        <p class="caption" role="status">${value === null
          ? `Positions 0 to ${map.length - 1} from top to bottom, dimensions from left to right.`
          : `position ${query}, dimension ${dimension(Number(key))}: ${fixed(value,
          3)}`}</p>`}</div></w-figure></section>`;
  }

  /** The masks of the sentence and a short one in the same batch, which needs padding. */
  #masks() {
    const { data, error } = this.masks;
    const isPair = hasPairs(this.model);
    const words = isPair ? "From a forward pass over the sentence and a short one in one batch. Blue is visible."
      : "From a forward pass over the text. Blue is visible.";
    if (!data) return html`<section class="wide" data-part="masks"><h2>Masks</h2><p
      class="soft">${error?.message ?? (this.masks.isEmpty
      ? "Type a sentence above to see its masks." : words)}</p></section>`;
    const { source, target, masks } = data;
    const pad = (tokens, length) => [...tokens, ...new Array(length - tokens.length).fill("(pad)")];
    const most = (rows) => Math.max(...rows.map(({ length }) => length));
    return html`<section class="wide" data-part="masks"><h2>Masks</h2><p class="soft">${words}</p><div
      class="masks">${this.model.kinds.map((kind) => {
      const isCausal = kind.keys === "shifted";
      const row = isCausal ? 0 : 1; // the short sentence has the padding
      const tokens = (axis) => (axis === "source" ? pad(source[row], most(source)) : pad(target[row], most(target)));
      const name = isCausal && !isPair ? "Causal" : `${kind.label}, ${isCausal ? "causal"
        : "a short sentence in a longer batch"}`;
      const map = masks[kind.name][row].map((one) => one.map((visible) => visible * VISIBLE));
      return html`<w-figure label=${name} .note=${isCausal ? "A token sees itself and the past, not the future."
        : "No query attends to padding."} .caption=${this.made()}>
        <w-matrix whole .queries=${tokens(kind.queries)} .keys=${tokens(kind.keys)} .map=${map} name=${name}
          .selected=${{ query: null, key: null }}
          @w-hover=${(event) => event.stopPropagation()}
            @w-pick=${(event) => event.stopPropagation()}></w-matrix></w-figure>`;
    })}</div></section>`;
  }
}

const EMBEDDING = / (embedding|words)$/;
const ROLES = /** @type {Record<string, string>} */ ({ "tokens embedding": "embedding", "head words": "output",
  "head bias": "output bias" });

/** What holds parameters, in words of the field: "encoder mixer" → "encoder self-attention". @param {string} name */
export function roleName(name, { plan, kinds }) {
  const names = name.split(" = ");
  if (names.length > 1 && names.every((one) => EMBEDDING.test(one))) {
    return names.includes("head words") ? "shared embedding and output" : "shared embedding";
  }
  return names.map((one) => {
    const [side, role] = one.split(" ");
    if (role === "cross") return "encoder-decoder attention";
    if (role !== "mixer") return ROLES[one] ?? one;
    return `${side} ${kinds.some((kind) => kind.name === side) ? "self-attention" : partName(plan[side].mixer)}`;
  }).join(" = ");
}

/** @param {any} model @returns {[string, string][]} */
function facts({ plan, diagram: { sides }, heads, parameters }) {
  const count = Math.max(0, ...Object.values(heads).map((/** @type {any} */ { heads: of }) => of));
  const last = /** @type {any} */ (Object.values(sides).at(-1));
  /** @type {[any, string][]} */
  const said = [
    [parameters < 1e6 ? thousands(parameters) : `${(parameters / 1e6).toFixed(1)} M`, "parameters"],
    [Object.keys(sides).map((side) => plan[side].layers).join(" + "), "layers"],
    [plan.width, "wide"],
    [count, count === 1 ? "head" : "heads"],
    [last.embedding.sizes.vocabulary.toLocaleString("en"), partName(plan.codec)],
  ];
  return said.filter(([number]) => number).map(([number, name]) => [String(number), name]);
}

define("v-model", ModelView);
export const model = { name: "model", label: "Model", needs: [], tag: "v-model", hasTarget: false,
  keys: { part: { first: "", allowed: (/** @type {string} */ value) => Object.hasOwn(PARTS, value) } } };
