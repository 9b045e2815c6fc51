// Lines: queries on the left, keys on the right, and a curve for each weight, in the colour of its head.

import { h, label, redrawn, sharp } from "weft/dom.js";

const FAINTEST = 0.015; // fainter curves are invisible, and there are thousands of them

/**
 * seen: {queries, keys, layers: [{map, colour}]} where map[query][key] is a weight.
 * names: the titles of the two columns. `tell` receives the token under the pointer: {side: 0 or 1, at}, or null.
 */
export function drawLines(root, seen, names, tell) {
  const { queries, keys, layers } = seen;
  const canvas = h("canvas", { "aria-hidden": "true" });
  const between = h("div", { class: "between" }, canvas);
  const left = column(queries, "queries", names[0]);
  const right = column(keys, "keys", names[1]);
  root.replaceChildren(h("div", { class: "lines" },
    h("h3", {}, names[0]), h("h3"), h("h3", {}, names[1]), left, between, right));

  let chosen = null; // {side: 0 or 1, at}
  const weight = (query, key) => layers.reduce((sum, { map }) => sum + map[query][key], 0) / Math.max(1, layers.length);

  function choose(next) {
    if (chosen?.side === next?.side && chosen?.at === next?.at) return;
    chosen = next;
    [...left.children].forEach((item, query) => mark(item, 0, query, chosen?.side === 1 ? weight(query, chosen.at) : null));
    [...right.children].forEach((item, key) => mark(item, 1, key, chosen?.side === 0 ? weight(chosen.at, key) : null));
    draw();
    tell?.(chosen);
  }

  function mark(item, side, at, weight) {
    item.classList.toggle("chosen", chosen?.side === side && chosen.at === at);
    item.classList.toggle("dim", Boolean(chosen) && weight !== null && weight < 0.05);
    if (weight === null) item.removeAttribute("style");
    else item.style.setProperty("--weight", weight.toFixed(4));
  }

  function draw() {
    const width = between.clientWidth;
    const row = left.firstElementChild?.offsetHeight ?? 25;
    const height = row * Math.max(queries.length, keys.length);
    const context = sharp(canvas, width, height);
    const strip = chosen?.side === 0 && layers.length > 1 ? Math.min(9, (width - 60) / layers.length) : 0;
    const end = width - 2 - strip * layers.length - (strip ? 4 : 0);
    context.lineWidth = 1.6;
    layers.forEach(({ map, colour }, n) => {
      context.strokeStyle = context.fillStyle = colour;
      const shift = (n - (layers.length - 1) / 2) * Math.min(2, 8 / layers.length); // heads that agree are drawn side by side
      for (let query = 0; query < queries.length; query++) {
        if (chosen?.side === 0 && chosen.at !== query) continue;
        for (let key = 0; key < keys.length; key++) {
          if (chosen?.side === 1 && chosen.at !== key) continue;
          const w = map[query][key];
          if (w < FAINTEST) continue;
          const [from, to] = [(query + 0.5) * row + shift, (key + 0.5) * row + shift];
          context.globalAlpha = Math.min(1, w * 1.1);
          context.beginPath();
          context.moveTo(2, from);
          context.bezierCurveTo(end * 0.4, from, end * 0.6, to, end, to);
          context.stroke();
          if (strip) context.fillRect(end + 4 + n * strip, (key + 0.14) * row, strip - 1, row * 0.72);
        }
      }
    });
  }

  function column(tokens, name, title) {
    const side = name === "queries" ? 0 : 1;
    return h("ol", { class: name, "aria-label": title },
      ...tokens.map((token, at) => h("li", {
        tabindex: at === 0 ? 0 : -1,
        onmouseenter: () => choose({ side, at }),
        onfocus: () => choose({ side, at }),
        onclick: () => choose({ side, at }),
        onkeydown: move,
      }, label(token))));
  }

  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const sideways = { ArrowLeft: left, ArrowRight: right }[event.key];
    if (event.key === "Escape") return choose(null);
    if (!step && !sideways) return undefined;
    event.preventDefault();
    const list = sideways ?? event.currentTarget.parentElement;
    const at = [...event.currentTarget.parentElement.children].indexOf(event.currentTarget) + (step ?? 0);
    return list.children[Math.max(0, Math.min(at, list.children.length - 1))].focus();
  }

  root.firstElementChild.addEventListener("mouseleave", () => !root.contains(document.activeElement) && choose(null));
  root.firstElementChild.addEventListener("focusout", (event) => !root.contains(event.relatedTarget) && choose(null));
  return redrawn(between, draw);
}
