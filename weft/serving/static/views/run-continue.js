// @ts-check
// Run: a text that the model continues.

import { View, define, html } from "../view.js";

class RunContinue extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-run-continue", RunContinue);
export const runContinue = { name: "run", label: "Run", needs: ["complete"], tag: "v-run-continue" };
