// Requests to the service. Answers are cached, so going back costs nothing.

const CACHED = 60; // answers
const answers = new Map();

export function get(path) {
  return ask(path, { method: "GET", headers: {} });
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Send this API key with every request, until the tab is closed. */
export function useKey(key) {
  sessionStorage.setItem("key", key);
}

/** The events of a streamed answer, as objects. */
export async function* stream(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const answer = await sent(path, { method: "POST", headers, body: JSON.stringify({ ...body, stream: true }), signal });
  if (!answer.ok) throw wrong(answer, await answer.json().catch(() => ({})));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const said = JSON.parse(data);
      if (said.error) throw new Error(said.error.message);
      yield said;
    }
  }
}

function sent(path, options) {
  const key = sessionStorage.getItem("key");
  if (key) options.headers.Authorization = `Bearer ${key}`;
  return fetch(path, options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The service does not respond. Is it still running?");
  });
}

/** The error that an answer tells, in weft's shape or in OpenAI's. */
function wrong(answer, { error: told }) {
  const error = new Error(told?.message ?? told ?? `The service answered ${answer.status}.`);
  error.status = answer.status;
  return error;
}

async function ask(path, options) {
  const known = `${path} ${options.body ?? ""}`;
  if (!answers.has(known)) {
    const answer = await sent(path, options);
    const data = await answer.json().catch(() => ({}));
    options.signal?.throwIfAborted(); // an aborted answer may be incomplete
    if (!answer.ok) throw wrong(answer, data);
    answers.set(known, data);
    if (answers.size > CACHED) answers.delete(answers.keys().next().value);
  }
  return answers.get(known);
}
