// @ts-check
// A view of the page: one that asks the service, and says in words what is wrong.

import { View as Drawn } from "weft/view.js";
import { html, nothing } from "weft/element.js";
import { post } from "./api.js";

export { Element, classMap, define, html, keyed, live, nothing, ref, repeat, styleMap, svg } from "weft/element.js";

/** @typedef {import("weft/store.js").Store} Store */
/** @typedef {"a" | "b"} Pane */
/** @typedef {any} Model what /api/model says */

/**
 * Whether the model reads one sentence and writes another; else it goes on with a text, which is read as a whole.
 * @param {Model} model
 */
export const hasPairs = (model) => model.traces.includes("pairs");

/**
 * en → English, en_US → American English; anything that is not a language tag, such as l1, is kept.
 * @param {string} tag
 */
export function languageName(tag) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language", fallback: "code" }).of(tag.replaceAll("_", "-")) ?? tag;
  } catch {
    return tag;
  }
}

/**
 * The text of a pane: of a translator the chosen sentence of it, its number, and how many there are.
 * @param {Store} store @param {Pane} pane @param {Model} model
 * @returns {Promise<{text: string, number: number, of: number}>}
 */
export async function looked(store, pane, model) {
  const { text, sentence } = store.of(pane);
  if (!hasPairs(model)) return { text, number: 1, of: 1 };
  const cut = text.trim() ? await post("api/sentences", { text }, { base: model.base }) : [];
  const all = cut.map((one) => one.text).filter((one) => one.trim());
  const number = Math.max(1, Math.min(sentence, all.length));
  return { text: all[number - 1] ?? "", number, of: all.length };
}

/**
 * A question to the service, asked again whenever the answer might be another. While the next answer is not there, the
 * last one stays.
 */
export class Question {
  /**
   * @param {any} host
   * @param {() => [string, object] | null} make path and body, without text and what-ifs; null: nothing to ask
   * @param {{binary?: boolean, pane?: Pane, whole?: boolean, quiet?: boolean}} options
   *   whole: all the text, not one sentence of it; quiet: the line of input does not show what it says
   */
  constructor(host, make, { binary = false, pane, whole = false, quiet = false } = {}) {
    this.host = host;
    this.make = make;
    this.own = pane;
    this.binary = binary;
    this.whole = whole;
    this.quiet = quiet;
    /** @type {any} */ this.data = null;
    /** @type {any} */ this.body = null; // what was asked for it
    /** @type {Error | null} */ this.error = null;
    this.isEmpty = false;
    this.busy = false;
    this.asked = "";
    this.text = ""; // that was read: one sentence, or all
    this.stop = new AbortController();
    host.questions.push(this);
    host.addController(this);
  }

  get pane() {
    return this.own ?? (this.host.pane === "b" ? "b" : "a");
  }

  get model() {
    return this.own === "b" ? this.host.modelB : this.host.model;
  }

  hostUpdate() {
    const { host: { store }, model } = this;
    const made = model && this.make();
    const { text, sentence } = store.of(this.pane);
    const asked = made ? JSON.stringify([made, text, sentence, store.request(this.pane), model.base]) : "";
    if (asked === this.asked) return;
    this.asked = asked;
    this.stop.abort();
    if (made) this.#ask(made);
    else Object.assign(this, { data: null, error: null, busy: false });
  }

  hostDisconnected() {
    this.stop.abort();
    this.asked = "";
  }

  async #ask([path, body]) {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const { host: { store }, model } = this;
    const fields = store.request(this.pane);
    this.busy = true;
    try {
      const { text } = this.whole ? store.of(this.pane) : await looked(store, this.pane, model);
      signal.throwIfAborted();
      this.isEmpty = !text.trim();
      this.text = text;
      const asking = { signal, base: model.base, binary: this.binary };
      const data = this.isEmpty ? null : await post(path, { text, ...fields, ...body }, asking);
      signal.throwIfAborted();
      Object.assign(this, { data, body, error: null, busy: false });
      if (!this.quiet) store.know(this.pane, data ?? { translation: "" });
    } catch (error) {
      if (signal.aborted) return;
      Object.assign(this, { data: null, error, busy: false });
      store.know(this.pane, { translation: "" });
    }
    this.host.requestUpdate();
  }
}

/** A view that asks: what is wrong with an answer stands in the place of the drawing. @param {any} Base */
export const asking = (Base) => class extends Base {
  constructor() {
    super();
    /** @type {Question[]} */ this.questions = [];
  }

  /**
   * Ask the service, now and whenever the answer might be another.
   * @param {() => [string, object] | null} make
   * @param {object} [options]
   */
  ask(make, options) {
    return new Question(/** @type {any} */ (this), make, options);
  }

  /** What an answer was about: one sentence, or all the text. */
  get read() {
    return this.questions.find(({ text }) => text)?.text ?? this.state.text;
  }

  /** The line of input has asked for them. @param {Pane} pane */
  stood(pane) {
    return /** @type {any} */ (document.querySelector(`w-input[pane=${pane === "b" ? "b" : "a"}]`))?.stood;
  }

  problem() {
    const wrong = this.questions.find(({ error }) => error);
    if (wrong) return html`<p class="trouble" role="alert">${/** @type {Error} */ (wrong.error).message}</p>`;
    if (!this.questions.some(({ isEmpty }) => isEmpty)) return nothing;
    return html`<p class="empty">Type a ${hasPairs(this.model) ? "sentence" : "text"} above, or choose an example.</p>`;
  }

  busy() {
    return this.questions.some(({ busy }) => busy);
  }
};

/** @type {any} */
export const View = asking(Drawn);
