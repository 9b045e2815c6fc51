// A text and its continuation by the model, piece by piece as it is written. Pointing at a token shows what else the
// model might have written there.

import { counted, h, label, redrawn } from "weft/dom.js";
import { stream } from "./api.js";

export const uses = ["text", "temperature", "top_p", "tokens"];
const LIKELIEST = 5; // tokens that are shown instead of one

export function open(root, app) {
  const { state } = app;
  const input = h("textarea", {
    rows: 1, dir: "auto", spellcheck: "false", autocomplete: "off", "aria-label": "Text to continue",
    placeholder: "Type the beginning of a text",
    oninput: () => { grow(); app.save({ text: input.value, token: 0 }); },
    onkeydown: (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      run();
    },
  });
  const given = h("span", { class: "given" });
  const written = h("span", { class: "continued" });
  const output = h("div", { class: "output", "aria-live": "off" }, given, written);
  const button = h("button", { class: "button main", type: "button", onclick: () => (writing ? stop() : run()) }, "Continue");
  const keep = h("button", { class: "quiet", type: "button", hidden: true, onclick: kept }, "Use as text");
  const told = h("span", { class: "control", role: "status" });
  const trouble = h("p", { class: "trouble", role: "alert" });
  const others = h("aside", { class: "figure-aside" }, h("p", { class: "caption" }, ""), h("ul", { class: "shares" }));
  let writing = null; // the request under way

  root.append(
    h("section", { class: "pane alone" }, h("h2", {}, "Text"), h("div", { class: "written" }, input)),
    h("div", { class: "controls" }, button,
      number("Temperature", "temperature", { min: 0, max: 2, step: 0.1 }),
      number("Top-p", "top_p", { min: 0, max: 1, step: 0.05 }),
      number("Tokens", "tokens", { min: 1, max: 4096, step: 1 }),
      told),
    trouble,
    h("div", { class: "generated" },
      h("section", { class: "pane alone" }, h("h2", {}, "Continuation", keep), output), others));
  input.value = state.text;

  function number(name, key, { min, max, step }) {
    const field = h("input", {
      type: "number", min, max, step, value: state[key], inputmode: "decimal",
      onchange: () => {
        const value = Number(field.value);
        const fits = field.value !== "" && value >= min && value <= max && (step !== 1 || Number.isInteger(value));
        if (fits) app.save({ [key]: value });
        else field.value = state[key];
      },
    });
    return h("label", { class: "control" }, h("span", {}, name), field);
  }

  function grow() {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight}px`;
  }

  async function run() {
    writing = new AbortController();
    const { signal } = writing;
    const prompt = input.value;
    let count = 0;
    button.textContent = "Stop";
    keep.hidden = true;
    trouble.textContent = told.textContent = "";
    given.textContent = prompt;
    written.replaceChildren();
    tell(null);
    const asked = { prompt, max_tokens: state.tokens, temperature: state.temperature, top_p: state.top_p, logprobs: LIKELIEST };
    const start = performance.now();
    try {
      for await (const { choices: [choice] } of stream("v1/completions", asked, signal)) {
        if (!choice) continue;
        written.append(...pieces(choice));
        count += choice.logprobs.tokens.length;
        const seconds = (performance.now() - start) / 1000;
        told.textContent = `${counted(count, "token")}, ${(count / seconds).toFixed(0)} per second${choice.finish_reason === "stop" ? ", the end" : ""}`;
      }
    } catch (error) {
      if (!signal.aborted) trouble.textContent = error.message;
    }
    if (writing?.signal !== signal) return;
    writing = null;
    button.textContent = count ? "Again" : "Continue";
    keep.hidden = !count;
    const first = written.querySelector(".word");
    if (first) first.tabIndex = 0;
  }

  /** Each token of a piece with the text that it begins; one that is a part of a character stands before it. */
  function pieces({ text, logprobs: { tokens, token_logprobs: values, top_logprobs: tops, text_offset: offsets } }) {
    const characters = [...text]; // the service counts Unicode characters
    const from = offsets[0] ?? 0;
    return tokens.map((token, i) => {
      const own = characters.slice(offsets[i] - from, (offsets[i + 1] ?? Infinity) - from).join("");
      return h("span", {
        class: "word", tabindex: -1, onmouseenter: () => tell(token, values[i], tops[i]), onfocus: () => tell(token, values[i], tops[i]),
        onkeydown: move,
      }, own);
    });
  }

  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const words = [...written.children].filter((one) => one.textContent);
    words[Math.max(0, Math.min(words.indexOf(event.currentTarget) + step, words.length - 1))].focus();
  }

  /** What the model might have written instead of a token, by probability. */
  function tell(token, value, top) {
    const [caption, list] = others.children;
    if (token === null) {
      caption.textContent = "Point at a token of the continuation to see what else the model might have written.";
      list.replaceChildren();
      return;
    }
    const rows = Object.entries(top).sort((a, b) => b[1] - a[1]);
    caption.replaceChildren(h("b", {}, shown(token)), ` has probability ${chance(value)}`);
    list.replaceChildren(...rows.map(([other, one]) => h("li", { class: other === token ? "chosen" : "" },
      h("span", {}, shown(other)),
      h("i", {}, h("u", { style: `width: ${(100 * Math.exp(one)).toFixed(2)}%; background: var(--accent)` })),
      h("span", { class: "number" }, chance(one)))));
  }

  function stop() {
    writing.abort();
    told.textContent = "Stopped.";
    trouble.textContent = "";
  }

  function kept() {
    input.value = given.textContent + written.textContent;
    app.save({ text: input.value, token: 0 });
    grow();
    input.focus();
  }

  const end = redrawn(input, grow);
  tell(null);
  return () => { writing?.abort(); writing = null; end(); };
}

function chance(logProb) {
  return Math.exp(logProb).toFixed(4);
}

/** A token as the other views show it. */
function shown(token) {
  return label(token.replaceAll(" ", "·").replaceAll("\n", "↵")) || token;
}
