// One head, number by number: q · k for every key, divided by √d_k, softmax, the weighted sum of the values. Attention
// before 2017 has a score function of its own instead of q · k, and does not scale it.

import { counted, fixed, h, headColour, label, menu, redrawn, rgb, sharp } from "weft/dom.js";
import { chosenKind, kindChoice } from "weft/panel.js";
import { sentenceBar } from "./sentence.js";

export const needsAttention = true;
export const uses = ["text", "sentence", "target", "kind", "layer", "head", "token"];
const SUMMANDS = 3; // terms of q · k that are written out

export function open(root, app) {
  const { state } = app;
  const bar = sentenceBar(app, show);
  const controls = h("div", { class: "controls" });
  const tokens = h("div", { class: "tokens", role: "radiogroup" });
  const steps = h("div", { class: "steps" });
  root.append(bar.element, controls, tokens, steps);
  let finish = [];
  let turn = 0;
  let kind = null;

  function set(change) {
    app.save(change);
    show();
  }

  function controlsFor() {
    kind = chosenKind(app.model.kinds, state);
    const { layers, heads } = app.model.heads[state.kind];
    state.layer = Math.min(Math.max(1, state.layer ?? layers), layers);
    state.head = Math.min(Math.max(1, state.head), heads);
    const focused = document.activeElement?.getAttribute("aria-label");
    const numbers = (n) => Array.from({ length: n }, (_, i) => [i + 1, i + 1]);
    controls.replaceChildren(
      app.model.kinds.length > 1 ? kindChoice(app.model.kinds, state, (name) => set({ kind: name, token: 0 })) : "",
      layers > 1 ? h("label", { class: "control" }, h("span", {}, "Layer"), menu("layer", numbers(layers), state.layer, (layer) => set({ layer: Number(layer) }))) : "",
      heads === 1 ? "" : h("div", { class: "control" }, h("span", {}, "Head"), h("div", { class: "chips" },
        ...numbers(heads).map(([head]) => h("button", {
          class: "chip", type: "button", "aria-label": `head ${head}`, "aria-pressed": state.head === head,
          style: `--colour: ${headColour(head - 1, heads)}`, onclick: () => set({ head }),
        }, String(head))))));
    if (focused) controls.querySelector(`[aria-label="${focused}"]`)?.focus();
  }

  async function show() {
    controlsFor();
    const mine = ++turn;
    const { layer, head, token } = state;
    try {
      const seen = await app.post("api/head", { ...(await bar.asked()), kind: kind.name, layer, head, token });
      if (mine !== turn) return;
      bar.own(seen.translation);
      choices(seen);
      table(seen);
    } catch (error) {
      if (mine !== turn) return;
      if (token && error.status === 400) return set({ token: 0 }); // an address may name one that does not exist
      bar.fail(error);
      tokens.replaceChildren();
      steps.replaceChildren();
    }
  }

  function choices({ queries }) {
    const focused = tokens.contains(document.activeElement);
    tokens.setAttribute("aria-label", "query token");
    tokens.replaceChildren(h("span", { class: "soft" }, "Choose a query"), ...queries.map((token, at) => h("button", {
      type: "button", role: "radio", "aria-checked": at === state.token, tabindex: at === state.token ? 0 : -1,
      onclick: () => set({ token: at }),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        set({ token: (at + step + queries.length) % queries.length });
      },
    }, label(token))));
    if (focused) tokens.querySelector('[aria-checked="true"]')?.focus();
  }

  function table(seen) {
    finish.forEach((end) => end());
    finish = [];
    const { rows, keys, queries, query, output, width, formula } = seen;
    const isShifted = kind.keys === "shifted"; // a position predicts the token after the one it reads
    const isDot = formula.startsWith("q · k");
    const divided = rows[0].scaled !== null;
    const power = ({ score, scaled }) => scaled ?? score; // what softmax is taken of
    const hidden = rows.filter(({ visible }) => !visible).length;
    const total = rows.reduce((sum, row) => sum + (row.visible ? Math.exp(power(row)) : 0), 0);
    const widest = Math.max(...[query, ...rows.map(({ key }) => key)].flat().map(Math.abs));
    const largest = Math.max(...[output, ...rows.map(({ value }) => value)].flat().map(Math.abs));
    const worked = h("p", { class: "worked number", role: "status" });
    const strip = (vector, most, name) => {
      const canvas = h("canvas", { class: "strip", role: "img", "aria-label": name, title: vector.map((x) => x.toFixed(2)).join("  ") });
      const place = h("div", { class: "strip-place" }, canvas);
      finish.push(redrawn(place, () => drawStrip(canvas, place.clientWidth, vector, most)));
      return place;
    };
    const work = (at) => {
      const { key, score, scaled, weight, visible } = rows[at];
      [...body.children].forEach((row, i) => row.classList.toggle("chosen", i === at));
      const summands = query.slice(0, SUMMANDS).map((q, i) => `(${signed(q)})(${signed(key[i])})`).join(" + ");
      worked.replaceChildren(
        h("b", {}, label(keys[at])),
        h("span", {}, isDot ? `q·k = ${summands} + … = ${signed(score)}` : `${formula} = ${signed(score)}`),
        divided ? h("span", {}, `÷ √${width} = ${signed(scaled)}`) : "",
        h("span", {}, visible
          ? `e^${signed(power(rows[at]))} ÷ ${total < 1e5 ? total.toFixed(2) : total.toExponential(2)} = ${weight.toFixed(4)}`
          : "hidden by the mask: weight 0"));
    };
    const body = h("tbody", {}, ...rows.map(({ key, score, scaled, visible, weight, value }, at) => h("tr", {
      class: visible ? "" : "masked", tabindex: at === 0 ? 0 : -1,
      onmouseenter: () => work(at), onfocus: () => work(at),
      onkeydown: (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        body.children[Math.max(0, Math.min(at + step, rows.length - 1))].focus();
      },
    },
      h("th", { scope: "row" }, label(keys[at])),
      h("td", { class: "vector key" }, strip(key, widest, `key of ${label(keys[at])}`)),
      h("td", { class: "number score" }, signed(score)),
      divided ? h("td", { class: "number scaled" }, signed(scaled)) : "",
      h("td", { class: "number weight" }, h("span", { class: "bar-place" }, h("i", { style: `width: ${(weight * 100).toFixed(1)}%` })),
        visible ? weight.toFixed(4) : "masked"),
      h("td", { class: "vector" }, strip(value, largest, `value of ${label(keys[at])}`)))));

    steps.replaceChildren(
      h("div", { class: "query-row" },
        h("span", {}, "query of ", h("b", {}, label((isShifted ? keys : queries)[state.token])),
          h("span", { class: "soft" }, isShifted ? `, which predicts ${label(queries[state.token])}`
            : kind.queries === "target" ? ", as it is predicted" : "")),
        strip(query, widest, "query")),
      worked,
      h("div", { class: "table-place" }, h("table", {},
        h("thead", {}, h("tr", {},
          h("th", { scope: "col" }, "key"),
          h("th", { scope: "col", class: "vector key" }, "k"),
          ...[isDot ? "q·k" : "score", ...(divided ? [`÷ √${width}`] : []), "softmax"].map((step, i) => h("th", { scope: "col" }, h("small", {}, String(i + 1)), step)),
          h("th", { scope: "col", class: "vector" }, h("small", {}, divided ? "4" : "3"), "× v"))),
        body,
        h("tfoot", {}, h("tr", {},
          h("th", { scope: "row" }, "Σ weight · v"),
          h("td", { class: "vector key" }),
          h("td", { colspan: divided ? 3 : 2 }, h("b", {}, "head output")),
          h("td", { class: "vector" }, strip(output, largest, "output")))))),
      h("p", { class: "soft" }, `Query and keys have ${counted(width, "dimension")}: blue is positive, orange negative. `,
        hidden ? `${counted(hidden, "key")} in the future ${hidden === 1 ? "is" : "are"} masked. ` : "",
        ...(divided ? ["The outputs of all heads are concatenated and multiplied by W", h("sup", {}, "O"), "."]
          : [`The score is ${formula}, where s is the decoder state and h an encoder output. It is not scaled before the softmax.`])));
    work(rows.reduce((best, { weight }, i) => (weight > rows[best].weight ? i : best), 0));
  }

  addEventListener("theme", controlsFor);
  show();
  return () => { turn++; bar.close(); finish.forEach((end) => end()); removeEventListener("theme", controlsFor); };
}

function signed(number) {
  return fixed(number, Math.abs(number) >= 100 ? 1 : Math.abs(number) >= 10 ? 2 : 3);
}

function drawStrip(canvas, width, vector, most) {
  const context = sharp(canvas, Math.max(width, 40), 14);
  const [zero, above, below] = ["--heat-0", "--accent", "--cold"].map(rgb);
  const cell = Math.max(width, 40) / vector.length;
  vector.forEach((x, i) => {
    const t = Math.min(1, Math.abs(x) / (most || 1)) ** 0.7;
    const [r, g, b] = zero.map((value, c) => value + ((x > 0 ? above : below)[c] - value) * t);
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    context.fillRect(i * cell, 0, cell + 0.4, 14);
  });
}
