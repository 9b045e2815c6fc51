// @ts-check
// A figure: a drawing with its title, and a menu to take it away: as SVG, PNG or CSV, as a link or a command.

import { Element, define, html, nothing } from "weft/element.js";
import { download, toCSV, toPNG, toSVG } from "weft/saving.js";

/**
 * <w-figure title="…" .caption=${…} .command=${…} .csv=${() => rows}>a drawing</w-figure>
 * What is between the tags is the drawing; an element of the class "unsaved" in it is not saved.
 */
export class Figure extends Element {
  static properties = {
    label: { type: String }, // the title
    note: { attribute: false }, // beside the title, small: a text or a template
    caption: { attribute: false }, // below a saved figure: the model, its hash, how to make it again; or () => that
    command: { type: String }, // `weft …`, which makes the same numbers
    legend: { attribute: false }, // what the colours of a saved figure mean: {from, to, signed, said}
    csv: { attribute: false }, // () => rows, the first with names
    said: { state: true },
  };

  constructor() {
    super();
    this.label = "";
    /** @type {any} */ this.note = nothing;
    /** @type {string | (() => string)} */ this.caption = "";
    this.command = "";
    /** @type {import("weft/saving.js").Legend | null} */ this.legend = null;
    /** @type {(() => (string | number)[][]) | null} */ this.csv = null;
    this.said = "";
  }

  render() {
    const item = (name, act) =>
      html`<button type="button" @click=${() => { this.#close(); return act(); }}>${name}</button>`;
    return html`<div class="figure-head">
      <h2>${this.label}</h2><span class="soft">${this.note}</span>
      <details class="menu unsaved" @keydown=${(event) => event.key === "Escape" && this.#close()}
        @focusout=${(event) => event.relatedTarget
          && !this.querySelector("details")?.contains(/** @type {Node} */ (event.relatedTarget)) && this.#close()}>
        <summary aria-label="Save or copy this figure" title="Save or copy this figure">⋯</summary>
        <div>
          ${item("Save SVG", () => this.save("svg"))}${item("Save PNG", () => this.save("png"))}
          ${this.csv ? item("Save CSV", () => this.save("csv")) : nothing}
          ${navigator.clipboard ? item("Copy link", () => this.#copy(location.href, history.state
            ? "The link, without the text, which is too long for it," : "The link")) : nothing}
          ${navigator.clipboard && this.command ? item("Copy command", () => this.#copy(this.command, "The command"))
            : nothing}
          ${this.requestFullscreen ? item("Full screen", () => this.requestFullscreen()) : nothing}
        </div>
      </details>
      <span class="said" role="status">${this.said}</span>
    </div>`;
  }

  #close() {
    /** @type {HTMLDetailsElement} */ (this.querySelector("details")).open = false;
  }

  /** The title with the letter of its pane, as the style sheet has it. */
  get title() {
    const { content } = getComputedStyle(/** @type {HTMLElement} */ (this.querySelector("h2")), "::before");
    return `${content.startsWith('"') ? content.slice(1, -1) : ""}${this.label}`;
  }

  /** The drawing as SVG. Elements that have it are drawn for a figure first. */
  get drawing() {
    const head = /** @type {HTMLElement} */ (this.querySelector(".figure-head"));
    const place = /** @type {HTMLElement} */ (head.nextElementSibling);
    const own = /** @type {any[]} */ ([place, ...place.querySelectorAll("*")]).filter((one) => "saving" in one);
    const draw = (saving) => own.forEach((one) => { one.saving = saving; one.performUpdate(); });
    draw(true);
    try {
      return toSVG(place, [this.title, typeof this.caption === "string" ? this.caption : this.caption()], this.legend);
    } finally {
      draw(false);
    }
  }

  /** @param {"svg" | "png" | "csv"} kind */
  async save(kind) {
    const name = `${this.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "")
      || "figure"}.${kind}`;
    if (kind === "csv") download(name, toCSV(this.csv?.() ?? []), "text/csv");
    else if (kind === "svg") download(name, this.drawing, "image/svg+xml");
    else download(name, await toPNG(this.drawing), "image/png");
    this.#say(`Saved as ${name}.`);
  }

  async #copy(text, what) {
    await navigator.clipboard.writeText(text);
    this.#say(`${what} is copied.`);
  }

  #say(what) {
    this.said = what;
    setTimeout(() => { this.said = ""; }, 2500);
  }
}

define("w-figure", Figure);
