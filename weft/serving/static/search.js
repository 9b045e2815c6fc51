// Beam search as a tree that grows step by step: what was kept and pruned, and why the winner won.

import { fixed, h, label, menu, s } from "weft/dom.js";
import { sentenceBar } from "./sentence.js";

export const uses = ["text", "sentence", "beam", "alpha"];
const WIDTHS = [1, 2, 3, 4, 5, 6, 8, 10]; // of the beam
const ROW = 27; // pixels
const GAP = 34; // between two steps
const FATES = {
  kept: "kept", pruned: "pruned: not among the best", ended: "complete translation",
  cut: "cut by the length limit", left: "abandoned: the search was over",
};

export function open(root, app) {
  const { state } = app;
  const bar = sentenceBar(app, () => load(), { target: false });
  const controls = h("div", { class: "controls" });
  const forest = h("div", { class: "forest", tabindex: 0, role: "group", "aria-label": "The search tree" });
  const told = h("p", { class: "caption", role: "status" });
  const end = h("div", { class: "ended" });
  root.append(bar.element, controls, told, forest, end);
  let tree = null;
  let step = 0;
  let playing = null;
  let turn = 0;
  const slider = h("input", { type: "range", min: 1, "aria-label": "step", oninput: () => { stop(); step = Number(slider.value); grow(); } });
  const play = h("button", { class: "button", type: "button", onclick: () => (playing ? stop() : start()) }, "Play");
  const count = h("span", { class: "number" });
  const alpha = h("input", { type: "range", min: 0, max: 2, step: 0.1, value: state.alpha, "aria-label": "length penalty α",
    oninput: () => { app.save({ alpha: Number(alpha.value) }); finish(); grow(); } });
  state.alpha = Number(alpha.value); // as the slider has it
  const alphaText = h("span", { class: "number" });
  const widths = [...new Set([...WIDTHS, state.beam])].sort((a, b) => a - b); // an address may have another one
  controls.append(
    h("label", { class: "control" }, h("span", {}, "Beam"),
      menu("beam", widths.map((n) => [n, n]), state.beam, (beam) => { app.save({ beam: Number(beam) }); load(); })),
    h("div", { class: "control" }, play, slider, count),
    h("label", { class: "control" }, h("span", {}, "Length penalty α"), alpha, alphaText));

  async function load() {
    const mine = ++turn;
    try {
      const found = await app.post("api/search", { text: (await bar.asked()).text, beam: state.beam });
      if (mine !== turn) return;
      bar.own("");
      plant(found);
    } catch (error) {
      if (mine !== turn) return;
      bar.fail(error);
      plant(null);
    }
  }

  /** Show a tree; without one the controls are disabled. */
  function plant(found) {
    stop();
    tree = found;
    for (const control of [play, slider, alpha]) control.disabled = !tree;
    for (const part of [told, forest, end]) part.hidden = !tree;
    count.textContent = "";
    if (!tree) return;
    tree.byId = new Map(tree.steps.flat().map((one) => [one.id, one]));
    step = tree.steps.length;
    slider.max = step;
    finish();
    grow();
    forest.scrollLeft = 0;
  }

  function start() {
    if (step >= tree.steps.length) step = 0;
    play.textContent = "Pause";
    const tick = () => {
      step += 1;
      grow(true);
      playing = step < tree.steps.length ? setTimeout(tick, 650) : null;
      if (!playing) stop();
    };
    tick();
  }

  function stop() {
    clearTimeout(playing);
    playing = null;
    play.textContent = "Play";
  }

  /** α only ranks the complete translations; it does not change the search. */
  function ranked() {
    const score = ({ log_prob, length }) => log_prob / length ** state.alpha;
    return tree.ended.map((one) => ({ ...one, score: score(one) })).sort((a, b) => b.finished - a.finished || b.score - a.score);
  }

  function path(id) {
    const found = [];
    for (let one = tree.byId.get(id); one; one = tree.byId.get(one.parent)) found.unshift(one);
    return found;
  }

  function grow(follow = false) {
    slider.value = step;
    count.textContent = `step ${step} of ${tree.steps.length}`;
    const measure = document.createElement("canvas").getContext("2d");
    measure.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    const over = step === tree.steps.length;
    const winning = new Set(over ? path(ranked()[0].id).map(({ id }) => id) : []);
    const places = new Map();
    let x = 8;
    const edges = s("g", { class: "edges" });
    const nodes = s("g", {});
    tree.steps.slice(0, step).forEach((candidates, n) => {
      const width = Math.max(...candidates.map(({ token }) => measure.measureText(label(token)).width)) + 58;
      nodes.append(s("text", { class: "step", x: x + 2, y: 14 }, String(n + 1)));
      candidates.forEach((one, rank) => {
        const y = 24 + rank * ROW;
        const is = `${one.fate}${winning.has(one.id) ? " winning" : ""}`;
        places.set(one.id, { x, y: y + ROW / 2 - 2, right: x + width });
        const from = places.get(one.parent);
        if (from) {
          const to = places.get(one.id);
          const middle = (from.right + x) / 2;
          edges.append(s("path", { class: is, d: `M${from.right} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x} ${to.y}` }));
        }
        nodes.append(s("g", {
          class: `node ${is}`, tabindex: -1, "data-id": one.id, transform: `translate(${x} ${y})`,
          onmouseenter: () => tell(one), onfocus: () => tell(one), onmouseleave: () => tell(null),
        },
          s("rect", { width, height: ROW - 4, rx: 5 }),
          s("text", { x: 8, y: 16 }, label(one.token)),
          s("text", { class: "chance", x: width - 7, y: 16 }, percent(one.log_prob))));
      });
      x += width + GAP;
    });
    const rows = Math.max(...tree.steps.map((candidates) => candidates.length));
    forest.replaceChildren(s("svg", { width: x - GAP + 8, height: 24 + rows * ROW + 4 }, edges, nodes));
    if (follow) forest.scrollTo({ left: x, behavior: "smooth" });
    tell(null);
    end.hidden = !over;
  }

  function tell(one) {
    if (!one) {
      told.textContent = "Every step extends the hypotheses that were kept, and keeps the best again. The number is the probability of the token.";
      return;
    }
    const written = path(one.id).map(({ token }) => token).join("").replaceAll("·", " ").replace("∎", " (end)").trim();
    told.replaceChildren(h("b", {}, written), `  P(token) ${percent(one.log_prob)},  log P of the hypothesis ${fixed(one.total, 3)},  ${FATES[one.fate]}`);
  }

  function finish() {
    alphaText.textContent = state.alpha.toFixed(1);
    const found = ranked();
    const [first, second] = found;
    const likeliest = [...found].sort((a, b) => b.log_prob - a.log_prob)[0];
    const why = [h("b", {}, first.text), ` wins with ${fixed(first.log_prob, 3)} ÷ ${first.length}`,
      h("sup", {}, state.alpha.toFixed(1)), ` = ${fixed(first.score, 4)}`];
    if (second) why.push(`, ahead of ${fixed(second.score, 4)} for the second.`);
    if (likeliest.id !== first.id) {
      why.push(` By log P alone “${likeliest.text}” would have won, with ${fixed(likeliest.log_prob, 3)} in ${likeliest.length} tokens; the length penalty changed the order.`);
    }
    end.replaceChildren(
      h("h2", {}, "Complete translations, and why the winner won"),
      h("p", {}, ...why),
      h("div", { class: "table-place" }, h("table", {},
        h("thead", {}, h("tr", {}, ...["translation", "log P", "length", h("span", {}, "length", h("sup", {}, "α")), "score"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...found.map((one, i) => h("tr", { class: i === 0 ? "winning" : "" },
          h("td", { dir: "auto" }, one.text, one.finished ? "" : h("span", { class: "soft" }, " … cut")),
          h("td", { class: "number" }, fixed(one.log_prob, 3)),
          h("td", { class: "number" }, String(one.length)),
          h("td", { class: "number" }, (one.length ** state.alpha).toFixed(2)),
          h("td", { class: "number" }, fixed(one.score, 4))))))));
  }

  forest.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const along = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move && !along) return;
    event.preventDefault();
    const nodes = [...forest.querySelectorAll(".node")];
    const at = nodes.indexOf(document.activeElement);
    const one = tree.byId.get(Number(nodes[at]?.dataset.id));
    const children = one ? nodes.filter((node) => tree.byId.get(Number(node.dataset.id)).parent === one.id) : [nodes[0]];
    const parent = one && nodes.find((node) => Number(node.dataset.id) === one.parent);
    (move === 1 ? children[0] : move === -1 ? parent : nodes[Math.max(0, at + along)])?.focus();
  });

  plant(null);
  load();
  return () => { turn++; bar.close(); stop(); };
}

function percent(logProb) {
  const chance = Math.exp(logProb) * 100;
  return chance >= 10 ? `${chance.toFixed(0)}%` : chance >= 0.1 ? `${chance.toFixed(1)}%` : "<0.1%";
}
