// @ts-check
// Compute: one query of one head, number by number. Attention before 2017 has a score function of its own instead of
// q · k, and does not scale it.

import { headColour } from "weft/colours.js";
import { menu, numbers, pressing, segmented } from "weft/controls.js";
import { roving } from "weft/look.js";
import { bySize, isDot, products, short } from "weft/vectors.js";
import { counted, fixed, label, labels, scientific } from "weft/words.js";
import { View, classMap, define, html, nothing, styleMap } from "../view.js";
import "weft/figure.js";
import "weft/tokens.js";

const SUMMANDS = 3; // of q · k that are written out: the largest
const CHIPS = 16; // more heads are a menu

class Compute extends View {
  constructor() {
    super();
    /** @type {any} */ this.seen = null; // the last answer, and what its tokens depend on
    this.known = "";
    this.head = this.ask(() => {
      const { kind, layer } = this.site;
      return ["api/head", { kind, layer, head: this.number, token: this.token }];
    });
  }

  /** The head: where none is selected, the one of the layer that matters most. */
  get number() {
    const { kind, layer } = this.site;
    const ranked = this.model.heads_ranked?.heads.find((/** @type {any} */ one) => one.kind === kind
      && one.layer === layer);
    return this.unit ?? ranked?.head ?? 1;
  }

  /** The query: where none is chosen, or this text has fewer tokens, the first one, or the one that sees the most. */
  get token() {
    const { query } = this.store.state.pin;
    const count = this.known === this.axis ? this.seen.queries.length : 0;
    if (query !== null && query < count) return query;
    return this.site.keys === "shifted" && count ? count - 1 : 0;
  }

  /** What the tokens depend on. */
  get axis() {
    const { text, sentence } = this.state;
    return JSON.stringify([this.site.queries, text, sentence, this.store.request(this.pane), this.model.base]);
  }

  willUpdate() {
    const { data } = this.head;
    if (data && data !== this.seen) Object.assign(this, { seen: data, known: this.axis });
  }

  controls() {
    const { site, sites } = this;
    const kinds = [...new Set(sites.map((/** @type {any} */ { kind }) => kind))];
    const layers = sites.filter((/** @type {any} */ { kind }) => kind === site.kind);
    const named = Object.fromEntries(this.model.kinds.map((/** @type {any} */ kind) => [kind.name, kind.label]));
    const { units } = site;
    const all = numbers(units).map(([n]) => n);
    return html`
      ${kinds.length > 1 ? segmented("attention", named, site.kind, (kind) => {
        const to = sites.filter((/** @type {any} */ one) => one.kind === kind);
        this.go(to[Math.min(site.layer, to.length) - 1], null);
      }) : nothing}
      ${layers.length > 1 ? html`<label class="control"><span>Layer</span>${menu("layer",
        layers.map((/** @type {any} */ one) => [one.id, one.layer]), site.id,
        (id) => this.go(layers.find((/** @type {any} */ one) => one.id === id), this.unit))}</label>` : nothing}
      ${units === 1 ? nothing : units > CHIPS ? html`<label class="control"><span>Head</span>${menu("head",
        numbers(units), this.number, (head) => this.go(site, Number(head)))}</label>`
        : html`<div class="control"><span>Head</span><div class="chips" role="group" aria-label="Head"
        @keydown=${roving}>${all.map((head) => html`<button type="button"
          class=${classMap({ chip: true, exclusive: true, small: units > 8 })} aria-label=${`head ${head}`}
            aria-pressed=${head === this.number} tabindex=${head === this.number ? 0 : -1}
          style=${styleMap({ "--colour": headColour(head - 1) })} @click=${() => this.go(site,
            head)}>${head}</button>`)}</div></div>`}
      ${this.head.data && isDot(this.head.data) ? pressing("Sort by share", this.state.sorted,
        () => this.change({ sorted: !this.state.sorted }), "Dimensions by their share in the score, the largest first")
          : nothing}
      ${pressing("Weighted values", !this.state.plain, () => this.change({ plain: !this.state.plain }),
        "Each value times its weight: what is summed")}`;
  }

  get given() { return this.state.target.trim(); }

  get command() {
    const { kind, layer } = this.site;
    return this.assumed.length ? "" : this.attends(`--kind ${kind} --layer ${layer} --head ${
      this.number} --query ${this.head.body.token + 1} --csv numbers.csv`);
  }

  /** The query in words. @param {any} data */
  named({ queries, keys }) {
    const own = this.site.keys === "shifted" ? keys : queries; // a position predicts the token after the one it reads
    return label(own[this.head.body.token]);
  }

  draw() {
    const { data } = this.head;
    if (!data) return nothing;
    const { queries, keys, width, formula, rows } = data;
    const { site } = this;
    const kind = this.model.kinds.find((/** @type {any} */ { name }) => name === site.kind);
    const shifted = site.keys === "shifted";
    const which = this.sites.length === 1 && site.units === 1 ? "the only head" : `layer ${site.layer}${site.units > 1
      ? `, head ${this.number}` : ""}`;
    const { token } = this.head.body; // while another one is asked for
    const after = shifted ? `predicts ${label(queries[token])}` : site.queries === "target" ? "as it is predicted" : "";
    const title = `${kind.label}${kind.label.endsWith("attention") ? "" : " attention"}`;
    const hidden = rows.filter((/** @type {any} */ { visible }) => !visible).length;
    return html`<div class="computing">
      <div class="queries-of"><span class="soft">Query</span><w-tokens apart .tokens=${shifted ? keys.slice(0,
        queries.length) : queries} .selected=${token} name="query"
        @w-hover=${stop} @w-pick=${(/** @type {CustomEvent} */ { detail }) => this.store.pin({
          query: detail.at })}></w-tokens></div>
      <w-figure label=${`${title}, ${which}: ${this.named(data)}`} .note=${after}
        .caption=${this.made(this.command && `as a table: ${this.command}`)} .command=${this.command}
        .csv=${() => csv(data)}>
        <w-vectors .numbers=${data} .keys=${keys} query=${this.named(data)} .selected=${{ key: this.selection.key }}
          .isSorted=${this.state.sorted} .isPlain=${this.state.plain}
          .worked=${this.#worked(data)}></w-vectors></w-figure>
      <p class="soft remark">${counted(width, "dimension")}: blue is positive, orange negative.
        ${hidden ? `${counted(hidden, "key")} in the future ${hidden === 1 ? "is" : "are"} masked.` : nothing}
        ${rows[0].scaled === null ? html`The score is ${formula}, where s is the decoder state and h an encoder output.
          It is not scaled before the softmax.` : site.units > 1 ? html`The outputs of all ${site.units} heads are
          concatenated and multiplied by <math><msup><mi>W</mi><mi>O</mi></msup></math>.` : nothing}</p></div>`;
  }

  /** What is calculated for one key, in formulas. @param {any} data */
  #worked(data) {
    const { rows, query, width, formula, keys } = data;
    const at = this.#row(rows);
    const { key, score, scaled, visible, weight } = rows[at];
    const divided = scaled !== null;
    const power = (/** @type {any} */ row) => row.scaled ?? row.score; // what softmax is taken of
    const total = rows.filter((/** @type {any} */ row) => row.visible)
      .reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + Math.exp(power(row)), 0);
    const largest = isDot(data) ? bySize(products(query, key)).slice(0, SUMMANDS) : [];
    const terms = largest.map((i) => `(${short(query[i])})(${short(key[i])})`).join(" + ");
    const rest = query.length > SUMMANDS ? " + …" : "";
    return html`<p class="worked" role="status"><b>${label(keys[at])}</b>
      ${terms ? html`<span>largest first: <math><mi>q</mi><mo>·</mo><mi>k</mi></math> = ${terms}${rest}
        = ${short(score)}</span>` : html`<span><i>${formula}</i> = ${short(score)}</span>`}
      ${divided ? html`<span><math displaystyle="true">
        <mfrac><mrow><mi>q</mi><mo>·</mo><mi>k</mi></mrow><msqrt><mn>${width}</mn></msqrt></mfrac>
        <mo>=</mo><mn>${short(scaled)}</mn></math></span>` : nothing}
      ${visible ? html`<span><math displaystyle="true"><mfrac>
          <msup><mi>e</mi><mn>${short(power(rows[at]))}</mn></msup>
          <mrow><mo>∑</mo><msup><mi>e</mi><mo>…</mo></msup></mrow></mfrac>
        <mo>=</mo><mfrac><mn>${large(Math.exp(power(rows[at])))}</mn><mn>${large(total)}</mn></mfrac>
        <mo>=</mo><mn>${weight.toFixed(4)}</mn></math></span>`
        : html`<span>hidden by the mask: weight 0</span>`}</p>`;
  }

  /** The row that is looked at. @param {any[]} rows */
  #row(rows) {
    const { key } = this.selection;
    return key !== null && key < rows.length ? key : rows.reduce((best, { weight }, i) => (weight > rows[best].weight
      ? i : best), 0);
  }

  spoken() {
    const { data } = this.head;
    if (!data) return "";
    const { rows, keys } = data;
    const at = this.#row(rows);
    return `${this.named(data)} attends to ${label(keys[at])}: score ${fixed(rows[at].score,
      2)}, weight ${rows[at].weight.toFixed(2)}`;
  }
}

const stop = (/** @type {Event} */ event) => event.stopPropagation();

/** A sum of exponentials. @param {number} number */
const large = (number) => (number < 1e5 && number >= 0.01 ? number.toFixed(number < 10 ? 3 : 2) : scientific(number));

/** Every number as a table. @param {any} data */
function csv({ query, keys, rows, output }) {
  const head = ["key", "score", "scaled", "weight", ...query.map((/** @type {any} */ _, /** @type {number} */ i) =>
    `k${i + 1}`), ...output.map((/** @type {any} */ _, /** @type {number} */ i) => `v${i + 1}`)];
  const none = (/** @type {any[]} */ all) => all.map(() => "");
  return [head, ["(query)", "", "", "", ...query, ...none(output)],
    ...rows.map((/** @type {any} */ { key, score, scaled, weight, value }, /** @type {number} */ i) => [labels(keys)[i],
      score, scaled ?? "", weight, ...key, ...value]),
    ["(output)", "", "", "", ...none(query), ...output]];
}

define("v-compute", Compute);
const isFlag = (/** @type {any} */ value) => typeof value === "boolean";
export const compute = {
  name: "compute", label: "Compute", needs: ["numbers"], tag: "v-compute",
  keys: { sorted: { first: false, allowed: isFlag }, plain: { first: false, allowed: isFlag } },
};
