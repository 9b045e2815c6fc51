// @ts-check
// Look: attention of every kind, layer and head.

import { define } from "weft/element.js";
import { LOOK_KEYS, Looking } from "weft/look.js";
import { asking } from "../view.js";

class Look extends asking(Looking) {
  constructor() {
    super();
    this.maps = this.ask(() => {
      const { kind, layer } = this.site;
      return this.mode === "grid" ? null : ["api/attention", { kind, layer }];
    }, { binary: true });
    this.pictures = this.ask(() => (this.mode === "grid" ? ["api/overview", { kind: this.site.kind }] : null), { binary: true });
  }

  get seen() {
    const { data } = this.maps;
    return data && { queries: data.queries, keys: data.keys, maps: data.maps?.[0] ?? cut(data)[0] };
  }

  get overview() {
    const { data } = this.pictures;
    if (!data) return null;
    const pictures = data.pictures?.map((/** @type {string[]} */ layer) => layer.map(bytes)) ?? cut(data, true);
    return { queries: data.queries, keys: data.keys, pictures };
  }

  get command() {
    const { site, heads } = this;
    const head = heads.length === 1 && site.units > 1 ? ` --head ${heads[0]}` : "";
    const text = this.state.text.replaceAll('"', '\\"');
    return `weft attend ${this.model.name} "${text}" --kind ${site.kind} --layer ${site.layer}${head}`;
  }
}

/** @param {string} text */
const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/**
 * Numbers in one row as [layer][head][query][key], or as [layer][head] where `flat`.
 * @param {{shape: number[], numbers: any}} answer
 */
function cut({ shape: [layers, heads, queries, keys], numbers }, flat = false) {
  const piece = (/** @type {number} */ from, /** @type {number} */ length) => numbers.subarray(from, from + length);
  return Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (__, head) => {
    const from = (layer * heads + head) * queries * keys;
    return flat ? piece(from, queries * keys) : Array.from({ length: queries }, (___, query) => piece(from + query * keys, keys));
  }));
}

define("v-look", Look);
export const look = { name: "look", label: "Look", needs: ["attention"], tag: "v-look", keys: LOOK_KEYS };
