// @ts-check
// Compute: one head by the numbers.

import { View, define, html } from "../view.js";

class Compute extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-compute", Compute);
export const compute = { name: "compute", label: "Compute", needs: ["numbers"], tag: "v-compute" };
