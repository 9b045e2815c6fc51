// @ts-check
// The one state of a page or a saved file: what is looked at, what is selected in it, what is changed, and a second
// pane. Whoever draws listens; nobody else keeps a state that another view needs.

/**
 * @typedef {{site: string | null, unit: number | null, query: number | null, key: number | null, step: number | null}}
 *   Selection unit counts from 1, query, key and step from 0
 * @typedef {{kind: string, layer: number, head: number}} Head
 * @typedef {Record<string, any>} State
 */

/** @type {Selection} */
export const NOTHING = { site: null, unit: null, query: null, key: null, step: null };

/** What a pane has for itself, and what an address therefore says with `b.` before it. */
export const OF_PANE = ["model", "text", "sentence", "target", "off", "replace", "force", "temperature", "futures",
  "future"];

/** What is changed in the model or its input; chips show it, and every request has it. */
export const WHAT_IF = { off: [], replace: {}, force: {}, temperature: 1 };

export class Store extends EventTarget {
  /** @param {State} first the defaults */
  constructor(first) {
    super();
    /** @type {State} */
    this.first = { ...WHAT_IF, text: "", sentence: 1, target: "", model: "", b: null, pin: NOTHING, ...first };
    /** @type {State} */
    this.state = { ...this.first };
    /** @type {Partial<Selection> | null} */
    this.hovered = null;
    /** @type {Record<string, any>} what the model itself wrote in each pane: {translation, log_probs, guessing} */
    this.known = {};
  }

  /**
   * Change the state. A choice becomes an entry of the browser's history, `typing` changes the entry there is.
   * @param {State} change
   */
  set(change, { typing = false } = {}) {
    Object.assign(this.state, change);
    this.#changed(typing ? "typed" : "chosen");
  }

  /** Change what belongs to a pane. @param {"a" | "b"} pane @param {State} change */
  change(pane, change, options = {}) {
    this.set(pane === "b" ? { b: { ...this.state.b, ...change } } : change, options);
  }

  /**
   * The state as a pane sees it: the second one has its own where it differs. What is changed at a place in the text
   * holds for that text, as that model reads it.
   * @param {"a" | "b"} pane
   * @returns {State}
   */
  of(pane) {
    const { state } = this;
    if (pane === "a") return state;
    const isOther = (/** @type {string} */ key) => (state.b?.[key] ?? state[key]) !== state[key];
    const places = ["text", "sentence", "model"].some(isOther) ? { replace: {}, force: {}, target: "" } : {};
    return { ...state, ...places, ...state.b };
  }

  /** @returns {("a" | "b")[]} */
  get panes() {
    return this.state.b ? ["a", "b"] : ["a"];
  }

  /** What is selected: what is pointed at; where nothing is, what is pinned. @returns {Selection} */
  get selection() {
    return { ...this.state.pin, ...this.hovered };
  }

  /** Whether a token, cell or step is selected, so that there is something to say about it. */
  get isSelected() {
    const { query, key, step } = this.selection;
    return query !== null || key !== null || step !== null;
  }

  /** Point at something, or at nothing (null). @param {Partial<Selection> | null} what */
  hover(what) {
    if (JSON.stringify(what) === JSON.stringify(this.hovered)) return;
    this.hovered = what;
    this.#changed("hovered");
  }

  /** Keep something selected; the same once more lets it go. @param {Partial<Selection>} what */
  pin(what, { toggle = false, typing = false } = {}) {
    const { pin } = this.state;
    const same = toggle && Object.entries(what).every(([name, value]) => pin[name] === value);
    this.hovered = null;
    this.set({ pin: { ...pin, ...what, ...(same ? { query: null, key: null, step: null } : {}) } }, { typing });
  }

  /** Let go of tokens and steps, not of the site. */
  unpin(options = {}) {
    this.pin({ query: null, key: null, step: null }, options);
  }

  /** The fields that every request has: those that are not as they are by default. @param {"a" | "b"} pane */
  request(pane) {
    const state = this.of(pane);
    const changed = Object.entries(WHAT_IF).filter(([name, first]) =>
      JSON.stringify(state[name]) !== JSON.stringify(first));
    const fields = Object.fromEntries(changed.map(([name]) => [name, state[name]]));
    return state.target.trim() ? { target: state.target, ...fields } : fields;
  }

  /** Remember what the model wrote, for whoever shows it. @param {"a" | "b"} pane @param {any} data */
  know(pane, data) {
    const said = { translation: data.translation, guessing: data.guessing ?? null };
    if (JSON.stringify(said) === JSON.stringify(this.known[pane])) return;
    this.known[pane] = said;
    this.#changed("known");
  }

  /** Call when anything changes. @param {(event: Event) => void} listener @returns {() => void} that stops it */
  listen(listener) {
    this.addEventListener("change", listener);
    return () => this.removeEventListener("change", listener);
  }

  #changed(how) {
    this.dispatchEvent(new CustomEvent("change", { detail: how }));
  }

  /** Take a whole state, as an address has it. @param {State} state */
  read(state) {
    this.state = { ...this.first, ...state };
    this.hovered = null;
    this.#changed("read");
  }
}

/** Draws its host again whenever the store changes. */
export class Watching {
  /** @param {any} host a lit element @param {() => Store} store */
  constructor(host, store) {
    this.host = host;
    this.store = store;
    this.stop = () => {};
    host.addController(this);
  }

  hostConnected() {
    this.stop = this.store().listen(() => this.host.requestUpdate());
  }

  hostDisconnected() {
    this.stop();
  }
}
