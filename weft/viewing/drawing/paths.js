// @ts-check
// A beam search as ranked columns: in each the candidates of a step, the likeliest hypothesis on top.

import { Element, classMap, define, html, nothing, svg } from "weft/element.js";
import { label, percent, scientific } from "weft/words.js";

const ROW = { least: 1.25, most: 2 }; // units: the height of a candidate
const GAP = 2.2; // units between two steps
const HEAD = 1.6; // units above the columns, for the numbers of steps
const WIDE = 56; // units of a saved figure: its steps go on below
const LEAST = 0.001; // a smaller probability is written as a power of ten

/**
 * @typedef {{id: number, parent: number | null, step: number, token: string, log_prob: number, total: number,
 *   fate: string}} Candidate
 */

/** The probability of a path, however small. @param {number} logProb */
export const chance = (logProb) => (Math.exp(logProb) >= LEAST ? percent(Math.exp(logProb))
  : scientific(Math.exp(logProb)));

/**
 * The candidates from the start to this one.
 * @param {Map<number, Candidate>} by
 * @param {number | null} id
 * @returns {Candidate[]}
 */
export function path(by, id) {
  const found = [];
  for (let one = id === null ? undefined : by.get(id); one; one = one.parent === null ? undefined
    : by.get(one.parent)) found.unshift(one);
  return found;
}

export class Paths extends Element {
  static measured = true;
  static properties = {
    steps: { attribute: false }, // Candidate[][], the best first
    shown: { type: Number }, // so many steps are there
    winner: { attribute: false }, // the id of the last candidate of the path that won, or null
    pointed: { attribute: false }, // the id of a candidate
    saving: { attribute: false },
    beyond: { state: true }, // [steps before the window, steps after it]
  };

  constructor() {
    super();
    /** @type {Candidate[][]} */ this.steps = [];
    this.shown = 0;
    /** @type {number | null} */ this.winner = null;
    /** @type {number | null} */ this.pointed = null;
    this.saving = false;
    this.beyond = [0, 0];
    /** @type {Map<number, Candidate>} */ this.by = new Map();
    /** @type {Map<number, string>} what tells a candidate from others with its token */ this.told = new Map();
    /** @type {{x: number, width: number}[]} */ this.columns = [];
    this.followed = "";
    /** @type {number | undefined} */ this.left = 0;
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (this.saving) this.left = this.place?.scrollLeft;
    if (!changed.has("steps")) return;
    this.by = new Map(this.steps.flat().map((one) => [one.id, one]));
    this.told = apart(this.steps, this.by);
  }

  /**
   * Where the columns are: as wide as their longest candidate; in a figure those that are shown, some below others.
   * @returns {{x: number, width: number, n: number, band: number}[]}
   */
  #columns() {
    const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    const unit = this.em;
    pen.font = `650 ${unit}px ${getComputedStyle(this).fontFamily}`;
    let [x, band] = [0, 0];
    return this.steps.slice(0, this.saving ? Math.max(1, this.shown) : undefined).map((candidates, n) => {
      const said = (/** @type {Candidate} */ one) => pen.measureText(label(one.token)).width +
        0.8 * pen.measureText(`${this.told.get(one.id)
          ?? ""} × ${percent(Math.exp(one.log_prob))} ${chance(one.total)}`).width;
      const width = Math.max(unit * 6, ...candidates.map(said)) + unit * 2.2;
      if (this.saving && x && x + width > WIDE * unit) [x, band] = [GAP * unit, band + 1];
      const column = { x, width, n, band };
      x += width + GAP * unit;
      return column;
    });
  }

  render() {
    if (!this.steps.length || !this.room.width) return html`<div class="paths"></div>`;
    const { em: unit, steps, shown, by, pointed, winner } = this;
    const columns = this.#columns();
    const count = Math.max(...steps.map(({ length }) => length));
    const row = Math.max(ROW.least * unit, Math.min(ROW.most * unit, (this.room.height - (HEAD + 1) * unit) / count));
    const [head, box] = [HEAD * unit, row - Math.max(2, 0.16 * unit)];
    const lit = new Set(path(by, pointed).map(({ id }) => id));
    const won = new Set(shown >= steps.length ? path(by, winner).map(({ id }) => id) : []);
    const rank = new Map(steps.flatMap((some) => some.map((one, i) => [one.id, i])));
    const down = head + count * row + unit; // from a band to the next
    const place = (/** @type {number} */ id, /** @type {number} */ band) => band * down + head +
      /** @type {number} */ (rank.get(id)) * row + box / 2;
    const middle = (/** @type {number} */ id) =>
      place(id, columns[/** @type {Candidate} */ (by.get(id)).step - 1].band);
    const bands = columns[columns.length - 1].band + 1;
    const width = Math.max(...columns.map((one) => one.x + one.width)) + (bands > 1 ? GAP * unit : 2);
    const is = (/** @type {Candidate} */ one) => classMap({ [one.fate]: true, winning: won.has(one.id),
      lit: lit.has(one.id), later: one.step > shown });
    this.columns = columns;
    const [left, right] = this.beyond;
    const focusable = pointed !== null && by.has(pointed) ? pointed : steps[0][0].id;
    return html`<div class=${classMap({ paths: true, pointing: lit.size > 0 })} @scroll=${this.#scrolled}
      @keydown=${this.#move}
      @mouseleave=${() => this.tell("point", { id: null })}>
      <svg role="group" aria-label="The search tree. Arrow keys go along it; Enter writes this token." width=${width}
        height=${bands * down - unit}>
        ${columns.map(({ x, n, band }) => svg`<text class=${classMap({ step: true, later: n >= shown })} x=${x + 2}
          y=${band * down + head - 0.5 * unit}>${n + 1}</text>`)}
        <g class="edges">${columns.slice(1).map((column, n) => steps[n + 1].map((one) => {
          const parent = /** @type {number} */ (one.parent);
          const end = columns[n].x + columns[n].width;
          const isBelow = column.band > columns[n].band; // it leaves a band to the right, and comes from the left
          const from = isBelow ? 0 : end;
          const half = (from + column.x) / 2;
          const [a, b] = [place(parent, column.band), middle(one.id)];
          return svg`<path class=${is(one)} d=${`${isBelow ? `M${end} ${middle(parent)}h${0.6 * GAP * unit}` : ""}M${
            from} ${a}C${half} ${a} ${half} ${b} ${column.x} ${b}`} />`;
        }))}</g>
        ${columns.map(({ x, width: wide }, n) => steps[n].map((one) => {
          const share = Math.exp(one.total - steps[n][0].total);
          const before = this.told.get(one.id);
          const [own, path] = [percent(Math.exp(one.log_prob)), chance(one.total)];
          return svg`<g class="candidate ${is(one)}" data-id=${one.id}
            transform=${`translate(${x} ${middle(one.id) - box / 2})`} role="button" tabindex=${one.id === focusable ? 0
              : -1}
            aria-label=${`${before ? `${before} ` : ""}${label(one.token)} × ${own} ${path}: step ${one.step}, `
              + "probability of the token and of the path"}
            @mouseenter=${() => this.tell("point", { id: one.id })} @focus=${() => this.tell("point", { id: one.id })}
              @click=${() => this.tell("force", { id: one.id })}>
            <rect class="box" width=${wide} height=${box} rx="4" /><rect class="share"
              width=${Math.max(2, wide * share)} height=${box} rx="4" />
            <text x=${0.5 * unit} y=${box / 2 + 0.35 * unit}>${before ? svg`<tspan class="before">${before} </tspan>`
              : nothing}${label(one.token)} <tspan class="factor" dx=${0.15 * unit}>× ${own}</tspan> </text>
            <text class="chance" x=${wide - 0.5 * unit} y=${box / 2 + 0.35 * unit}>${path}</text></g>`;
        }))}
      </svg></div>
      ${left ? html`<button type="button" class="beyond left unsaved"
        @click=${() => this.#scroll(-1)}>‹ ${left} before</button>` : nothing}
      ${right ? html`<button type="button" class="beyond right unsaved"
        @click=${() => this.#scroll(1)}>${right} more ›</button>` : nothing}`;
  }

  /** @param {Map<string, any>} changed */
  updated(changed) {
    if (this.saving) return;
    if (changed.has("saving") && this.left) this.place.scrollLeft = this.left;
    const to = `${this.shown} ${this.room.width}`;
    if (this.room.width && this.shown < this.steps.length && to !== this.followed) this.#follow();
    this.followed = to;
    this.#scrolled();
  }

  get place() {
    return /** @type {HTMLElement} */ (this.querySelector(".paths"));
  }

  /** How many steps are beyond the window, on both sides. */
  #scrolled = () => {
    const { scrollLeft: left, clientWidth: width } = this.place;
    const out = this.columns.slice(0, Math.max(1, this.shown));
    const beyond = [out.filter(({ x, width: wide }) => x + wide / 2 < left).length, out.filter(({ x, width: wide }) => x
      + wide / 2 > left + width).length];
    if (width && beyond.join() !== this.beyond.join()) this.beyond = beyond;
  };

  /** @param {number} way */
  #scroll(way) {
    this.place.scrollBy({ left: way * 0.7 * this.place.clientWidth, behavior: "smooth" });
  }

  /** Keep the step in sight that is the last one. */
  #follow() {
    const column = this.columns[this.shown - 1];
    const { place } = this;
    if (!column || !place) return;
    const [from, to] = [column.x, column.x + column.width + this.em * 3];
    const smooth = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    if (to > place.scrollLeft + place.clientWidth) place.scrollTo({ left: to - place.clientWidth,
      behavior: /** @type {ScrollBehavior} */ (smooth) });
    else if (from < place.scrollLeft) place.scrollTo({ left: from, behavior: /** @type {ScrollBehavior} */ (smooth) });
  }

  /** Along the paths with ← and →, within a step with ↑ and ↓. @param {KeyboardEvent} event */
  #move(event) {
    const id = Number(/** @type {HTMLElement} */ (event.target).dataset.id);
    const one = this.by.get(id);
    if (!one) return;
    const column = this.steps[one.step - 1];
    const at = column.indexOf(one);
    const next = this.steps[one.step]?.find(({ parent }) => parent === id);
    const to = { ArrowRight: one.step < this.shown ? next : undefined, ArrowLeft: one.parent === null ? undefined
      : this.by.get(one.parent),
      ArrowDown: column[at + 1], ArrowUp: column[at - 1] }[event.key];
    if (event.key === "Enter" || event.key === " ") this.tell("force", { id });
    else if (to) /** @type {HTMLElement} */ (this.querySelector(`[data-id="${to.id}"]`)).focus();
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  }
}

/**
 * Of candidates of a step with the same token, the word of their path that tells them apart.
 * @param {Candidate[][]} steps
 * @param {Map<number, Candidate>} by
 * @returns {Map<number, string>}
 */
function apart(steps, by) {
  const found = new Map();
  for (const candidates of steps) {
    for (const one of candidates) {
      const same = candidates.filter(({ token }) => token === one.token);
      if (same.length === 1) continue;
      const [own, ...others] = [one, ...same.filter((other) => other !== one)].map(({ id }) => path(by,
        id).map(({ token }) => token).reverse());
      for (let back = 1; back < own.length; back++) {
        if (others.every((other) => other.slice(1, back + 1).join() !== own.slice(1, back + 1).join())) {
          found.set(one.id, `${label(own[back])}${back > 1 ? " … " : " "}`);
          break;
        }
      }
    }
  }
  return found;
}

define("w-paths", Paths);
