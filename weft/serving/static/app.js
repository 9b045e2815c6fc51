// @ts-check
// The page: its frame, its navigation, its keys. The state is in the store and in the address.

import { Element, define, html, nothing } from "weft/element.js";
import { Store, WHAT_IF, Watching } from "weft/store.js";
import { inner } from "weft/words.js";
import * as address from "./address.js";
import { get, useKey } from "./api.js";
import { tempered } from "./views/sampling.js";
import { keep, kept } from "./kept.js";
import { help } from "./help.js";
import { VIEWS } from "./views/index.js";
import { hasPairs, languageName } from "./view.js";
import "./line.js";

const FINISHED = 3000; // milliseconds after the last letter: what is typed next is another text

for (const { keys } of VIEWS) Object.assign(address.KEYS, keys);

/** @typedef {import("./views/index.js").Described} Described */

class Page extends Element {
  static properties = {
    model: { state: true },
    others: { state: true }, // models that panes show instead, by name
    notes: { state: true }, // what an address names that is not here, in sentences
    trouble: { state: true },
    view: { state: true },
    isPresenting: { state: true },
    scene: { state: true },
    isAside: { state: true },
    hasKeys: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */ this.model = null;
    /** @type {Record<string, any>} */ this.others = {};
    /** @type {Map<string, Promise<void>>} */ this.coming = new Map(); // of `others`
    /** @type {string[]} */ this.notes = [];
    /** @type {any} */ this.trouble = null;
    /** @type {Described} */ this.view = VIEWS[0];
    this.isPresenting = false;
    this.scene = -1; // the last one that was shown
    this.isAside = true; // whether something else is presented
    this.hasKeys = kept("keys") !== "off";
    this.shown = "";
    this.texts = ""; // of the panes
    this.typed = -Infinity; // when they were typed last
    this.elements = { view: this.view, by: new Map() };
    this.bar = document.createElement("w-controls");
    this.watching = new Watching(this, () => this.store);
    this.store = new Store({});
  }

  connectedCallback() {
    super.connectedCallback();
    this.#begin();
  }

  async #begin() {
    try {
      const first = { ...await get("api/model"), base: "" };
      await this.#load(this.#named(first), first);
      this.model = first;
    } catch (error) {
      this.trouble = error;
      return;
    }
    this.trouble = null;
    this.#start();
  }

  #start() {
    const { model } = this;
    const defaults = Object.fromEntries(Object.entries(address.KEYS).map(([key, { first }]) => [key, first]));
    const beam = model.search ? { beam: model.search.width, alpha: model.search.length_penalty } : {};
    this.store = new Store({ ...defaults, ...beam, text: model.examples[0].text });
    this.watching.hostDisconnected();
    this.watching.hostConnected();
    this.languages = model.languages.map(languageName);
    this.store.listen((event) => this.#save(/** @type {CustomEvent} */ (event).detail));
    addEventListener("hashchange", () => this.#read());
    addEventListener("popstate", () => this.#read());
    addEventListener("resize", () => this.requestUpdate());
    addEventListener("focusout", () => { this.typed = -Infinity; });
    addEventListener("keydown", (event) => this.#key(event));
    for (const kind of ["pointermove", "pointerdown"]) addEventListener(kind, (event) => this.#pointed(event));
    this.#read();
  }

  willUpdate() {
    const model = this.model && this.modelOf("a");
    if (!model) return;
    inner.mark = (model.plan.codec.name ?? model.plan.codec) === "subwords" ? "-" : "";
    const { views } = this;
    if (!views.includes(this.view)) this.view = views.find(({ name }) => name === this.view.name) ?? views[0];
  }

  /** Show another model, with a text that it can read. @param {string} name */
  async #switch(name) {
    try {
      await this.#load([name]);
    } catch (error) {
      this.trouble = error;
      return;
    }
    const { examples: [{ text }] } = this.#served(name);
    const views = viewsOf(this.#served(name));
    this.store.hover(null);
    this.view = views.find((one) => one.name === this.view.name) ?? views[0];
    this.store.set({ ...WHAT_IF, model: name, text, sentence: 1, target: "", pin: this.store.first.pin, b: null });
  }

  /** The views that the model can fill. */
  get views() {
    return viewsOf(this.modelOf("a") ?? this.model);
  }

  /** The models that the address names and that are not here yet. */
  #named(first = this.model) {
    const { a, b } = address.models(location.hash);
    return [...new Set([a, b])].filter((name) => name !== first.name && !this.others[name]
      && first.models?.some((one) => one.name === name));
  }

  /** Ask for models beside the first one. @param {string[]} names */
  async #load(names, first = this.model) {
    await Promise.all(names.filter((name) => name !== first.name && !this.others[name]).map((name) => {
      const { base } = first.models.find((one) => one.name === name);
      const coming = this.coming.get(name) ?? get("api/model", { base }).then((answer) => {
        this.others = { ...this.others, [name]: { ...answer, base } };
      }).finally(() => this.coming.delete(name));
      this.coming.set(name, coming);
      return coming;
    }));
  }

  /** A model that is here, by its name. @param {string} name */
  #served(name) {
    return name === this.model.name ? this.model : this.others[name];
  }

  /** Take the state from the address: the models first, since they say what the rest can mean. */
  #read() {
    if (this.shown && here() === this.shown) return;
    const missing = this.#named();
    if (missing.length) {
      this.#load(missing).then(() => this.#read(), (error) => { this.trouble = error; });
      return;
    }
    const named = address.models(location.hash);
    const a = this.#served(named.a) ?? this.model;
    const b = this.#served(named.b) ?? a;
    const { view, state } = this.#meant(location.hash, a, b, history.state);
    const unknown = [...new Set([named.a, named.b])].filter((name) => name && !this.#served(name));
    const shown = state ? a : this.modelOf("a") ?? a;
    const views = viewsOf(shown);
    this.view = views.find(({ name }) => name === view)
      ?? views.find(({ name }) => this.shown && name === this.view.name) ?? views[0];
    if (state) {
      if (unknown.includes(state.model)) delete state.model;
      if (state.b && unknown.includes(state.b.model)) delete state.b.model;
      if (a !== this.model) state.text ??= a.examples[0].text;
      this.store.read(state);
    }
    const isKnown = VIEWS.find(({ name }) => name === view);
    this.notes = unknown.map((name) => `No model “${name}” is served here.`);
    if (view && view !== this.view.name) this.notes.push(isKnown ? `${shown.name} has no view ${isKnown.label}.`
      : `There is no view “${view}”.`);
    if (this.notes.length) this.notes.push(`This is ${this.view.label} of ${shown.name}.`);
    this.#save("read");
  }

  /** What an address says to these models. @returns {{view: string, state: any}} */
  #meant(hash, a, b, beside = null) {
    const kinds = (model) => model.kinds.map((/** @type {any} */ { name }) => name);
    const { view, state } = address.read(hash, { a: kinds(a), b: kinds(b) }, beside);
    if (state?.b && !hasPairs(b)) delete state.b.temperature; // one slider is for both
    return { view, state: state && !hasPairs(a) ? tempered(state, this.store.first) : state };
  }

  /** Whether what is typed begins another text, which gets an entry of its own in the history. @param {string} how */
  #begins(how) {
    const { store, texts, typed } = this;
    this.texts = JSON.stringify(store.panes.map((pane) => [store.of(pane).text, store.of(pane).target]));
    const isOther = texts !== this.texts;
    if (how !== "typed") this.typed = -Infinity;
    else if (isOther) this.typed = performance.now();
    return how === "typed" && isOther && this.typed - typed > FINISHED;
  }

  /** Write the state into the address. @param {string} how it changed */
  #save(how) {
    if (how === "hovered" || how === "known") return;
    if (how !== "read") this.notes = [];
    const { store } = this;
    const now = address.written(this.view.name, store.state, store.first);
    const beside = address.tooLong(store.state);
    this.shown = now + JSON.stringify(beside);
    const isStep = (this.#begins(how) || how === "chosen") && location.hash.includes("?");
    document.title = `${this.view.label} · ${store.state.model || this.model.name} · weft`;
    if (this.shown !== here()) history[isStep ? "pushState" : "replaceState"](beside, "", now);
  }

  #open(view) {
    if (view === this.view) return;
    this.store.hover(null);
    this.view = view;
    this.#save("chosen");
    this.updateComplete.then(() => /** @type {HTMLElement | null} */ (this.querySelector("main"))?.focus({
      preventScroll: true }));
  }

  /** The model of a pane: another one may be served, too. @param {"a" | "b"} pane */
  modelOf(pane) {
    const { model: name } = this.store.of(pane);
    if (!name || name === this.model.name) return this.model;
    if (!this.model.models?.some((one) => one.name === name)) return this.model;
    if (!this.others[name] && !this.coming.has(name)) this.#load([name]).catch((error) => { this.trouble = error; });
    return this.others[name] ?? null;
  }

  #second() {
    this.store.set({ b: this.store.state.b ? null : {} });
    if (this.store.state.b) this.updateComplete.then(() =>
      /** @type {HTMLElement | null} */ (this.querySelector("w-input[pane=b] textarea"))?.focus());
  }

  // Keys.

  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("textarea, select, input:not([type=range]):not([type=radio]), [contenteditable], dialog")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const act = this.hasKeys || event.key === "Escape" ? this.#act(event.key, target) : null;
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** What a key does here, or null. @returns {(() => any) | null} */
  #act(key, target) {
    const { store, views } = this;
    const { pin } = store.state;
    const shown = /** @type {any} */ (this.querySelector("main > [pane=a]"));
    const scenes = this.model.scenes ?? [];
    const isOwn = target.closest("button, a, input, summary, [role=listbox], [role=application], [role=grid]");
    if (this.isPresenting && scenes.length && !isOwn) {
      const step = { ArrowDown: 1, ArrowRight: 1, PageDown: 1, ArrowUp: -1, ArrowLeft: -1, PageUp: -1 }[key];
      if (step) return () => this.#toScene(this.scene + step);
    }
    if (/^[1-9]$/.test(key)) return views[Number(key) - 1] ? () => this.#open(views[Number(key) - 1]) : null;
    const along = (which, step) => () =>
      store.pin({ [which]: Math.max(0, (store.selection[which] ?? (step > 0 ? -1 : 1)) + step) });
    const next = (step) => shown?.layers ? () => {
      const to = shown.layers[shown.layers.indexOf(shown.site) + step];
      if (to) shown.go(to, shown.unit);
    } : null;
    const head = (step) => shown?.site ? () => {
      const unit = (shown.unit ?? (step > 0 ? 0 : shown.site.units + 1)) + step;
      shown.go(shown.site, unit >= 1 && unit <= shown.site.units ? unit : null, { heads: null });
    } : null;
    switch (key) {
      case "/": return () => /** @type {HTMLElement | null} */ (this.querySelector("textarea"))?.focus();
      case "[": return next(-1);
      case "]": return next(1);
      case ",": return head(-1);
      case ".": return head(1);
      case "p": return () => store.pin(store.hovered ?? { query: null, key: null, step: null });
      case "b": return () => this.#second();
      case "f": return () => this.#present();
      case "s": return () => /** @type {any} */ (this.querySelector("w-figure"))?.save("svg");
      case "?": return () => /** @type {HTMLDialogElement} */ (this.querySelector("dialog")).showModal();
      case "Escape": return () => (this.isPresenting && pin.query === null && pin.key === null && pin.step === null
        ? this.#present() : store.unpin());
      default:
    }
    if (isOwn) return null;
    switch (key) {
      case "ArrowRight": return along("query", 1);
      case "ArrowLeft": return along("query", -1);
      case "ArrowDown": return along("key", 1);
      case "ArrowUp": return along("key", -1);
      case " ": return () => (shown?.step ? this.querySelectorAll("main > *").forEach((/** @type {any} */ view) =>
        view.step?.()) : /** @type {any} */ (this.querySelector("w-time"))?.toggle());
      default: return null;
    }
  }

  #present() {
    this.isPresenting = !this.isPresenting;
    document.documentElement.toggleAttribute("data-present", this.isPresenting);
    const scenes = this.model.scenes ?? [];
    const now = address.written(this.view.name, this.store.state, this.store.first);
    const at = scenes.findIndex((scene) => this.#normal(scene.address) === now);
    this.isAside = at < 0;
    if (at >= 0) this.scene = at;
  }

  /** An address as this page would write it. @param {string} hash */
  #normal(hash) {
    const named = address.models(hash);
    const a = this.#served(named.a) ?? this.model;
    const { view, state } = this.#meant(hash, a, this.#served(named.b) ?? a);
    const { first } = this.store;
    return state && address.written(view, { ...first, ...state }, first);
  }

  /** While presenting, the controls come when someone points at the top of the window. @param {any} event */
  #pointed({ clientY, target }) {
    const isNear = this.isPresenting && (clientY < innerHeight / 10
      || Boolean(/** @type {Element} */ (target).closest?.(".scene, .lines-of-input, w-controls")));
    document.documentElement.toggleAttribute("data-near", isNear);
  }

  #toScene(to) {
    const scenes = this.model.scenes;
    this.scene = Math.max(0, Math.min(to, scenes.length - 1));
    this.isAside = false;
    location.hash = scenes[this.scene].address;
  }

  #theme() {
    const root = document.documentElement;
    const dark = getComputedStyle(root).colorScheme === "dark" || (!root.dataset.theme
      && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = dark ? "light" : "dark";
    keep("theme", root.dataset.theme);
    dispatchEvent(new Event("theme"));
  }

  render() {
    if (this.trouble && !this.model) return html`<main class="alone"><p class="trouble"
      role="alert">${this.trouble.message}</p>${this.trouble.status === 403 ? this.#keyForm() : nothing}</main>`;
    if (!this.model) return nothing;
    const { store, view, model, views } = this;
    const models = model.models ?? [];
    const shown = this.modelOf("a");
    this.bar.toggleAttribute("data-always", view.name === "decide" && Boolean(shown) && !hasPairs(shown));
    const link = (one) => html`<a href="#/${one.name}" aria-current=${one === view ? "page" : nothing}
      @click=${(event) => { event.preventDefault(); this.#open(one); }}>${one.label}</a>`;
    return html`
      <a class="skip" href="#view"
        @click=${(event) => {
          event.preventDefault(); /** @type {any} */ (this.querySelector("main")).focus(); }}>To the view</a>
      <header class="top">
        <h1>weft</h1>
        ${models.length > 1 ? html`<select aria-label="model"
          @change=${(event) => this.#switch(event.target.value)}>${models.map((one) =>
          html`<option .selected=${one.name === (store.state.model || model.name)}>${one.name}</option>`)}</select>`
            : html`<span class="model" title="The model that is served">${model.name}</span>`}
        <nav aria-label="Views">${views.map(link)}</nav>
        <span class="tools">
          <button type="button" class="tool" aria-pressed=${Boolean(store.state.b)} title="A second one beside it (b)"
            @click=${() => this.#second()}>⊕<span class="hidden-text">second pane</span></button>
          <button type="button" class="tool" aria-pressed=${this.isPresenting} title="Present (f)"
            @click=${() => this.#present()}>⤢<span class="hidden-text">present</span></button>
          <button type="button" class="tool" title="Dark or light" @click=${() => this.#theme()}>◐<span
            class="hidden-text">dark or light</span></button>
          <button type="button" class="tool" title="Keys (?)"
            @click=${() => /** @type {any} */ (this.querySelector("dialog")).showModal()}>?<span
              class="hidden-text">keys</span></button>
        </span>
      </header>
      <div class="lines-of-input" data-panes=${store.panes.length}>${store.panes.map((pane) => {
        const own = this.modelOf(pane);
        return own ? html`<w-input .store=${store} .model=${own} .models=${models}
          .languages=${own.languages.map(languageName)} pane=${pane}
          ?data-bare=${Boolean(view.hasOwnInput) && pane === "a" && !store.state.b} .hasTarget=${view.hasTarget
            ?? true}></w-input>` : nothing;
      })}${history.state ? html`<p class="guessing too-long" role="note">A link of this page is without its text, which
        is longer than ${address.LONGEST.toLocaleString("en")} characters.</p>` : nothing}${this.notes.length
          ? html`<p class="guessing" role="alert">${this.notes.join(" ")}</p>` : nothing}</div>
      ${this.isPresenting ? this.#title() : nothing}${this.bar}
      <main id="view" tabindex="-1" aria-label=${view.label} data-panes=${store.panes.length} data-view=${view.name}>
        ${this.trouble ? html`<p class="trouble" role="alert">${this.trouble.message}</p>` : nothing}
        ${this.#shown()}
      </main>
      ${help(this.views.length, this.hasKeys, (works) => {
        this.hasKeys = works;
        keep("keys", works ? "on" : "off");
      })}`;
  }

  /** The view, once for each pane; between them the difference, where the view has one. */
  #shown() {
    const { store, view } = this;
    const tags = store.panes.flatMap((pane) => (pane === "b" && view.difference ? [["difference", view.difference],
      ["b", view.tag]] : [[pane, view.tag]]));
    return tags.map(([pane, tag]) => {
      const model = this.modelOf(pane === "b" ? "b" : "a");
      if (!model) return nothing;
      if (!view.needs.every((trace) => model.traces.includes(trace))) return html`<p
        class="empty">${model.name} has nothing to show here.</p>`;
      return this.#element(tag, pane, { store, model, pane, bar: this.bar, modelB: pane === "difference"
        ? this.modelOf("b") : null });
    });
  }

  /** An element of the view, made once. */
  #element(tag, pane, properties) {
    if (this.elements.view !== this.view) this.elements = { view: this.view, by: new Map() };
    const { by } = this.elements;
    if (!by.has(pane)) by.set(pane, document.createElement(tag));
    const element = Object.assign(by.get(pane), properties);
    if (pane === "a") /** @type {any} */ (this.bar).of = element;
    return element;
  }

  #title() {
    const { store } = this;
    const scenes = this.model.scenes ?? [];
    const scene = this.isAside ? null : scenes[this.scene];
    const next = Math.min(this.scene + 2, scenes.length);
    return html`<div class="scene"><b>${scene?.title
      ?? `${this.view.label} · ${store.state.model || this.model.name}`}</b><span
      dir="auto">${scene ? raised(scene.caption) : store.panes.map((pane) => store.of(pane).text).join(" | ")}</span>
      ${scenes.length ? html`<span class="number">${scene ? this.scene + 1 : `→ ${next}`} / ${scenes.length}</span>`
        : nothing}
      <button type="button" class="tool" @click=${() => this.#present()} title="End (Esc)">×<span
        class="hidden-text">end the presentation</span></button></div>`;
  }

  #keyForm() {
    return html`<form class="controls"
      @submit=${(event) => { event.preventDefault(); useKey(event.target.elements.key.value); this.#begin(); }}>
      <label class="control"><span>API key</span><input name="key" type="password" autocomplete="off"></label><button
        class="button">Continue</button></form>`;
  }
}

/** The views that a model can fill. @param {any} model */
function viewsOf({ traces }) {
  const can = VIEWS.filter(({ needs }) => needs.every((trace) => traces.includes(trace)));
  return can.filter(({ name }, i) => can.findIndex((other) => other.name === name) === i);
}

/** The address, with what is kept beside it in the history: texts that are too long. */
const here = () => location.hash + JSON.stringify(history.state);

/** A text with x^y as it is written by hand. @param {string} text */
const raised = (text) => text.split(/\^(\w)/).map((part, i) => (i % 2 ? html`<sup>${part}</sup>` : part));

define("weft-page", Page);
