// @ts-check
// What every drawing is made of: an element that is drawn again when its properties, its size or the theme change.

import { LitElement } from "weft/vendor/lit.js";

export { classMap, html, keyed, live, nothing, ref, repeat, styleMap, svg } from "weft/vendor/lit.js";

/**
 * Drawn into the document itself, not into a shadow root: one style sheet holds, and a figure saves what is seen.
 * Properties are declared in `static properties` and given their first values in the constructor.
 */
export class Element extends LitElement {
  /** @type {Record<string, any>} */
  static properties = {
    about: { attribute: false }, // what is drawn: {site, unit}; goes into every event
    room: { state: true }, // {width, height} of the element, in pixels, where `static measured` is true
  };

  static measured = false;

  #themed = () => this.requestUpdate(); // with a name, lit draws only if that property changed
  #resized = new ResizeObserver(() => this.#measure());

  constructor() {
    super();
    this.about = {};
    this.room = { width: 0, height: 0 };
  }

  createRenderRoot() {
    if (this.firstChild) { // what is written between its tags stays, after what it draws
      const end = document.createComment("");
      this.prepend(end);
      this.renderOptions.renderBefore = end;
    }
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener("theme", this.#themed);
    if (/** @type {typeof Element} */ (this.constructor).measured) this.#resized.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("theme", this.#themed);
    this.#resized.disconnect();
  }

  #measure() {
    const { clientWidth: width, clientHeight: height } = this;
    if (width !== this.room.width || height !== this.room.height) this.room = { width, height };
  }

  /** The size of one unit of the page in pixels; the rows, strokes and type of drawings are multiples of it. */
  get em() {
    return parseFloat(getComputedStyle(this).fontSize) || 15;
  }

  /**
   * Tell what is pointed at ("hover"), chosen ("pick") or changed: an event `w-…` that goes up, with what is drawn.
   * @param {string} name
   * @param {object | null} detail
   */
  tell(name, detail) {
    const all = detail && { ...this.about, ...detail };
    this.dispatchEvent(new CustomEvent(`w-${name}`, { detail: all, bubbles: true, composed: true }));
  }
}

/** @type {{screenX: number, screenY: number} | null} */
let pointer = null;
addEventListener("pointermove", (event) => { pointer = event; }, { capture: true, passive: true });

/**
 * Whether the pointer came here itself: when a drawing moves below it, nothing is pointed at.
 * @param {MouseEvent} event that tells of entering
 */
export function hasCome({ screenX, screenY }) {
  return pointer === null || Math.abs(pointer.screenX - screenX) >= 1 || Math.abs(pointer.screenY - screenY) >= 1;
}

/**
 * A custom element, once: the page and a saved file may both load it.
 * @param {string} name
 * @param {any} of a class
 */
export function define(name, of) {
  if (!customElements.get(name)) customElements.define(name, of);
}

/**
 * Where an arrow key, Home or End goes in a row of `count`, or null for another key.
 * @param {KeyboardEvent} event
 * @param {number} at
 * @param {number} count
 */
export function moved({ key }, at, count, back = ["ArrowLeft", "ArrowUp"], on = ["ArrowRight", "ArrowDown"]) {
  const to = back.includes(key) ? at - 1 : on.includes(key) ? at + 1 : key === "Home" ? 0 : key === "End" ? count - 1
    : null;
  return to === null ? null : Math.max(0, Math.min(to, count - 1));
}
