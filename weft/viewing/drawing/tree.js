// @ts-check
// A tree of texts from left to right: each node is a piece of text, and what follows it stands to its right.

import { Element, define, html, moved, nothing, svg } from "weft/element.js";

/**
 * @typedef {{id: string | number, label: string, title?: string, lit?: boolean, chosen?: boolean, children: Node[]}}
 *   Node lit: on the way to what is shown; chosen: its last piece
 */

const ROW = 1.75; // units of height of a node
const GAP = 1.6; // units between a node and the next
const LETTER = 0.56; // units of width of a letter

export class Tree extends Element {
  static measured = true;
  static properties = {
    root: { attribute: false },
    name: { type: String },
    layout: { state: true }, // of d3-hierarchy, once it is loaded
  };

  constructor() {
    super();
    /** @type {Node | null} */ this.root = null;
    this.name = "";
    /** @type {any} */ this.layout = null;
    /** @type {string | number | null} */ this.focused = null;
  }

  connectedCallback() {
    super.connectedCallback();
    import("weft/vendor/d3-hierarchy.js").then((found) => { this.layout = found; });
  }

  /** The nodes with their places. @returns {{nodes: any[], width: number, height: number, letters: number}} */
  #placed() {
    const { em: unit, layout } = this;
    const root = layout.hierarchy(this.root);
    layout.tree().nodeSize([ROW * unit, 1]).separation(() => 1)(root);
    const nodes = root.descendants();
    const top = Math.min(...nodes.map((node) => node.x));
    const least = Math.max(...nodes.map((node) => node.x)) - top + ROW * unit;
    const column = Math.max(9 * unit, this.room.width / (root.height + 1));
    for (const node of nodes) Object.assign(node, { x: node.depth * column, y: node.x - top + (ROW * unit) / 2 });
    const letters = Math.floor((column / unit - GAP) / LETTER);
    return { nodes, width: column * (root.height + 1), height: least, letters };
  }

  render() {
    if (!this.root || !this.layout || !this.room.width) return nothing;
    const { nodes, width, height, letters } = this.#placed();
    const unit = this.em;
    const end = ({ x, data }) => x + Math.min(letters, [...data.label].length) * LETTER * unit +
      0.4 * unit;
    const first = nodes.some(({ data }) => data.id === this.focused) ? this.focused
      : nodes.find(({ data }) => data.chosen)?.data.id ?? nodes[0].data.id;
    const link = ({ parent, x, y, data }) => {
      const [from, to] = [end(parent), x - 0.3 * unit];
      const middle = (from + to) / 2;
      return svg`<path class=${data.lit ? "lit" : ""} fill="none" stroke-width=${data.lit ? 0.13 * unit : 0.07 * unit}
        stroke=${data.lit ? "var(--accent)" : "var(--edge)"} d="M${from} ${parent.y}C${middle} ${parent.y} ${middle}
          ${y} ${to} ${y}"></path>`;
    };
    return html`<div class="tree" role="tree" aria-label=${this.name || nothing}
      @keydown=${(event) => this.#move(event, nodes)}>
      <svg width=${width} height=${height}>
        ${nodes.filter(({ parent }) => parent).sort((a, b) => Number(a.data.lit) - Number(b.data.lit)).map(link)}
        ${nodes.map(({ x, y, depth, data }) => svg`<g role="treeitem" class="node" tabindex=${data.id === first ? 0
          : -1} data-id=${data.id}
          aria-level=${depth + 1} aria-selected=${Boolean(data.chosen)} aria-label=${data.title ?? data.label}
          @click=${() => this.tell("pick", { id: data.id })}
            @focus=${() => { this.focused = data.id; this.requestUpdate(); }}>
          <title>${data.title ?? data.label}</title>
          <rect x=${x - 0.3 * unit} y=${y - 0.75 * unit} width=${end({ x, data }) - x + 0.3 * unit} height=${1.5 * unit}
            rx=${0.3 * unit}
            fill=${data.chosen ? "var(--wash)" : "transparent"}></rect>
          <text x=${x} y=${y} dominant-baseline="central" font-size=${0.92 * unit} font-weight=${data.chosen ? 600
            : 400} xml:space="preserve"
            fill=${data.lit ? "var(--ink)" : "var(--soft)"}>${cut(data.label, letters)}</text>
        </g>`)}
      </svg></div>`;
  }

  #move(event, nodes) {
    const at = nodes.findIndex(({ data }) => data.id === this.focused);
    const here = nodes[at];
    if (!here) return;
    const beside = nodes.filter(({ depth }) => depth === here.depth);
    const across = moved(event, beside.indexOf(here), beside.length, ["ArrowUp"], ["ArrowDown"]);
    const to = event.key === "ArrowRight" ? here.children?.[0] : event.key === "ArrowLeft" ? here.parent
      : across === null ? null : beside[across];
    if (event.key === "Enter" || event.key === " ") this.tell("pick", { id: here.data.id });
    else if (to) /** @type {SVGElement | null} */ (this.querySelector(`[data-id="${to.data.id}"]`))?.focus();
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  }
}

/** A text that fits, if possible of whole words. @param {string} text @param {number} letters */
function cut(text, letters) {
  const all = [...text];
  if (all.length <= letters) return text;
  const kept = all.slice(0, letters - 1).join("");
  return `${(/\s/.test(all[letters - 1]) ? kept : kept.replace(/(\S\s+)\S*$/, "$1")).trimEnd()}…`;
}

define("w-tree", Tree);
