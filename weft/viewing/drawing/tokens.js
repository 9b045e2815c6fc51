// @ts-check
// A text, token by token, with a value for each: a shade, or an underline where the model was not sure.

import { heat, isDeep } from "weft/colours.js";
import { Element, classMap, define, html, moved, nothing, styleMap } from "weft/element.js";
import { characters, isEnd } from "weft/words.js";

export class Tokens extends Element {
  static properties = {
    tokens: { attribute: false },
    values: { attribute: false }, // one a token, 0 to 1, or null
    // "shade": the darker, the more; "doubt": underlined, the less probable the stronger; "plain"
    mode: { type: String },
    apart: { type: Boolean }, // as labels with gaps; else as running text
    selected: { type: Number }, // a token, from 0
    name: { type: String },
    titles: { attribute: false }, // what is told of each on hovering it, or null
    from: { type: Number }, // tokens before this one are given, not written
  };

  constructor() {
    super();
    /** @type {string[]} */ this.tokens = [];
    /** @type {(number | null)[] | null} */ this.values = null;
    this.mode = "plain";
    this.apart = false;
    /** @type {number | null} */ this.selected = null;
    this.name = "";
    /** @type {string[] | null} */ this.titles = null;
    this.from = 0;
  }

  render() {
    const first = this.selected ?? 0;
    return html`<div class=${classMap({ tokens: true, apart: this.apart })} dir="auto" role="listbox"
      aria-orientation="horizontal"
      aria-label=${this.name || nothing} @keydown=${this.#move} @mouseleave=${() => this.tell("hover",
        null)}>${characters(this.tokens).map(({ from, to, token, text }) => {
        if (!this.apart && isEnd(token)) return nothing;
        const value = this.values?.slice(from, to).reduce((a, b) => (a === null || b === null ? a ?? b : Math.min(a,
          b)), null) ?? null;
        const chosen = this.selected !== null && this.selected >= from && this.selected < to;
        const shade = this.mode === "shade" && value !== null;
        const style = shade ? { background: heat(value), color: isDeep(value) ? "var(--on-heat)" : null }
          : this.mode === "doubt" && value !== null ? { "--doubt": String(Math.round((1 - value) * 100) / 100) } : {};
        const shown = this.apart ? text : token.replaceAll("·", " ");
        const space = !this.apart && shown.startsWith(" ") && shown.trim() !== "" && from > 0;
        return html`${space ? " " : nothing}<span role="option"
          class=${classMap({ token: true, chosen, doubt: this.mode === "doubt" && value !== null,
            given: from < this.from })}
          tabindex=${first >= from && first < to ? 0 : -1} aria-selected=${chosen}
          aria-label=${shown.trim() ? nothing : text} title=${this.titles?.[from]
            ?? nothing} style=${styleMap(style)}
          @mouseenter=${() => this.tell("hover", { at: from })} @focus=${() => this.tell("hover", { at: from })}
          @click=${() => this.tell("pick", { at: from })}>${space || (!this.apart && from === 0 && shown.trim())
            ? shown.trimStart() : shown}</span>`;
      })}</div>`;
  }

  #move(event) {
    const all = /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[role=option]")]);
    const at = all.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = moved(event, at, all.length, ["ArrowLeft"], ["ArrowRight"]);
    if (event.key === "Enter" || event.key === " ") all[at]?.click();
    else if (to !== null) all[to].focus();
    else return;
    event.preventDefault();
  }
}

define("w-tokens", Tokens);
