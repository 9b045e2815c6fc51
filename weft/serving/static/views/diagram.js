// @ts-check
// The diagram of a model, made from what the service says of its blocks; each block can be chosen.

import { Element, classMap, define, html, nothing, svg } from "weft/element.js";
import { counted, thousands } from "weft/words.js";

/**
 * @typedef {{name: string, parameters: number, sizes: Record<string, number>, formula: string, marks: string[]}}
 *  Block
 */
/**
 * @typedef {{stretches: {blocks: Block[], past: boolean}[], layer: boolean, at?: number}} Row at: which layer it is,
 *  from 1
 */

const LETTERS = { x: "input", h: "encoder output", s: "decoder state", c: "context vector" };
const FEED = 14; // pixels to the right of the decoder

export class Diagram extends Element {
  static measured = true;
  static properties = {
    model: { attribute: false },
    chosen: { type: String }, // the id of a block
    arrows: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */ this.model = null;
    this.chosen = "";
    /** @type {any[]} */ this.arrows = [];
  }

  render() {
    const { diagram, plan } = this.model;
    const names = Object.keys(diagram.sides);
    const layers = names.map((side) => counted(diagram.sides[side].rows.filter((/** @type {Row} */ { layer }) =>
      layer).length, `${side} layer`));
    return html`<div class="diagram" ?data-single=${names.length === 1} role="group"
      aria-label=${`The model: ${layers.join(", ")}`}>
      <svg aria-hidden="true" viewBox="0 0 ${this.room.width} ${this.room.height}">${this.arrows}</svg>
      ${names.map((side) => this.#stack(side, names.length > 1, partName(plan.position)))}</div>
      <p class="soft letters">${letters(diagram.sides[/** @type {string} */ (names.at(-1))])}</p>`;
  }

  #stack(side, isPair, position) {
    const { diagram, plan } = this.model;
    const { embedding, positions, rows } = diagram.sides[side];
    const { vocabulary, width } = embedding.sizes;
    let count = 0;
    const counting = rows.map((row) => ({ ...row, at: row.layer ? (count += 1) : 0 }));
    const input = side === "encoder" ? "source" : isPair ? "target, shifted right" : "tokens";
    return html`<div class="stack ${side}">
      ${plain(input)}
      ${this.#block(`${side} embedding`, "embedding", [`${vocabulary.toLocaleString("en")} × ${width}${diagram.shared
        ? " · shared" : ""}`], [], { block: embedding })}
      ${position === "none" ? nothing : this.#block(`${side} positions`, `+ ${position} positions`,
        [positions.parameters ? thousands(positions.parameters) : ""], ["quiet"], { block: positions,
          isPositions: true })}
      ${groups(counting).map((alike) => this.#row(side, alike))}
      ${side === "decoder" ? [this.#block("head", "linear, softmax", [diagram.tied ? "tied to the embedding"
        : thousands(diagram.head.parameters)], [], { block: diagram.head, width: plan.width }), plain("probabilities")]
        : html`<div class="block outlet"></div>`}</div>`;
  }

  /** Rows that are equal are drawn once. */
  #row(side, alike) {
    const { stretches, layer } = alike[0];
    let attention = 0;
    return html`<div class=${layer ? "layer" : "between"}>${alike.length > 1
      ? html`<span class="times">${alike.length} ×</span>` : nothing}
      ${stretches.map(({ blocks, past }, i) => html`<div class=${past ? "past" : "post"}>${past
        ? html`<i aria-hidden="true">+</i>` : nothing}
        ${blocks.map((block, j) => {
          const own = alike.map((row) => row.stretches[i].blocks[j]);
          const n = block.name.includes("attention") ? attention++ : -1;
          return this.#alike(`${side} ${alike[0].at} ${i} ${j}`, own, side, n < 0 ? []
            : alike.flatMap(({ at }) => this.#sites(side, at ?? 0)[n] ?? []));
        })}</div>`)}</div>`;
  }

  /** The sites of attention of a layer, in their order. @returns {any[]} */
  #sites(side, layer) {
    return this.model.sites.filter((/** @type {any} */ { id, what }) => what === "attention"
      && id.startsWith(`${side}.${layer}.`));
  }

  /** One block of one or several equal rows. */
  #alike(id, own, side, sites) {
    const { name, parameters: count, sizes, formula, marks } = own[0];
    const { width } = this.model.plan;
    const dilations = [...new Set(own.map(({ sizes: { dilation } }) => dilation))];
    const shape = sizes.heads ? `${counted(sizes.heads, "head")} × ${sizes["key width"]}`
      : sizes.hidden ? `${width} → ${sizes.hidden} → ${width}`
      : sizes.kernel ? `${sizes.kernel} wide${Math.max(...dilations) > 1 ? `, dilated by ${dilations.join(", ")}` : ""}`
      : "";
    const last = marks.includes("quiet") || !count ? "" : thousands(count);
    const details = shape.length + last.length < 24 ? [formula, [shape, last].filter(Boolean).join(" · ")]
      : [formula, shape, last];
    return this.#block(id, name, details, marks, { block: own[0], sites, of: own.length, side });
  }

  #block(id, name, details, marks, about) {
    return html`<button type="button" aria-pressed=${id === this.chosen}
      class=${classMap({ block: true, ...Object.fromEntries(marks.map((mark) => [mark, true])) })}
      @click=${() => this.tell("pick", { id, name, ...about })}><b>${name}</b>${details.filter(Boolean).map((detail) =>
        html`<small class="number">${detail}</small>`)}</button>`;
  }

  updated() {
    const place = this.querySelector(".diagram");
    if (place && place.getBoundingClientRect().width !== this.drawnAt) this.#arrows(/** @type {HTMLElement} */ (place));
  }

  /**
   * Arrows from the top of the encoder to where the decoder reads it, from feeding to fed blocks, and around
   * recurrences.
   */
  #arrows(place) {
    const box = place.getBoundingClientRect();
    this.drawnAt = box.width;
    const all = (marked) => [...place.querySelectorAll(marked)].map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return { left: left - box.left, right: right - box.left, top: top - box.top, bottom: bottom - box.top,
        y: (top + bottom) / 2 - box.top, x: (left + right) / 2 - box.left };
    });
    const [from] = all(".encoder .outlet");
    const [decoder] = all(".decoder");
    const middle = from && (from.right + decoder.left) / 2;
    const looks = from ? all(".source").map(({ left, y }) =>
      arrow(`M${from.x} ${from.top}V${from.top - 8}q0 -8 8 -8${turned(middle, from.top - 16, y, 1)}`, left - 2, y, 1))
        : [];
    const feeds = all(".feeds").flatMap((feeder) => all(".fed").map(({ right, y }) =>
      // a block below was computed before: it is fed in the next step
      arrow(`M${feeder.right} ${feeder.y}${turned(decoder.right + FEED, feeder.y, y, -1)}`, right + 2, y, -1,
        y > feeder.y ? "later" : "")));
    // above what is fed
    const loops = all(".loop").map(({ right, y }) => arrow(`M${right} ${y - 3}c14 0 14 -13 2 -13`, right + 2, y - 16,
      -1, "later"));
    const pasts = all(".past").map(({ left, x, top, bottom }) => svg`<path class="around"
      d="M${left + 20} ${bottom}H${left + 12}q-9 0 -9 -9V${top + 16}q0 -9 9 -9H${x + 2}" />`); // the residual stream
    this.arrows = [...pasts, ...looks, ...feeds, ...loops];
    place.querySelector("svg")?.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  }
}

/** @param {any} part */
export const partName = (part) => (typeof part === "string" ? part : part.name);

const plain = (name) => html`<div class="block plain"><b>${name}</b></div>`;

/** Consecutive rows that are equal are drawn once; the dilation of a convolution may differ. @param {Row[]} rows */
function groups(rows) {
  /** @type {{key: string, rows: Row[]}[]} */
  const found = [];
  for (const row of rows) {
    const key = JSON.stringify(row, (name, value) => (name === "dilation" || name === "at" ? undefined : value));
    const last = found.at(-1);
    if (last?.key === key) last.rows.push(row);
    else found.push({ key, rows: [row] });
  }
  return found.map(({ rows: alike }) => alike);
}

/** The meaning of the letters in the formulas. @param {{rows: Row[]}} side */
function letters({ rows }) {
  const formulas = rows.flatMap(({ stretches }) => stretches).flatMap(({ blocks }) => blocks).map(({ formula }) =>
    formula).join(" ");
  const used = Object.entries(LETTERS).filter(([letter]) => new RegExp(`\\b${letter}\\b`).test(formulas));
  return used.map(([letter, meaning]) => `${letter}: ${meaning}`).join(" · ");
}

/**
 * To the right as far as x, up or down from one height to another, and on to the right (1) or back (-1), around
 * corners.
 * @param {number} x
 * @param {number} from
 * @param {number} to
 * @param {1 | -1} way
 */
function turned(x, from, to, way) {
  const r = Math.min(8, Math.abs(to - from) / 2);
  const down = to > from ? r : -r;
  return `H${x - r}q${r} 0 ${r} ${down}V${to - down}q0 ${down} ${way * r} ${down}`;
}

/**
 * A path that ends at x, with a head that points to the right (1) or to the left (-1).
 * @param {string} path
 * @param {number} x
 * @param {number} y
 * @param {1 | -1} way
 */
function arrow(path, x, y, way, kind = "") {
  return svg`<g class=${kind}><path d="${path}H${x}" /><path class="tip" d="M${x - 6 * way} ${y - 4}l${6 * way}
    4l${-6 * way} 4" /></g>`;
}

define("w-diagram", Diagram);
