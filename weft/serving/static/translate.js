// Two panes that translate as you type. Pointing at a word of the translation highlights the words it came from.

import { fixed, h, redrawn } from "weft/dom.js";
import { differing } from "./differing.js";

export const uses = ["text"];
const PAUSE = 220; // milliseconds after the last key before a request

export function open(root, app) {
  const input = h("textarea", { dir: "auto", "aria-label": `Text in ${app.languages[0]}`, spellcheck: "false", placeholder: "Type or paste a text", rows: 3 });
  const mirror = h("div", { class: "mirror", dir: "auto", "aria-hidden": "true" });
  const output = h("div", { class: "output", dir: "auto", "aria-live": "polite", "aria-label": `Translation into ${app.languages[1]}` });
  const others = h("div", { class: "alternatives" });
  const trouble = h("p", { class: "trouble", role: "alert" });
  // Browsers allow no copying on a page served over plain HTTP from another machine.
  const copy = h("button", { class: "quiet", type: "button", hidden: !navigator.clipboard, onclick: copied }, "Copy");
  root.append(
    h("div", { class: "panes" },
      h("section", { class: "pane" }, h("h2", {}, app.languages[0]), h("div", { class: "written" }, mirror, input)),
      h("section", { class: "pane" }, h("h2", {}, app.languages[1], copy), output)),
    trouble, others);

  let timer;
  let asking = new AbortController();
  const { state } = app;
  input.value = state.text;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    light(null);
    grow();
    timer = setTimeout(translate, PAUSE);
  });

  function grow() {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight}px`;
  }

  async function translate() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    if (input.value !== state.text) app.save({ text: input.value, sentence: 1, target: "", token: 0 });
    if (!input.value.trim()) {
      for (const part of [output, others, trouble]) part.replaceChildren();
      return;
    }
    const waiting = setTimeout(() => output.classList.add("loading"), 150);
    try {
      const cut = await app.post("api/sentences", { text: input.value }, signal);
      // One request per sentence: unchanged sentences are cached, the others are decoded in one batch.
      const found = await Promise.all(cut.map(({ text }) => text.trim()
        ? app.post("api/translate", { text, nbest: app.model.search.width }, signal) : null));
      let start = 0;
      let number = 0;
      const sentences = cut.map(({ text, space }, i) => {
        if (found[i]) number += 1;
        const one = { text, space, start, number, found: found[i] };
        start += text.length + space.length;
        return one;
      });
      trouble.textContent = "";
      output.replaceChildren(...sentences.flatMap((one) => [one.found ? written(one) : "", one.space]));
      alternatives(sentences.findLast((one) => one.found));
    } catch (error) {
      if (error.name !== "AbortError") trouble.textContent = error.message;
    } finally {
      clearTimeout(waiting);
      if (!signal.aborted) output.classList.remove("loading");
    }
  }

  /** A translated sentence, word by word. */
  function written(one) {
    const words = one.found.translation.split(/(\s+)/);
    let count = -1;
    return h("span", { class: "sentence", onclick: () => alternatives(one) }, ...words.map((word) => {
      if (!word.trim()) return word;
      count += 1;
      const at = count;
      return h("span", {
        class: "word", tabindex: count === 0 ? 0 : -1,
        onmouseenter: () => point(one, at), onmouseleave: () => light(null),
        onfocus: () => point(one, at), onblur: () => light(null), onkeydown: move,
      }, word);
    }));
  }

  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const words = [...output.querySelectorAll(".word")];
    words[Math.max(0, Math.min(words.indexOf(event.currentTarget) + step, words.length - 1))].focus();
  }

  let pointed = null;
  async function point(one, at) {
    if (!app.model.aligner) return; // this model cannot tell
    pointed = `${one.start} ${at}`;
    const mine = pointed;
    try {
      const { source, weights } = await app.post("api/align", { text: one.text, target: one.found.translation });
      if (pointed === mine) light(one, source, weights[at] ?? []);
    } catch { /* nothing to light up */ }
  }

  /** Light up words of the source, each as much as its weight, behind the text that is typed. */
  function light(one, spans = [], weights = []) {
    if (!one) {
      pointed = null;
      mirror.replaceChildren();
      return;
    }
    const characters = [...one.text]; // the service counts Unicode characters, a string in JavaScript counts UTF-16
    const between = (start, end) => characters.slice(start, end).join("");
    const parts = [input.value.slice(0, one.start)];
    let at = 0;
    const most = Math.max(...weights, 0.01);
    spans.forEach(({ start, end }, i) => {
      const weight = ((weights[i] ?? 0) / most).toFixed(3);
      parts.push(between(at, start), h("mark", { style: `--weight: ${weight}` }, between(start, end)));
      at = end;
    });
    mirror.replaceChildren(...parts);
  }

  function alternatives(one) {
    if (!one) return;
    const { translations } = one.found;
    const list = translations.slice(1).filter(({ text }, i, all) => all.findIndex((other) => other.text === text) === i);
    const chosen = { onclick: () => Object.assign(state, { sentence: one.number, target: "", token: 0 }) };
    others.replaceChildren(
      h("h2", {}, "Other translations"),
      h("ol", {}, ...list.map(({ text, score }) => h("li", {}, h("span", { dir: "auto" }, ...differing(text, translations[0].text)),
        h("span", { class: "score number", title: "mean log-probability per token" }, fixed(score, 3))))),
      h("p", { class: "links" },
        h("a", { href: "#attention", ...chosen }, "Where it looks"),
        h("a", { href: "#search", ...chosen }, "How it was found")));
  }

  async function copied() {
    await navigator.clipboard.writeText(output.textContent);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1200);
  }

  const end = redrawn(input, grow);
  translate();
  return () => { clearTimeout(timer); asking.abort(); end(); };
}
