// @ts-check
// Decide, for translators: beam search as a tree that grows step by step, and why the winner won.

import { menu, slider } from "weft/controls.js";
import { chance, path } from "weft/paths.js";
import { fixed, percent, written } from "weft/words.js";
import { View, define, html, nothing } from "../view.js";
import { rivals } from "./forcing.js";
import { shaped } from "./sampling.js";
import "weft/figure.js";
import "weft/time.js";

const WIDTHS = [1, 2, 3, 4, 5, 6, 8, 10]; // of the beam
const RIVALS = 12; // bars
const PAUSE = 250; // milliseconds after the last move of a slider before the service is asked
const FATES = /** @type {Record<string, string>} */ ({
  kept: "kept", pruned: "pruned: not among the best", ended: "complete translation",
  cut: "cut by the length limit", left: "abandoned: the search was over",
});

class DecideSearch extends View {
  static properties = { pointed: { state: true }, heat: { state: true } };

  constructor() {
    super();
    /** @type {number | null} */ this.pointed = null; // a candidate of the tree
    /** @type {number | null} */ this.heat = null; // the temperature while its slider moves
    /** @type {any} */ this.timer = 0;
    /** @type {any} */ this.tree = null;
    /** @type {Map<number, any>} */ this.by = new Map();
    this.search = this.ask(() => ["api/search", { beam: this.state.beam }], { quiet: true });
    this.own = this.ask(() => ["api/run", { target: null }]);
    this.next = this.ask(() => {
      const { step } = this.store.state.pin;
      const count = this.own.data?.target.length;
      return step === null || !count || step >= count ? null : ["api/next", { step, target: null }];
    }, { quiet: true });
  }

  willUpdate() {
    if (this.tree === this.search.data) return; // null until there is one
    this.tree = this.search.data;
    this.pointed = null;
    this.by = new Map(this.tree?.steps.flat().map((/** @type {any} */ one) => [one.id, one]));
  }

  /** So many steps are shown. */
  get shown() {
    const { step } = this.store.state.pin;
    const count = this.tree?.steps.length ?? 1;
    return step === null ? count : Math.min(step + 1, count);
  }

  /** @param {number} step from 1 */
  show(step) {
    const { pin } = this.store.state;
    this.store.set({ pin: { ...pin, step: step >= this.tree.steps.length ? null : step - 1 } }, { typing: true });
  }

  get alpha() {
    return Math.round(this.state.alpha * 10) / 10; // as the slider has it
  }

  /** The complete translations, the best first. α only ranks them; it does not change the search. @returns {any[]} */
  get ranked() {
    const { alpha } = this;
    const scored = (/** @type {any} */ one) => ({ ...one, score: one.log_prob / one.length ** alpha });
    return (this.tree?.ended ?? []).map(scored)
      .sort((/** @type {any} */ a, /** @type {any} */ b) => b.finished - a.finished || b.score - a.score);
  }

  controls() {
    const { beam, temperature } = this.state;
    const widths = [...new Set([...WIDTHS, beam])].sort((a, b) => a - b); // an address may have another one
    const heat = this.heat ?? temperature;
    return html`<label class="control"><span>Beam</span>${menu("beam", widths.map((n) => [n, n]), beam,
      (next) => this.change({ beam: Number(next) }))}</label>
      ${slider("Length penalty α", this.alpha, { min: 0, max: 2, step: 0.1 }, this.alpha.toFixed(1),
        (alpha) => this.change({ alpha }, { typing: true }))}
      ${slider("Temperature", heat, { min: 0.1, max: 3, step: 0.1 }, heat.toFixed(1), (next) => this.#heated(next))}`;
  }

  /** Bars change at once, the search when the slider rests. @param {number} temperature */
  #heated(temperature) {
    this.heat = temperature;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.heat = null;
      this.change({ temperature }, { typing: true });
    }, PAUSE);
  }

  /**
   * Write this token at its step: with all that its path has from where it leaves what is written now.
   * @param {number} id
   */
  #force(id) {
    const target = this.own.data?.target ?? [];
    const way = path(this.by, id).map(({ token }) => token);
    const from = way.findIndex((token, step) => token !== target[step]);
    if (from < 0) return;
    const before = Object.entries(this.state.force).filter(([step]) => Number(step) < from);
    this.change({ force: Object.fromEntries([...before, ...way.slice(from).map((token, i) => [from + i, token])]) });
  }

  draw() {
    const { tree, shown, ranked } = this;
    if (!tree) return nothing;
    const winner = ranked[0]?.id ?? null;
    const point = (/** @type {CustomEvent} */ { detail }) => { this.pointed = detail.id; };
    const force = (/** @type {CustomEvent} */ { detail }) => this.#force(detail.id);
    return html`<div class="deciding" @w-point=${point} @w-force=${force}>
      <w-figure label=${`Beam search, ${tree.width} wide`} .note=${this.#told()} .caption=${this.made("",
        `beam ${tree.width}`, `length penalty α ${this.alpha.toFixed(1)}`)}
        .csv=${() => csv(tree)}>
        <w-paths .steps=${tree.steps} .shown=${shown} .winner=${winner} .pointed=${this.pointed}></w-paths></w-figure>
      ${shown >= tree.steps.length && ranked.length ? this.#ended(ranked) : nothing}</div>`;
  }

  /** What is pointed at, in words. */
  #told() {
    const one = this.pointed === null ? null : this.by.get(this.pointed);
    if (!one) {
      return html`Number: the probability of the path so far; bar: compared with the best path. After ×: the token’s
        own. A click writes it.`;
    }
    const text = written(path(this.by, one.id).map(({ token }) => token));
    const token = percent(Math.exp(one.log_prob));
    return html`<b dir="auto">${text}</b> P ${chance(one.total)}, log P ${fixed(one.total, 3)} · P(token) ${token}
      · ${FATES[one.fate]}`;
  }

  /** @param {any[]} found */
  #ended(found) {
    const [first, second] = found;
    const { alpha } = this;
    const likeliest = [...found].sort((a, b) => b.log_prob - a.log_prob)[0];
    const power = alpha.toFixed(1);
    return html`<section class="why" tabindex="0"><h2>Complete translations, and why the winner won</h2>
      <p><b dir="auto">${first.text}</b> wins with <math displaystyle="true">
        <mfrac><mrow><mi>log</mi><mi>P</mi></mrow><msup><mi>length</mi><mi>α</mi></msup></mfrac>
        <mo>=</mo><mfrac><mn>${fixed(first.log_prob, 3)}</mn>
          <msup><mn>${first.length}</mn><mn>${power}</mn></msup></mfrac>
        <mo>=</mo><mn>${fixed(first.score, 4)}</mn>
        </math>${second ? `, ahead of ${fixed(second.score, 4)} for the second.` : "."}
        ${likeliest.id === first.id ? nothing
          : `By log P alone “${likeliest.text}” would have won, with ${fixed(likeliest.log_prob,
          3)} in ${likeliest.length} tokens; the length penalty changed the order.`}</p>
      <div class="table-place"><table><thead><tr><th scope="col">translation</th><th scope="col">log P</th><th
        scope="col">length</th><th scope="col">length<sup>α</sup></th><th scope="col">score</th></tr></thead>
      <tbody>${found.map((one, i) => html`<tr class=${i === 0 ? "winning" : ""}
        @mouseenter=${() => { this.pointed = one.id; }} @mouseleave=${() => { this.pointed = null; }}>
        <td dir="auto">${one.text}${one.finished ? nothing : html`<span class="soft"> … cut</span>`}</td><td
          class="number">${fixed(one.log_prob, 3)}</td><td class="number">${one.length}</td>
        <td class="number">${(one.length ** alpha).toFixed(2)}</td><td class="number">${fixed(one.score,
          4)}</td></tr>`)}</tbody></table></div></section>`;
  }

  inspector() {
    const { data } = this.next;
    const { step } = this.store.state.pin;
    if (step === null || !data) return nothing;
    const { chances } = shaped(data, { temperature: this.heat ?? this.state.temperature, top_k: 0, top_p: 1 });
    const found = data.tokens.slice(0, RIVALS)
      .map((/** @type {any} */ { token }, /** @type {number} */ i) => ({ token, share: chances[i] }));
    const text = written(data.written);
    return html`<p class="caption">Step ${step + 1}${text ? html`, after <b dir="auto">${text}</b>` : nothing}. A click
      writes another token.</p>${rivals(this, step, found, this.own.data?.target[step])}`;
  }

  time() {
    if (!this.tree || this.pane === "b") return nothing;
    return html`<w-time .at=${this.shown} .count=${this.tree.steps.length}
      @w-time=${(/** @type {CustomEvent} */ { detail }) => this.show(detail.at)}></w-time>`;
  }

  spoken() {
    const one = this.pointed === null ? null : this.by.get(this.pointed);
    if (one) return `${written(path(this.by, one.id).map(({ token }) =>
      token))}: probability ${chance(one.total)}, of the token ${percent(Math.exp(one.log_prob))}, ${FATES[one.fate]}`;
    const best = this.ranked[0];
    return best && this.shown >= this.tree.steps.length ? `${best.text} wins with ${fixed(best.score, 3)}` : "";
  }
}

/** @param {any} tree */
function csv(tree) {
  const rows = tree.steps.flat().map((/** @type {any} */ one) => [one.id, one.parent ?? "", one.step, one.token,
    one.log_prob, one.total, one.fate]);
  return [["id", "parent", "step", "token", "log P of the token", "log P of the path", "fate"], ...rows];
}

define("v-decide-search", DecideSearch);
export const decideSearch = {
  name: "decide", label: "Decide", needs: ["search", "pairs"], tag: "v-decide-search", hasTarget: false,
  keys: {
    beam: { first: 5, allowed: (/** @type {any} */ value) => Number.isInteger(value) && value >= 1 },
    alpha: { first: 1, allowed: (/** @type {any} */ value) => typeof value === "number" && value >= 0 && value <= 2 },
  },
};
