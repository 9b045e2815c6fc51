// The sentence and its translation, the model's own or a given one, with examples to click.

import { h, menu, redrawn } from "weft/dom.js";

const EXAMPLES = [
  ["… too tired", "The animal didn't cross the street because it was too tired."],
  ["… too wide", "The animal didn't cross the street because it was too wide."],
  ["The Law", "The Law will never be perfect, but its application should be just - this is what we are missing, in my opinion."],
  ["Registration", "It is in this spirit that a majority of American governments have passed new laws since 2009 making the registration or voting process more difficult."],
  ["Bread", "We are eating bread."],
  ["Dinosaur", "Man eats small dinosaur."],
];
const PAUSE = 350; // milliseconds after the last key before a request

/** Whether the model reads one sentence and writes another; else it goes on with a text, which is looked at as a whole. */
export function hasPairs({ diagram: { sides } }) {
  return Object.keys(sides).length > 1;
}

/** The chosen sentence of the text, its number, and how many there are. */
export async function lookedAt({ post, model, state: { text, sentence } }) {
  if (!hasPairs(model)) return { text, number: 1, of: 1 };
  const cut = text.trim() ? await post("api/sentences", { text }) : [];
  const all = cut.map((one) => one.text).filter((one) => one.trim());
  if (!all.length) throw new Error("The sentence is empty.");
  const number = Math.min(sentence, all.length);
  return { text: all[number - 1], number, of: all.length };
}

/**
 * `changed` is called when the sentence changes. `asked` returns the fields of a request, `own` shows the model's
 * translation where none is given, and `fail` shows an error: the view then clears its drawing.
 */
export function sentenceBar(app, changed, { target = hasPairs(app.model) } = {}) {
  const { state } = app;
  const isPair = hasPairs(app.model);
  const trouble = h("p", { class: "trouble", role: "alert" });
  const text = field(isPair ? "Sentence" : "Text", "text", app.languages[0] ?? "Text");
  const given = field("Translation", "target", app.languages[1]);
  const origin = h("div", { class: "origin control" });
  text.input.placeholder = "Type or paste a text";
  let timer;

  function field(name, key, language) {
    const input = h("textarea", {
      rows: 1, dir: "auto", "aria-label": name, spellcheck: "false", autocomplete: "off",
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
    if ("target" in change) given.input.value = state.target;
    changed();
  }

  /** A menu of the sentences of the text, where there are several. */
  function place({ text: sentence, number, of }) {
    if (number !== state.sentence) app.save({ sentence: number });
    const focused = origin.contains(document.activeElement);
    const numbers = Array.from({ length: of }, (_, i) => [i + 1, i + 1]);
    origin.replaceChildren(...(of === 1 ? [] : [h("span", {}, "Sentence"),
      menu("number of the sentence", numbers, number, (next) => set({ sentence: Number(next), target: "" })),
      h("span", {}, `of ${of}`), h("q", { dir: "auto" }, sentence)]));
    if (focused) origin.querySelector("select")?.focus();
  }

  /** Show the model's own translation as a placeholder, or what is wrong with the sentence. */
  function tell(translation, wrong) {
    if (!isPair) origin.replaceChildren(...(translation ? [h("span", {}, "Its likeliest continuation"), h("q", { dir: "auto" }, translation)] : []));
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
        text.grow();
        set({ text: sentence, sentence: 1, target: "" });
      },
    }, name)));

  return {
    element: h("div", { class: "bar" }, text.row, origin, target ? given.row : null, isPair ? examples : null, trouble),
    own: (translation) => tell(translation, ""),
    fail: (error) => tell("", error.message),
    async asked() {
      const { text: whole } = state;
      const seen = await lookedAt(app).catch((error) => {
        origin.replaceChildren();
        throw error;
      });
      if (isPair && whole === state.text) place(seen);
      return { text: seen.text, target: target && state.target.trim() ? state.target : null };
    },
    close() {
      clearTimeout(timer);
      text.end();
      given.end();
    },
  };
}

/** Make a field as high as its text or placeholder. */
function grown(input) {
  const { value } = input;
  if (!value) input.value = input.placeholder;
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + input.offsetHeight - input.clientHeight}px`; // and its border
  if (!value) input.value = "";
}
