// @ts-check
// What a view is made of, on the page and in a saved file: controls, a stage, and an inspector beside it.

import { Element, define, html, nothing } from "weft/element.js";
import { Watching } from "weft/store.js";

/** @typedef {import("weft/store.js").Store} Store */
const QUOTED = 160; // letters of a caption

/** @typedef {{replace: Record<string, string>, force: Record<string, string>}} Stood */

/**
 * A view draws in `draw`, if `problem` has nothing to tell. `controls` stand above the stage, `inspector` beside it,
 * `time` below it; `spoken` is what a screen reader says of the selection.
 */
export class View extends Element {
  static properties = {
    store: { attribute: false },
    model: { attribute: false }, // what /api/model says
    pane: { type: String, reflect: true }, // "a" or "b"
    bar: { attribute: false }, // where its controls stand instead
  };

  constructor() {
    super();
    /** @type {Store} */ this.store = /** @type {any} */ (undefined);
    /** @type {any} */ this.model = null;
    /** @type {"a" | "b"} */ this.pane = "a";
    /** @type {Controls | null} */ this.bar = null;
    this.watching = new Watching(this, () => this.store);
    // What a drawing in here tells is a selection, if it says what of the selection it is.
    for (const [name, act] of /** @type {const} */ ([["w-hover", "hover"], ["w-pick", "pin"]])) {
      this.addEventListener(name, (event) => {
        const detail = this.meant(/** @type {CustomEvent} */ (event).detail);
        if (detail !== null && !["query", "key", "step"].some((key) => key in detail)) return;
        if (act === "hover") this.store.hover(detail);
        else this.store.pin(detail, { toggle: true });
      });
    }
  }

  /** The state as this pane sees it. */
  get state() {
    return this.store.of(this.pane === "b" ? "b" : "a"); // what differs is drawn with the state of A
  }

  get selection() {
    return this.store.selection;
  }

  /** What a drawing in here tells of the selection. @param {any} detail @returns {any} */
  meant(detail) {
    return detail;
  }

  /** Change the state, of this pane where a pane has it for itself. @param {object} change @param {object} [options] */
  change(change, options) {
    this.store.change(this.pane, change, options);
  }

  /** The sites of attention. @returns {any[]} */
  get sites() {
    return this.model.sites.filter((site) => site.what === "attention");
  }

  /** The head that matters most, where that is known and nothing else is selected. @returns {any} */
  get best() {
    const { site } = this.selection;
    return site && this.sites.some(({ id }) => id === site) ? null : this.model.heads_ranked?.heads[0] ?? null;
  }

  /** The site that is selected; where there is none, that of the head that matters most, else the last. */
  get site() {
    const { best } = this;
    const is = (/** @type {any} */ { id, kind, layer }) => (best ? kind === best.kind && layer === best.layer
      : id === this.selection.site);
    return this.sites.find(is) ?? this.sites.at(-1);
  }

  /** The head that is selected, or null: all. @returns {number | null} */
  get unit() {
    const unit = this.best?.head ?? this.selection.unit;
    return unit && unit <= this.site.units && this.site.units > 1 ? unit : null;
  }

  /**
   * Go to another site and head; tokens stay selected if they are those of the new site, too.
   * @param {any} site
   * @param {number | null} unit
   */
  go(site, unit, more = {}) {
    const { queries, keys } = this.site;
    const same = queries === site.queries && keys === site.keys;
    const { pin } = this.store.state;
    this.store.hover(null);
    this.store.set({ pin: { ...pin, site: site.id, unit, ...(same ? {} : { query: null, key: null }) }, ...more });
  }

  /** The text that is read. @returns {string} */
  get read() { return this.state.text ?? ""; }

  /**
   * The words that stood where others are put now, as far as they are known.
   * @param {"a" | "b"} _
   * @returns {Stood | undefined}
   */
  stood(_) { return undefined; }

  /** What is changed in the model or its input. @returns {string[]} */
  get assumed() {
    return assumed(this.state, this.model.kinds, this.stood(this.pane));
  }

  /** The translation that is given instead of the model's own, where a view can have one. @returns {string} */
  get given() { return ""; }

  /** `weft attend …` for the text that is read. @param {string} options @returns {string} */
  attends(options) {
    const given = this.given ? ` --target ${shell(this.given)}` : "";
    return `weft attend ${this.model.name} ${shell(this.read)}${given} ${options}`;
  }

  /**
   * What made a figure, for its caption: the command that makes it, or else the text and all that was set.
   * @param {string} [command] none makes it where something is changed
   * @param {string[]} settings
   */
  made(command = "", ...settings) {
    const { assumed: what } = this;
    const text = [this.read, this.given].filter(Boolean).map(quoted).join(" → ");
    const says = command && !what.length ? [command]
      : [[text, ...settings].filter(Boolean).join(", "), what.join("; ")];
    return [weights(this.model), ...says].filter(Boolean).join(" · ");
  }

  render() {
    const problem = this.problem();
    if (problem !== nothing) return html`<div class="frame">${problem}</div>`;
    const inspector = this.inspector();
    const busy = this.busy();
    const { query, key, step } = this.store.state.pin;
    return html`<div class="frame" ?data-pinned=${query !== null || key !== null || step !== null}>
      ${this.bar ? nothing : html`<div class="controls">${this.controls()}</div>`}
      <div class="stage" aria-busy=${busy}>${this.draw()}</div>
      ${inspector === nothing ? nothing : html`<aside class=${this.hasSummary ? "inspector always" : "inspector"}
        aria-label="What is selected">${inspector}</aside>`}
      <div class="time">${this.time()}</div>
      <p class="hidden-text" role="status">${this.spoken()}</p>
    </div>`;
  }

  updated() {
    this.bar?.requestUpdate();
  }

  /** @returns {any} */ problem() { return nothing; }
  /** @returns {any} */ controls() { return nothing; }
  /** @returns {any} */ draw() { return nothing; }
  /** @returns {any} */ inspector() { return nothing; }
  /** Whether the inspector tells something where nothing is selected, too. */
  get hasSummary() { return false; }
  /** @returns {any} */ time() { return nothing; }
  /** @returns {string} */ spoken() { return ""; }
  busy() { return false; }
}

/** @param {any} model */
export const weights = ({ name, hash }) => `${name}, weights ${hash ?? "unknown"}`;

/** A text in quotation marks; of a long one its ends. @param {string} text */
export function quoted(text) {
  const all = [...text.trim()];
  return `“${all.length > QUOTED ? `${all.slice(0, QUOTED / 2).join("")} … ${all.slice(-QUOTED / 2).join("")}`
    : all.join("")}”`;
}

/** A text as a word of a command. @param {string} text */
const shell = (text) => (/["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`);

/**
 * What-ifs in words.
 * @param {any} state
 * @param {{name: string, label: string}[]} kinds
 * @param {Stood} [stood]
 * @returns {string[]}
 */
export function assumed({ off = [], replace = {}, force = {}, temperature = 1 }, kinds, stood) {
  const kind = (/** @type {string} */ name) => (kinds.find((one) => one.name === name)?.label ?? name).toLowerCase();
  const word = (/** @type {any} */ token) => String(token).replaceAll("·", " ").trim() || "nothing";
  const heads = off.map((/** @type {any} */ one) => `${kind(one.kind)} ${one.layer}·${one.head}`);
  return [
    ...(heads.length ? [`without ${heads.join(", ")}`] : []),
    ...Object.entries(replace).map(([at, token]) => `${stood?.replace[at] ?? `token ${Number(at) + 1}`} → ${
      word(token)}`),
    ...Object.entries(force).map(([at, token]) => `step ${Number(at) + 1} writes ${word(token)}${
      stood?.force[at] ? `, not ${stood.force[at]}` : ""}`),
    ...(temperature === 1 ? [] : [`temperature ${temperature}`]),
  ];
}

/** The controls of a view, outside of it: one row for all panes. */
export class Controls extends Element {
  static properties = { of: { attribute: false } };

  constructor() {
    super();
    /** @type {View | null} */ this.of = null;
  }

  render() {
    return this.of?.model && this.of.problem() === nothing ? html`<div class="controls">${this.of.controls()}</div>`
      : nothing;
  }
}

define("w-controls", Controls);
