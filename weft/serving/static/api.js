// @ts-check
// Requests to the service. Answers are cached, so going back costs nothing.

const CACHED = 60; // answers
/** @type {Map<string, any>} */
const answers = new Map();
const JSON_TYPE = { "Content-Type": "application/json" };
const BINARY = "application/octet-stream";

/**
 * @typedef {{signal?: AbortSignal, base?: string, binary?: boolean}} Asking base: "models/NAME/" of one of several
 *  models
 */

/** @param {string} path @param {Asking} [asking] */
export function get(path, asking = {}) {
  return ask(path, { method: "GET", headers: {} }, asking);
}

/**
 * An answer as an object. With `binary`, numbers come as bytes where the service can: {…, numbers: a typed array}.
 * @param {string} path
 * @param {object} body
 * @param {Asking} [asking]
 */
export function post(path, body, asking = {}) {
  const headers = { ...JSON_TYPE, ...(asking.binary ? { Accept: `${BINARY}, application/json;q=0.9` } : {}) };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) }, asking);
}

/** Send this API key with every request, until the tab is closed. @param {string} key */
export function useKey(key) {
  sessionStorage.setItem("key", key);
}

/**
 * The events of a streamed answer in the form of OpenAI, as objects.
 * @param {string} path
 * @param {object} body
 * @param {Asking} [asking]
 */
export async function* stream(path, body, asking = {}) {
  for await (const event of pieces(path, { ...body, stream: true }, "text/event-stream", "\n\n", asking)) {
    const data = event.replace(/^data: /, "");
    if (data === "[DONE]") return;
    const said = JSON.parse(data);
    if (said.error) throw new Error(said.error.message);
    yield said;
  }
}

/** The lines of a streamed answer, as objects. @param {string} path @param {object} body @param {Asking} [asking] */
export async function* lines(path, body, asking = {}) {
  for await (const line of pieces(path, body, "application/x-ndjson", "\n", asking)) {
    const said = JSON.parse(line);
    if (said.error) throw new Error(said.error.message ?? said.error);
    yield said;
  }
}

/** @param {string} path @param {object} body @param {string} type @param {string} end @param {Asking} asking */
async function* pieces(path, body, type, end, { signal, base = "" }) {
  const options = { method: "POST", headers: { ...JSON_TYPE, Accept: type }, body: JSON.stringify(body), signal };
  const answer = await sent(base + path, options);
  if (!answer.ok) throw wrong(answer, await answer.json().catch(() => ({})));
  const reader = /** @type {any} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    const found = (rest + value).split(end);
    rest = /** @type {string} */ (found.pop());
    yield* found.filter(Boolean);
  }
  if (rest.trim()) yield rest;
}

/** @param {string} path @param {any} options @returns {Promise<Response>} */
function sent(path, options) {
  const key = sessionStorage.getItem("key");
  if (key) options.headers.Authorization = `Bearer ${key}`;
  return fetch(path, options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The service does not respond. Is it still running?");
  });
}

/** The error that an answer tells, in weft's shape or in OpenAI's. @param {Response} answer @param {any} told */
function wrong(answer, { error: told }) {
  const error = /** @type {Error & {status?: number}} */ (new Error(told?.message ?? told
    ?? `The service answered ${answer.status}.`));
  error.status = answer.status;
  return error;
}

/** @param {string} path @param {any} options @param {Asking} asking */
async function ask(path, options, { signal, base = "" }) {
  const known = `${base}${path} ${options.body ?? ""}`;
  if (!answers.has(known)) {
    const answer = await sent(base + path, { ...options, signal });
    const bytes = answer.ok && answer.headers.get("Content-Type") === BINARY;
    const data = bytes ? unpacked(await answer.arrayBuffer()) : await answer.json().catch(() => ({}));
    signal?.throwIfAborted(); // an aborted answer may be incomplete
    if (!answer.ok) throw wrong(answer, data);
    answers.set(known, data);
    if (answers.size > CACHED) answers.delete(/** @type {string} */ (answers.keys().next().value));
  }
  return answers.get(known);
}

/**
 * The length of a header (4 bytes), the header as JSON, and numbers after it: {…header, numbers}.
 * @param {ArrayBuffer} bytes
 */
function unpacked(bytes) {
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const rest = bytes.slice(4 + length);
  return { ...header, numbers: header.type === "uint8" ? new Uint8Array(rest) : halves(new Uint16Array(rest)) };
}

/** Numbers of 16 bits as numbers of 32. @param {Uint16Array} bits */
function halves(bits) {
  return Float32Array.from(bits, (half) => {
    const [exponent, fraction] = [(half >> 10) & 31, half & 1023];
    const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction ? NaN : Infinity)
      : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return half & 0x8000 ? -size : size;
  });
}
