// The model that is served: its blocks and sizes, where its parameters are, its positions, its masks.

import { colour, h, label, redrawn, rgb, segmented, sharp } from "weft/dom.js";
import { drawMatrix } from "weft/matrix.js";
import { lookedAt } from "./sentence.js";

export function open(root, app) {
  const { model } = app;
  const finish = [];
  const position = partName(model.plan.ends.position);
  root.append(
    h("section", { class: "wide" }, h("h2", {}, "The model"), h("p", { class: "facts" }, ...facts(model)), diagram(model, finish)),
    h("section", {}, h("h2", {}, "Where its parameters are"), parameters(model)),
    h("section", {}, h("h2", {}, "Positions"), h("p", { class: "soft" }, POSITIONS[position] ?? `The part is called ${position}.`), position === "none" ? "" : positions(app, finish)),
    h("section", { class: "wide" }, h("h2", {}, "Masks"), masks(app, finish)));
  return () => finish.forEach((end) => end());
}

const POSITIONS = {
  sinusoid: "Sines and cosines of falling frequency, added to the embeddings. A row is a position, a column a dimension.",
  concatenated: "Sines and cosines of falling frequency, in a part of the width that holds nothing else.",
  learned: "One learned vector for each position, added to the embeddings.",
  none: "There are none: only a part that reads in order, such as a recurrence or a convolution, knows the order of the tokens.",
};

function partName(part) {
  return typeof part === "string" ? part : part.name;
}

function facts(model) {
  const { plan } = model;
  const said = [
    [`${(model.parameters / 1e6).toFixed(1)} M`, "parameters"],
    [`${plan.encoder.layers} + ${plan.decoder.layers}`, "layers"],
    [plan.width, "wide"],
    [Math.max(...Object.values(model.heads).map(({ heads }) => heads)), "heads"],
    [model.diagram.target.sizes.vocabulary.toLocaleString("en"), "subwords"],
  ];
  return said.filter(([number]) => number).map(([number, name]) => h("span", {}, h("b", { class: "number" }, String(number)), ` ${name}`));
}

/** Layers that are alike, one after the other, are drawn once. */
function groups(layers) {
  const found = [];
  for (const layer of layers) {
    const key = JSON.stringify(layer);
    if (found.at(-1)?.key === key) found.at(-1).times += 1;
    else found.push({ key, layer, times: 1 });
  }
  return found;
}

function diagram(model, finish) {
  const { diagram: drawn, plan } = model;
  const pre = (side) => [plan[side].wiring].flat().some((wiring) => partName(wiring) === "pre");
  const norm = (side) => `${partName([plan[side].norm].flat()[0])} norm`;
  const position = partName(plan.ends.position);
  const block = (name, detail, more = "") => h("div", { class: `block ${more}` }, h("b", {}, name), detail ? h("small", { class: "number" }, detail) : "");
  const sizes = ({ name, sizes: of, parameters }) => {
    const shape = of.heads ? `${of.heads} heads × ${of["key width"]}` : of.hidden ? `${plan.width} → ${of.hidden} → ${plan.width}` : "";
    return `${shape}${shape ? " · " : ""}${thousands(parameters)}`;
  };
  const names = { "self-attention": (side) => (side === "decoder" ? "masked self-attention" : "self-attention") };

  function stack(side) {
    const towers = groups(drawn[side]).map(({ layer, times }) => {
      const inner = layer.map((one) => {
        const body = block(names[one.name]?.(side) ?? one.name, sizes(one), one.name === "encoder-decoder attention" ? "cross" : "");
        const around = one.norm ? [block(norm(side), null, "norm")] : [];
        const past = (...blocks) => (one.past ? h("div", { class: "past" }, h("i", {}, "+"), ...blocks) : h("div", { class: "post" }, ...blocks)); // and the stream that runs past them
        return pre(side) ? past(...around, body) : h("div", { class: "post" }, past(body), ...around);
      });
      return h("div", { class: "layer" }, times > 1 ? h("span", { class: "times" }, `${times} ×`) : "", ...inner);
    });
    const entrance = drawn[side === "encoder" ? "source" : "target"];
    return h("div", { class: `stack ${side}` },
      block(side === "encoder" ? "source" : "target, shifted right", null, "plain"),
      block("embedding", `${entrance.sizes.vocabulary.toLocaleString("en")} × ${entrance.sizes.width}${drawn.shared ? " · shared" : ""}`),
      position === "none" ? "" : block(`+ ${position} positions`, null, "norm"),
      ...towers,
      pre(side) ? block(norm(side), null, "norm closing") : block("", null, "gap closing"),
      ...(side === "decoder" ? [block("linear, softmax", drawn.tied ? "tied to the embedding" : thousands(drawn.head.parameters)), block("probabilities", null, "plain")] : []));
  }

  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  const place = h("div", { class: "diagram", role: "img", "aria-label": `${drawn.encoder.length} encoder and ${drawn.decoder.length} decoder layers` },
    svg, stack("encoder"), stack("decoder"));

  /** From the top of the encoder to each encoder-decoder attention. */
  function arrow() {
    const box = place.getBoundingClientRect();
    const from = place.querySelector(".encoder .closing").getBoundingClientRect();
    svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    svg.replaceChildren(...[...place.querySelectorAll(".cross")].map((to) => {
      const end = to.getBoundingClientRect();
      const layer = to.parentElement.getBoundingClientRect();
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const [x, top] = [from.left + from.width / 2 - box.left, from.top - box.top];
      const middle = (from.right + layer.left) / 2 - box.left;
      const y = end.top + end.height / 2 - box.top;
      const r = 8;
      const turn = y > top - 16 ? 1 : -1;
      path.setAttribute("d", `M${x} ${top}V${top - 16 + r}q0 ${-r} ${r} ${-r}H${middle - r}q${r} 0 ${r} ${turn * r}V${y - turn * r}q0 ${turn * r} ${r} ${turn * r}H${end.left - box.left - 2}`);
      const head = document.createElementNS("http://www.w3.org/2000/svg", "path");
      head.setAttribute("d", `M${end.left - box.left - 8} ${y - 4}l6 4l-6 4`);
      const both = document.createElementNS("http://www.w3.org/2000/svg", "g");
      both.append(path, head);
      return both;
    }));
  }
  finish.push(redrawn(place, arrow));
  return place;
}

function parameters({ parts, parameters: total }) {
  const most = Math.max(...parts.map(({ count }) => count));
  return h("ul", { class: "parts" }, ...[...parts].sort((a, b) => b.count - a.count).map(({ name, count }) =>
    h("li", {},
      h("span", {}, name.replaceAll(" = ", " = ")),
      h("span", { class: "number soft" }, `${thousands(count)} · ${((100 * count) / total).toFixed(1)} %`),
      h("i", { style: `width: ${(100 * count) / most}%` }))));
}

const AXES = { left: 50, bottom: 44 }; // pixels beside and below the map of positions

function positions(app, finish) {
  const canvas = h("canvas", { class: "positions", role: "img", "aria-label": "Positional encodings as a heat map: a row a position, a column a dimension" });
  const scale = h("span", { class: "scale number" });
  const told = h("p", { class: "caption" });
  const place = h("div", { class: "positions-place" }, canvas);
  let vectors = null;
  let side = "encoder";

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
      segmented("positions of the", { encoder: "Encoder", decoder: "Decoder" }, side, (next) => { side = next; still(); draw(); }), scale),
    place, told);
}

/** Round numbers below n, four or so: 0, 64, 128 and 192 below 256. */
function ticks(n) {
  const step = 2 ** Math.max(0, Math.round(Math.log2(n / 4)));
  return Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step);
}

/** Of the sentence and a short one beside it in the batch, so that there is padding to be seen. */
function masks(app, finish) {
  const places = h("div", { class: "masks" });
  lookedAt(app).then(({ text }) => app.post("api/masks", { text })).then(({ source, target, masks: seen }) => {
    const pad = (tokens, length) => [...tokens, ...new Array(length - tokens.length).fill("(pad)")];
    const [S, T] = [source, target].map((rows) => Math.max(...rows.map(({ length }) => length)));
    const figures = [
      ["Encoder, a short sentence in a longer batch", "No query looks at padding.", pad(source[1], S), pad(source[1], S), seen.encoder?.[1]],
      ["Decoder, causal", "A token sees itself and its past: nothing that is still to be written.", pad(target[0], T), pad(target[0], T), seen.decoder?.[0]],
      ["Encoder–decoder, the short sentence", "Every target token may look at every real source token.", pad(target[1], T), pad(source[1], S), seen.cross?.[1]],
    ].filter(([, , , , map]) => map);
    places.replaceChildren(...figures.map(([name, text, queries, keys, map]) => {
      const place = h("div", { class: "drawing" });
      finish.push(drawMatrix(place, { queries, keys, map: map.map((row) => row.map((visible) => visible * 0.62)) }, name, null, 2, 20));
      return h("figure", {}, h("h3", {}, name), place, h("figcaption", { class: "soft" }, text));
    }));
  }).catch((error) => { places.textContent = error.message; });
  return h("div", {}, h("p", { class: "soft" }, "Taken from a pass of the model over the current sentence and a short one in one batch. Blue is visible."), places);
}

function thousands(count) {
  return count >= 1e6 ? `${(count / 1e6).toFixed(2)} M` : count >= 1e4 ? `${Math.round(count / 1e3)} k` : count.toLocaleString("en");
}
