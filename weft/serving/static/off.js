// Ablate heads: switch them off and see what happens to what the model writes.

import { counted, fixed, h, headColour } from "weft/dom.js";
import { differing } from "./differing.js";
import { hasPairs, sentenceBar } from "./sentence.js";

export const needsAttention = true;
export const uses = ["text", "sentence", "target", "off"];

export function open(root, app) {
  const { state } = app;
  const bar = sentenceBar(app, () => { forget(); show(); });
  const boards = h("div", { class: "boards" });
  const result = h("div", { class: "result", "aria-live": "polite" });
  const measure = h("button", { class: "button", type: "button", onclick: weigh }, "Which heads matter here?");
  const told = h("span", { class: "soft" });
  root.append(bar.element, result,
    h("div", { class: "controls" },
      h("button", { class: "button", type: "button", onclick: () => set([]) }, "All on"), measure, told),
    boards);
  let falls = null;
  let weighing = new AbortController();
  let turn = 0;

  const is = (a, b) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;

  function set(off) {
    app.save({ off });
    show();
  }

  function switched(some) {
    const on = some.some((head) => !state.off.some((other) => is(head, other)));
    const rest = state.off.filter((other) => !some.some((head) => is(head, other)));
    set(on ? [...rest, ...some] : rest);
  }

  function drawBoards() {
    const focused = document.activeElement?.getAttribute("aria-label");
    const most = falls && Math.max(0.001, ...Object.values(falls).flat(2));
    boards.replaceChildren(...app.model.kinds.map(({ name: kind, label: name }) => {
      const { layers, heads, each } = app.model.heads[kind];
      const one = (layer, head) => ({ kind, layer, head });
      const all = (n) => Array.from({ length: n }, (_, i) => i + 1);
      return h("section", { class: "board" }, h("h2", {}, name),
        h("div", { class: "switches", style: `grid-template-columns: auto repeat(${heads}, 1fr)` },
          ...all(layers).flatMap((layer) => [
            h("button", { class: "row-name", type: "button", title: "All heads of this layer", "aria-label": `${name} layer ${layer}`, onclick: () => switched(all(each[layer - 1]).map((head) => one(layer, head))) }, `layer ${layer}`),
            ...all(heads).map((head) => {
              if (head > each[layer - 1]) return h("span"); // this layer has fewer heads
              const off = state.off.some((other) => is(other, one(layer, head)));
              const fall = falls?.[kind][layer - 1][head - 1];
              const weight = falls ? Math.max(0, fall / most).toFixed(3) : 0;
              return h("button", {
                class: "switch", type: "button", "aria-pressed": !off,
                "aria-label": `${name} layer ${layer} head ${head}`,
                title: falls ? `Without it the score falls by ${fall.toFixed(4)} per token` : null,
                style: `--colour: ${headColour(head - 1, heads)}; --fall: ${weight}`,
                onclick: () => switched([one(layer, head)]),
              }, String(head));
            }),
          ])));
    }));
    boards.classList.toggle("weighed", Boolean(falls));
    if (focused) boards.querySelector(`[aria-label="${focused}"]`)?.focus();
  }

  async function show() {
    state.off = state.off.filter(({ kind, layer, head }) => head <= app.model.heads[kind]?.each[layer - 1]);
    drawBoards();
    const mine = ++turn;
    const waiting = setTimeout(() => result.classList.add("loading"), 150);
    try {
      const { whole, without, after } = await app.post("api/off", { ...(await bar.asked()), off: state.off });
      if (mine !== turn) return;
      bar.own(whole.translation);
      const many = state.off.length;
      result.replaceChildren(
        line("With all heads", [whole.translation], whole.score, null),
        many ? line(`Without ${counted(many, "head")}`, differing(without.translation, whole.translation), without.score, null)
          : line("No head is off", ["Click a head to switch it off, or a layer for all of its heads."], null, null, "idle"),
        many ? line(hasPairs(app.model) ? "Original translation" : "Original continuation", ["Re-scored without them"], after.score, after.score - whole.score, "idle") : "");
    } catch (error) {
      if (mine !== turn) return;
      bar.fail(error);
      result.replaceChildren();
    } finally {
      clearTimeout(waiting);
      if (mine === turn) result.classList.remove("loading");
    }
  }

  function line(name, text, score, change, more = "") {
    return h("div", { class: `line ${more}` },
      h("span", { class: "what" }, name),
      h("span", { class: "text", dir: "auto" }, ...text),
      h("span", { class: "score number", title: "mean log-probability per token" }, score === null ? "" : fixed(score, 4),
        change === null ? "" : h("i", { class: change < -0.0005 ? "worse" : "" }, ` ${change > 0 ? "+" : ""}${fixed(change, 4)}`)));
  }

  async function weigh() {
    forget();
    const { signal } = weighing;
    measure.disabled = true;
    told.textContent = "Ablating one head at a time …";
    try {
      ({ falls } = await app.post("api/importance", await bar.asked(), signal));
      told.textContent = "The darker a head, the more the score falls without it.";
      measure.disabled = false;
      drawBoards();
    } catch (error) {
      if (signal.aborted) return;
      forget();
      told.textContent = error.message;
    }
  }

  /** The importance of heads is that of one sentence. */
  function forget() {
    weighing.abort();
    weighing = new AbortController();
    falls = null;
    told.textContent = "";
    measure.disabled = false;
  }

  addEventListener("theme", drawBoards);
  show();
  return () => { turn++; bar.close(); weighing.abort(); removeEventListener("theme", drawBoards); };
}
