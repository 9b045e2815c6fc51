// @ts-check
// Run: two panes that translate.

import { View, define, html } from "../view.js";

class RunTranslate extends View {
  draw() {
    return html`<p class="empty">Not written yet.</p>`;
  }
}

define("v-run-translate", RunTranslate);
export const runTranslate = { name: "run", label: "Run", needs: ["run", "pairs"], tag: "v-run-translate" };
