// Asking the service. An answer is kept for a while: going back to what was seen costs nothing.

const REMEMBERED = 60;
const answers = new Map();

export function get(path) {
  return ask(path, { method: "GET" });
}

export function post(path, body, signal) {
  const text = JSON.stringify(body);
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: text, signal });
}

async function ask(path, options) {
  const key = `${path} ${options.body ?? ""}`;
  if (!answers.has(key)) {
    const answer = await fetch(path, options).catch((error) => {
      throw error.name === "AbortError" ? error : new Error("The service does not answer. Is it still running?");
    });
    const data = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(typeof data.error === "string" ? data.error : `The service says ${answer.status}.`);
    answers.set(key, data);
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}
