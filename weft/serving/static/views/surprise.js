// @ts-check
// Surprise: a text coloured by its log-probability.

import { View, define, html } from "../view.js";

class Surprise extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-surprise", Surprise);
export const surprise = { name: "surprise", label: "Surprise", needs: ["surprise"], tag: "v-surprise" };
