// @ts-check
// Model: blocks, parameters, positions, masks.

import { View, define, html } from "../view.js";

class ModelView extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-model", ModelView);
export const model = { name: "model", label: "Model", needs: [], tag: "v-model" };
