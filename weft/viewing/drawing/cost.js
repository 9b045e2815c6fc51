// @ts-check
// The cost of plans: curves over length or width, both axes logarithmic, and the tables below them.

import { menu, segmented } from "weft/controls.js";
import { Element, define, html, nothing, styleMap } from "weft/element.js";
import "weft/curve.js";
import "weft/figure.js";

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("cost")).textContent ?? "");
/** @type {any[]} */
const plans = data.plans;

/** @type {Record<string, (t: number, k: number) => number>} */
const TERMS = {
  "t·k²": (t, k) => t * k * k, "t²·k": (t, k) => t * t * k, "t²": (t) => t * t, "t·k": (t, k) => t * k,
  "t": (t) => t, "k²": (t, k) => k * k, "k": (t, k) => k, "1": () => 1,
};
const UNITS = {
  seconds: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
};
const BROKEN = /** @type {Record<string, string>} */ ({ reference: "dashed: unfused, all attention weights in memory",
  recomputed: "dashed: recomputed without cached state" });

/** The colour of a plan, on dark paper lighter. @param {number} n */
const shade = (n) => `light-dark(${data.colours[n]}, color-mix(in oklab, ${data.colours[n]}, white 35%))`;

/** @param {number[]} list @returns {number[]} */
const every = (list) => [...new Set(list)].sort((a, b) => a - b);
const lengths = every(plans.flatMap((plan) => plan.declared.map((/** @type {any} */ { length }) => length)));
const widths = every(plans[0].growth.layer.points.map((/** @type {any} */ { width }) => width));

class CostPage extends Element {
  static properties = { of: { state: true }, measure: { state: true }, along: { state: true }, at: { state: true },
    off: { state: true }, pointed: { state: true } };

  constructor() {
    super();
    this.of = "layer";
    this.measure = "seconds";
    this.along = "length";
    this.at = widths[widths.length >> 1]; // the width, against length; the length, against width
    /** @type {Set<number>} */ this.off = new Set();
    /** @type {any} */ this.pointed = null;
  }

  get isDecoding() {
    return this.of === "decoding";
  }

  /** What the plans have to show. @returns {any[]} series of w-curve, each with `kind` */
  get series() {
    const kinds = this.of === "layer" ? ["layer", "reference"] : [this.of];
    return plans.flatMap((plan, n) => {
      const colour = shade(n);
      if (this.off.has(n)) return [];
      if (this.isDecoding) {
        return ["cached", "recomputed"].map((how) => ({
          colour, kind: how, name: `${plan.plan}, ${how}`, broken: how === "recomputed",
          points: plan.decoding.map((token) => ({ x: token.length, y: token[how] })),
        }));
      }
      return kinds.filter((kind) => plan.growth[kind]).map((kind) => this.#grown(plan, kind, colour));
    }).filter(({ points }) => points.length);
  }

  #grown(plan, kind, colour) {
    const { points, time, memory, crossing } = plan.growth[kind];
    const { coefficients } = this.measure === "seconds" ? time : memory;
    const other = this.along === "length" ? "width" : "length";
    const { at, along, measure } = this;
    const line = (x) => Object.entries(coefficients).reduce((sum, [name, value]) =>
      sum + Number(value) * (along === "length" ? TERMS[name](x, at) : TERMS[name](at, x)), 0);
    return {
      colour, kind, name: `${plan.plan}${kind === "reference" ? ", unfused" : ""}`, broken: kind === "reference", line,
      cross: along === "length" && measure === "seconds" ? crossing[at] : null,
      points: points.filter((point) => point[other] === at).map((point) => ({ x: point[along], y: point[measure] })),
    };
  }

  render() {
    const { series, isDecoding } = this;
    const byLength = isDecoding || this.along === "length";
    const [name, fixed] = byLength ? ["width k", widths] : ["length t", lengths];
    const broken = series.find((one) => one.broken)?.kind;
    const turn = (along) => { this.along = along; this.at = along === "length" ? widths[widths.length >> 1]
      : lengths[lengths.length - 1]; };
    const letter = byLength ? "t" : "k";
    return html`
      <div class="controls">
        ${segmented("of", { layer: "Mixer layer", step: "Training step", decoding: "Token of decoding" }, this.of,
          (value) => { this.of = value; })}
        ${isDecoding ? nothing : html`${segmented("measure", { seconds: "Time", bytes: "Memory" }, this.measure,
          (value) => { this.measure = value; })}
          ${segmented("along", { length: "Against length", width: "Against width" }, this.along, turn)}
          <label class="control"><span>${name}</span>${menu(name, fixed.map((n) => [n, n]), this.at,
            (value) => { this.at = Number(value); })}</label>`}
      </div>
      <div class="chips">${plans.map((plan, n) => html`<button class="chip" type="button"
        aria-pressed=${!this.off.has(n)} style=${styleMap({ "--colour": shade(n) })}
        @click=${() => this.#turn(n)}>${plan.plan}: ${plan.mixer}</button>`)}
        ${broken ? html`<span class="control broken-key">${BROKEN[broken]}</span>` : nothing}</div>
      <w-figure label="What plans cost" .caption=${`${machine()}. ${this.#words()}`}
        .csv=${() => [["plan", byLength ? "tokens" : "width", isDecoding ? "seconds" : this.measure],
        ...series.flatMap((one) => one.points.map((/** @type {any} */ { x, y }) => [one.name, x, y]))]}>
        ${series.length ? html`<w-curve name="curves of cost" .series=${series}
          .slopes=${{ 1: letter, 2: `${letter}²` }} .x=${{ label: byLength ? "length t, in tokens" : "width k",
            log: true,
          at: every(series.flatMap((one) => one.points.map((/** @type {any} */ { x }) => x))) }}
            .y=${{ label: "", log: true, words: (value) => this.#unit(value) }}
          @w-hover=${(/** @type {CustomEvent} */ { detail }) => { this.pointed = detail; }}></w-curve>`
            : html`<p class="empty">No plan is chosen.</p>`}</w-figure>
      <p class="caption" role="status">${this.#told(series)}</p>
      ${data.tables.map(table)}`;
  }

  /** Show or hide a plan. @param {number} n */
  #turn(n) {
    this.off = this.off.has(n) ? new Set([...this.off].filter((other) => other !== n)) : new Set([...this.off, n]);
  }

  #words() {
    return this.isDecoding ? "Dots are measured, each plan in its own width."
      : "Dots are measured, lines are fitted. A cross marks where terms in t² overtake terms in t.";
  }

  /** The point that is pointed at, in words. */
  #told(series) {
    const one = series.find(({ name }) => name === this.pointed?.series.name);
    const point = one?.points.find((/** @type {any} */ { x }) => x === this.pointed.point.x);
    if (!one || !point) return this.#words();
    const where = this.isDecoding ? `${point.x} tokens` : this.along === "length"
      ? `${point.x} tokens, width ${this.at}` : `${this.at} tokens, width ${point.x}`;
    return html`<b>${one.name}</b>, ${where}: ${this.#unit(point.y)}${one.line
      ? `, fitted ${this.#unit(one.line(point.x))}` : ""}${one.cross
      ? `; t² overtakes t at ${Math.round(one.cross).toLocaleString("en")}` : ""}`;
  }

  #unit(value) {
    const units = this.isDecoding || this.measure === "seconds" ? UNITS.seconds : UNITS.bytes;
    const [size, unit] = units.find(([least]) => value >= Number(least) * 0.9999) ?? units[units.length - 1];
    return `${Number((value / Number(size)).toPrecision(3))} ${unit}`;
  }
}

/** A formula with its powers raised: t^0.8·k^1.2. @param {string} cell */
const raised = (cell) => String(cell).split(/\^(-?[\d.]+)/).map((part, i) => (i % 2 ? html`<sup>${part}</sup>` : part));

/** @param {{title: string, head: string[], rows: string[][]}} of */
function table({ title, head, rows }) {
  return html`<section><h2>${title}</h2><div class="scroll" tabindex="0" role="region" aria-label=${title}><table
    class="told"><thead><tr>${head.map((cell) => html`<th scope="col">${raised(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) =>
      html`<tr>${row.map((cell) => html`<td>${raised(cell)}</td>`)}</tr>`)}</tbody></table></div></section>`;
}

function machine() {
  const { processor, torch, threads } = data.machine;
  return `One sentence at a time, on ${processor}, torch ${torch}, ${threads} thread${threads === 1 ? "" : "s"}`;
}

define("w-cost", CostPage);
const header = /** @type {HTMLElement} */ (document.querySelector("header"));
header.append(Object.assign(document.createElement("h1"), { textContent: "What plans cost" }),
  Object.assign(document.createElement("p"), { textContent: `${machine()}.`, className: "soft" }));
/** @type {HTMLElement} */ (document.querySelector("main")).append(document.createElement("w-cost"));
