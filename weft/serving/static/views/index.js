// @ts-check
// The views in their order. One is shown if the model has all that it needs; of those with one name, the first.

import { change } from "./change.js";
import { compute } from "./compute.js";
import { decideNext } from "./decide-next.js";
import { decideSearch } from "./decide-search.js";
import { look } from "./look.js";
import { model } from "./model.js";
import { runContinue } from "./run-continue.js";
import { runTranslate } from "./run-translate.js";
import { surprise } from "./surprise.js";

/**
 * @typedef {{name: string, label: string, needs: string[], tag: string, keys?: Record<string, any>,
 *   difference?: string, hasTarget?: boolean, hasOwnInput?: boolean}} Described
 */

/** @type {Described[]} */
export const VIEWS = [runTranslate, runContinue, look, compute, decideSearch, decideNext, surprise, change, model];
