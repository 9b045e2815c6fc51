// Overview: every layer and head of one kind as a thumbnail, one pixel per weight.

import { h, heatRamp, redrawn } from "weft/dom.js";

/** pictures[layer][head]: rows × columns bytes, one per weight. `open` receives layer and head, from 1. */
export function drawOverview(root, pictures, rows, columns, open) {
  const heads = pictures[0].length;
  const grid = h("div", { class: "overview", style: `grid-template-columns: auto repeat(${heads}, minmax(52px, 150px))` });
  grid.append(h("span"), ...pictures[0].map((_, head) => h("span", { class: "column-name" }, `head ${head + 1}`)));
  const thumbnails = pictures.map((layer, n) => {
    grid.append(h("span", { class: "row-name" }, `layer ${n + 1}`));
    return layer.map((_, head) => {
      const canvas = h("canvas", { width: columns, height: rows });
      grid.append(h("button", {
        "aria-label": `layer ${n + 1}, head ${head + 1}`,
        onclick: () => open(n + 1, head + 1),
      }, canvas));
      return canvas;
    });
  });
  root.replaceChildren(grid);

  function draw() {
    const ramp = heatRamp();
    thumbnails.forEach((layer, n) => layer.forEach((canvas, head) => {
      const image = new ImageData(columns, rows);
      pictures[n][head].forEach((byte, i) => image.data.set([...ramp[byte], 255], 4 * i));
      canvas.getContext("2d").putImageData(image, 0, 0);
    }));
  }
  return redrawn(root, draw);
}
