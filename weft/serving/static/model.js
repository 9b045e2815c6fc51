// The served model: its blocks and sizes, its parameters by part, its positions, its masks.

import { colour, counted, h, redrawn, rgb, s, segmented, sharp } from "weft/dom.js";
import { drawMatrix } from "weft/matrix.js";
import { hasPairs, lookedAt } from "./sentence.js";

export const uses = ["text", "sentence"];

export function open(root, app) {
  const { model } = app;
  const finish = [];
  const position = partName(model.plan.position);
  root.append(
    h("section", { class: "wide" }, h("h2", {}, "The model"), h("p", { class: "facts" }, ...facts(model)), diagram(model, finish)),
    h("section", {}, h("h2", {}, "Parameters"), parameters(model)),
    h("section", {}, h("h2", {}, "Positions"), h("p", { class: "soft" }, POSITIONS[position] ?? `The part is ${position}.`), position === "none" ? "" : positions(app, finish)),
    h("section", { class: "wide" }, h("h2", {}, "Masks"), masks(app, finish)));
  return () => finish.forEach((end) => end());
}

const POSITIONS = {
  sinusoid: "Sines and cosines of decreasing frequency, added to the embeddings. Rows are positions, columns dimensions.",
  concatenated: "Sines and cosines of decreasing frequency, concatenated to the embeddings.",
  learned: "One learned vector per position, added to the embeddings.",
  none: "None: only parts that depend on order, such as recurrences and convolutions, know the order of the tokens.",
};

function partName(part) {
  return typeof part === "string" ? part : part.name;
}

function facts(model) {
  const { plan, diagram: { sides } } = model;
  const heads = Math.max(...Object.values(model.heads).map(({ heads: of }) => of));
  const said = [
    [model.parameters < 1e6 ? thousands(model.parameters) : `${(model.parameters / 1e6).toFixed(1)} M`, "parameters"],
    [Object.keys(sides).map((side) => plan[side].layers).join(" + "), "layers"],
    [plan.width, "wide"],
    [heads, heads === 1 ? "head" : "heads"],
    [Object.values(sides).at(-1).embedding.sizes.vocabulary.toLocaleString("en"), partName(plan.codec)],
  ];
  return said.filter(([number]) => number).map(([number, name]) => h("span", {}, h("b", { class: "number" }, String(number)), ` ${name}`));
}

/** Consecutive rows that are equal are drawn once; the dilation of a convolution may differ. */
function groups(rows) {
  const found = [];
  for (const row of rows) {
    const key = JSON.stringify(row, (name, value) => (name === "dilation" ? undefined : value));
    if (found.at(-1)?.key === key) found.at(-1).rows.push(row);
    else found.push({ key, rows: [row] });
  }
  return found.map(({ rows: alike }) => alike);
}

function diagram(model, finish) {
  const { diagram: drawn, plan } = model;
  const names = Object.keys(drawn.sides);
  const isPair = hasPairs(model);
  const position = partName(plan.position);
  const block = (name, details = [], more = "") =>
    h("div", { class: `block ${more}` }, h("b", {}, name), ...details.filter(Boolean).map((detail) => h("small", { class: "number" }, detail)));

  /** One block of one or several equal rows. */
  function drawnBlock(alike) {
    const { name, parameters: count, sizes, formula, marks } = alike[0];
    const dilations = [...new Set(alike.map(({ sizes: { dilation } }) => dilation))];
    const shape = sizes.heads ? `${counted(sizes.heads, "head")} × ${sizes["key width"]}`
      : sizes.hidden ? `${plan.width} → ${sizes.hidden} → ${plan.width}`
      : sizes.kernel ? `${sizes.kernel} wide${Math.max(...dilations) > 1 ? `, dilated by ${dilations.join(", ")}` : ""}` : "";
    const quiet = marks.includes("quiet");
    const last = quiet || !count ? "" : thousands(count);
    const details = shape.length + last.length < 24 ? [formula, [shape, last].filter(Boolean).join(" · ")] : [formula, shape, last];
    return block(name, details, marks.join(" "));
  }

  function drawnRow(alike) {
    const { stretches, layer } = alike[0];
    return h("div", { class: layer ? "layer" : "between" },
      alike.length > 1 ? h("span", { class: "times" }, `${alike.length} ×`) : "",
      ...stretches.map(({ blocks, past }, i) => h("div", { class: past ? "past" : "post" },
        past ? h("i", {}, "+") : "", // the residual stream
        ...blocks.map((_, j) => drawnBlock(alike.map((row) => row.stretches[i].blocks[j]))))));
  }

  function stack(side) {
    const { embedding, positions, rows } = drawn.sides[side];
    const { vocabulary, width } = embedding.sizes;
    return h("div", { class: `stack ${side}` },
      block(side === "encoder" ? "source" : isPair ? "target, shifted right" : "tokens", [], "plain"),
      block("embedding", [`${vocabulary.toLocaleString("en")} × ${width}${drawn.shared ? " · shared" : ""}`]),
      position === "none" ? "" : block(`+ ${position} positions`, [positions.parameters && thousands(positions.parameters)], "quiet"),
      ...groups(rows).map(drawnRow),
      ...(side === "decoder"
        ? [block("linear, softmax", [drawn.tied ? "tied to the embedding" : thousands(drawn.head.parameters)]), block("probabilities", [], "plain")]
        : [block("", [], "outlet")]));
  }

  const svg = s("svg", { "aria-hidden": "true" });
  const layers = ({ rows }) => rows.filter(({ layer }) => layer).length;
  const place = h("div", { class: isPair ? "diagram" : "diagram single", role: "img", "aria-label": names.map((side) => counted(layers(drawn.sides[side]), `${side} layer`)).join(", ") },
    svg, ...names.map(stack));

  /** Arrows from the top of the encoder to where the decoder reads it, from feeding to fed blocks, and around recurrences. */
  function arrows() {
    const box = place.getBoundingClientRect();
    const around = (one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return { left: left - box.left, right: right - box.left, top: top - box.top, y: (top + bottom) / 2 - box.top, x: (left + right) / 2 - box.left };
    };
    const all = (marked) => [...place.querySelectorAll(marked)].map(around);
    svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const [from] = all(".encoder .outlet");
    const [decoder] = all(".decoder");
    const middle = from && (from.right + decoder.left) / 2;
    const looks = all(".source").map(({ left, y }) =>
      arrow(`M${from.x} ${from.top}V${from.top - 8}q0 -8 8 -8${turned(middle, from.top - 16, y, 1)}`, left - 2, y, 1));
    const feeds = all(".feeds").flatMap((feeder) => all(".fed").map(({ right, y }) =>
      arrow(`M${feeder.right} ${feeder.y}${turned(decoder.right + FEED, feeder.y, y, -1)}`, right + 2, y, -1, y > feeder.y ? "later" : ""))); // a block below was computed before: it is fed in the next step
    const loops = all(".loop").map(({ right, y }) => arrow(`M${right} ${y - 3}c14 0 14 -13 2 -13`, right + 2, y - 16, -1, "later")); // above what is fed
    svg.replaceChildren(...looks, ...feeds, ...loops);
  }
  finish.push(redrawn(place, arrows));
  return h("div", {}, place, h("p", { class: "soft letters" }, letters(drawn.sides[names.at(-1)])));
}

const LETTERS = { x: "input", h: "encoder output", s: "decoder state", c: "context vector" };

/** The meaning of the letters in the formulas. */
function letters({ rows }) {
  const formulas = rows.flatMap(({ stretches }) => stretches).flatMap(({ blocks }) => blocks).map(({ formula }) => formula).join(" ");
  const used = Object.entries(LETTERS).filter(([letter]) => new RegExp(`\\b${letter}\\b`).test(formulas));
  return used.map(([letter, meaning]) => `${letter}: ${meaning}`).join(" · ");
}

const FEED = 14; // pixels to the right of the decoder

/** To the right as far as x, up or down from one height to another, and on to the right (1) or back (-1), around corners. */
function turned(x, from, to, way) {
  const r = Math.min(8, Math.abs(to - from) / 2);
  const down = to > from ? r : -r;
  return `H${x - r}q${r} 0 ${r} ${down}V${to - down}q0 ${down} ${way * r} ${down}`;
}

/** A path that ends at x, with a head that points to the right (1) or to the left (-1). */
function arrow(path, x, y, way, kind = "") {
  return s("g", { class: kind }, s("path", { d: `${path}H${x}` }), s("path", { class: "tip", d: `M${x - 6 * way} ${y - 4}l${6 * way} 4l${-6 * way} 4` }));
}

function parameters({ parts, parameters: total }) {
  const most = Math.max(...parts.map(({ count }) => count));
  return h("ul", { class: "parts" }, ...[...parts].sort((a, b) => b.count - a.count).map(({ name, count }) =>
    h("li", {},
      h("span", {}, name.replaceAll(" = ", " = ")),
      h("span", { class: "number soft" }, `${thousands(count)} · ${((100 * count) / total).toFixed(1)} %`),
      h("i", { style: `width: ${(100 * count) / most}%` }))));
}

const AXES = { left: 50, bottom: 44 }; // pixels left of and below the map of positions

function positions(app, finish) {
  const canvas = h("canvas", { class: "positions", role: "img", "aria-label": "Positional encodings as a heat map: rows are positions, columns dimensions" });
  const scale = h("span", { class: "scale number" });
  const told = h("p", { class: "caption" });
  const place = h("div", { class: "positions-place" }, canvas);
  let vectors = null;
  const sides = Object.keys(app.model.diagram.sides);
  let [side] = sides;

  function draw() {
    if (!vectors) return;
    const table = vectors[side];
    const [rows, columns] = [table.length, table[0].length];
    const most = Math.max(...table.flat().map(Math.abs)) || 1;
    scale.replaceChildren(`−${most.toFixed(2)}`, h("i"), most.toFixed(2));
    const image = new ImageData(columns, rows);
    const [zero, above, below] = ["--heat-0", "--accent", "--cold"].map(rgb);
    table.flat().forEach((x, i) => {
      const t = Math.min(1, Math.abs(x) / most);
      image.data.set([...zero.map((value, c) => value + ((x > 0 ? above : below)[c] - value) * t), 255], 4 * i);
    });
    const small = h("canvas", { width: columns, height: rows });
    small.getContext("2d").putImageData(image, 0, 0);
    const [width, height] = [place.clientWidth - AXES.left, Math.min(320, Math.max(180, place.clientWidth * 0.55))];
    const context = sharp(canvas, place.clientWidth, height + AXES.bottom);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, AXES.left, 0, width, height);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = colour("--soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const row of ticks(rows)) context.fillText(row, AXES.left - 6, Math.max(7, ((row + 0.5) * height) / rows));
    context.textAlign = "center";
    for (const column of ticks(columns)) context.fillText(column, AXES.left + Math.max(4, ((column + 0.5) * width) / columns), height + 12);
    context.fillText("dimension", AXES.left + width / 2, height + 29);
    context.rotate(-Math.PI / 2);
    context.fillText("position", -height / 2, 8);
  }

  const still = () => { told.textContent = `Positions 0 to ${vectors[side].length - 1} from top to bottom, dimensions 0 to ${vectors[side][0].length - 1} from left to right.`; };
  canvas.addEventListener("mousemove", ({ offsetX, offsetY }) => {
    if (!vectors) return;
    const table = vectors[side];
    const row = Math.floor((offsetY / (canvas.clientHeight - AXES.bottom)) * table.length);
    const column = Math.floor(((offsetX - AXES.left) / (canvas.clientWidth - AXES.left)) * table[0].length);
    const value = table[row]?.[column];
    if (value === undefined) still();
    else told.textContent = `position ${row}, dimension ${column}: ${value.toFixed(3)}`;
  });
  canvas.addEventListener("mouseleave", () => vectors && still());
  app.get("api/positions").then((found) => {
    vectors = found;
    still();
    draw();
  }).catch((error) => { told.textContent = error.message; });
  finish.push(redrawn(place, draw));
  return h("div", {},
    h("div", { class: "controls" },
      sides.length > 1 ? segmented("positions of the", { encoder: "Encoder", decoder: "Decoder" }, side, (next) => { side = next; still(); draw(); }) : "", scale),
    place, told);
}

/** About four round numbers below n: 0, 64, 128 and 192 below 256. */
function ticks(n) {
  const step = 2 ** Math.max(0, Math.round(Math.log2(n / 4)));
  return Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step);
}

/** The masks of the sentence and a short one in the same batch, which needs padding. */
function masks(app, finish) {
  if (!app.model.kinds.length) return h("p", { class: "soft" }, "This model has no attention, so it has no masks.");
  const places = h("div", { class: "masks" });
  lookedAt(app).then(({ text }) => app.post("api/masks", { text })).then(({ source, target, masks: seen }) => {
    const pad = (tokens, length) => [...tokens, ...new Array(length - tokens.length).fill("(pad)")];
    const [S, T] = [source, target].map((rows) => Math.max(...rows.map(({ length }) => length)));
    const figures = app.model.kinds.map((kind) => {
      const isCausal = kind.keys === "shifted";
      const row = isCausal ? 0 : 1; // the short sentence has the padding
      const tokens = (axis) => (axis === "source" ? pad(source[row], S) : pad(target[row], T));
      return {
        name: isCausal && !hasPairs(app.model) ? "Causal" : `${kind.label}, ${isCausal ? "causal" : "a short sentence in a longer batch"}`,
        text: isCausal ? "A token sees itself and the past, not the future." : "No query attends to padding.",
        queries: tokens(kind.queries), keys: tokens(kind.keys), map: seen[kind.name][row],
      };
    });
    places.replaceChildren(...figures.map(({ name, text, queries, keys, map }) => {
      const place = h("div", { class: "drawing" });
      finish.push(drawMatrix(place, { queries, keys, map: map.map((row) => row.map((visible) => visible * 0.62)) }, name, null, 2, 20));
      return h("figure", {}, h("h3", {}, name), place, h("figcaption", { class: "soft" }, text));
    }));
  }).catch((error) => { places.textContent = error.message; });
  return h("div", {}, h("p", { class: "soft" }, `From a forward pass over the current ${hasPairs(app.model) ? "sentence and a short one in one batch" : "text"}. Blue is visible.`), places);
}

function thousands(count) {
  return count >= 1e6 ? `${(count / 1e6).toFixed(2)} M` : count >= 1e4 ? `${Math.round(count / 1e3)} k` : count.toLocaleString("en");
}
