// The sentence that is looked at, and the translation: the model's own, or a given one. Examples are one click away.

import { h, redrawn } from "weft/dom.js";

const EXAMPLES = [
  ["… too tired", "The animal didn't cross the street because it was too tired."],
  ["… too wide", "The animal didn't cross the street because it was too wide."],
  ["The Law", "The Law will never be perfect, but its application should be just - this is what we are missing, in my opinion."],
  ["Registration", "It is in this spirit that a majority of American governments have passed new laws since 2009 making the registration or voting process more difficult."],
  ["Bread", "We are eating bread."],
  ["Dinosaur", "Man eats small dinosaur."],
];
const PAUSE = 350; // milliseconds without a key before the service is asked

/**
 * `changed` is called when there is a new sentence. `asked` is what the service is asked for, `own` shows the model's
 * translation where none is given, and `fail` says why there is none: the view then clears what it shows.
 */
export function sentenceBar(app, changed, { target = true } = {}) {
  const { state } = app;
  const trouble = h("p", { class: "trouble", role: "alert" });
  const text = field("Sentence", "text", app.languages[0]);
  const given = field("Translation", "target", app.languages[1]);
  const origin = h("p", { class: "origin" });
  let timer;
  placed();

  function field(name, key, language) {
    const input = h("textarea", {
      rows: 1, "aria-label": name, spellcheck: "false", autocomplete: "off",
      oninput: () => { grow(); clearTimeout(timer); timer = setTimeout(() => set({ [key]: input.value }), PAUSE); },
      onkeydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        clearTimeout(timer);
        set({ [key]: input.value });
      },
    });
    input.value = state[key];
    const grow = () => grown(input);
    return { input, grow, end: redrawn(input, grow), row: h("label", { class: "sentence" }, h("span", {}, language), input) };
  }

  function set(change) {
    app.save({ ...change, token: 0 });
    placed();
    changed();
  }

  /** Which sentence of a longer text it is. */
  function placed() {
    const all = state.passage?.sentences ?? [];
    const at = all.indexOf(state.text);
    origin.textContent = at < 0 ? "" : `Sentence ${at + 1} of the ${all.length} in Translate`;
  }

  /** The translation that stands where none is given, or what is wrong with the sentence. */
  function tell(translation, wrong) {
    given.input.placeholder = translation;
    given.grow();
    trouble.textContent = wrong;
  }

  const examples = h("div", { class: "examples", role: "group", "aria-label": "Examples" },
    h("span", {}, "Examples"),
    ...EXAMPLES.map(([name, sentence]) => h("button", {
      type: "button", title: sentence,
      onclick: () => {
        text.input.value = sentence;
        given.input.value = "";
        text.grow();
        given.grow();
        set({ text: sentence, target: "" });
      },
    }, name)));

  return {
    element: h("div", { class: "bar" }, text.row, target ? given.row : null, origin, examples, trouble),
    own: (translation) => tell(translation, ""),
    fail: (error) => tell("", error.message),
    asked() {
      if (!state.text.trim()) throw new Error("The sentence is empty: there is nothing to look at.");
      return { text: state.text, target: target && state.target.trim() ? state.target : null };
    },
    close() {
      clearTimeout(timer);
      text.end();
      given.end();
    },
  };
}

/** As high as its text, or the text that stands there for want of one. */
function grown(input) {
  const { value } = input;
  if (!value) input.value = input.placeholder;
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
  if (!value) input.value = "";
}
