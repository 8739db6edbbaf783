// Questions to the server. A server that is busy is asked again; any other refusal becomes an error with its reason.

import { askedScores } from "./address.js";

export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

// Whether the server answers, told to the page whenever that changes.
let reached = true;
function reach(now) {
  if (now === reached) return;
  reached = now;
  dispatchEvent(new CustomEvent("reach", { detail: now }));
}

// Asks a server that was lost until it is back.
export async function knock() {
  await fetch("icon.svg", { cache: "no-store" }).then(
    () => reach(true),
    () => null,
  );
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// An address that names no run shows the list: it is asked for at once, while the scripts that draw it are on
// their way.
const listPath = (choice) => `runs?${new URLSearchParams(choice)}`;
const early = new Map();
if (/^(#\/?)?(\?|$)/.test(location.hash)) {
  const answer = fetch(`api/${listPath(askedScores())}`);
  answer.catch(() => null);
  early.set(listPath(askedScores()), answer);
}
const taken = (path) => {
  const answer = early.get(path);
  early.delete(path);
  return answer;
};

async function ask(path, options = {}) {
  for (let attempt = 0; ; attempt += 1) {
    let answer;
    try {
      answer = await (taken(path) ?? fetch(`api/${path}`, options));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      reach(false);
      throw new Refused(0, "the server does not answer; is `hackle explore` still running?");
    }
    reach(true);
    if (answer.ok || answer.status === 304) return answer;
    if (answer.status === 429 && attempt < 8) {
      await pause(200 + 200 * attempt);
      continue;
    }
    const reason = await answer.json().then(
      (content) => content.detail,
      () => answer.statusText,
    );
    throw new Refused(answer.status, reason || `error ${answer.status}`);
  }
}

const body = (content) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(content),
});
const place = (id, rest = "") => `runs/${encodeURIComponent(id)}${rest}`;

// `tag` changes when the list does; null where it is still the one that is known.
export async function listRuns(choice, tag = null) {
  const answer = await ask(listPath(choice), tag ? { headers: { "If-None-Match": tag } } : {});
  return answer.status === 304 ? null : { ...(await answer.json()), tag: answer.headers.get("ETag") };
}
export const readRun = (id) => ask(place(id)).then((answer) => answer.json());
export const readModel = (id) => ask(place(id, "/model")).then((answer) => answer.json());
export const readStep = (id) => ask(place(id, "/step")).then((answer) => answer.json());
export const readCaptured = (id) => ask(place(id, "/captured")).then((answer) => answer.json());
// The whole matrix, or, if a factor is given, no more than is needed to have it computed.
export const readImportance = (id, factor = null) =>
  ask(place(id, factor === null ? "/importance" : `/importance/${factor}`)).then((answer) => answer.json());
export const readCurves = (id, after = -1) => ask(place(id, `/curves?after=${after}`)).then((answer) => answer.json());
export const matchLatents = (ids) =>
  ask(`match?${new URLSearchParams({ runs: ids.join(",") })}`).then((answer) => answer.json());
export const thumbnailAddress = (id) => `api/${place(id, "/thumbnail.png")}`;

// Images as {count, height, width, channels, bytes}.
const images = (shape, bytes) => ({ count: shape[0], height: shape[1], width: shape[2], channels: shape[3], bytes });
const unpacked = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const withImages = (content) => ({ ...content, images: images(content.shape, unpacked(content.images)) });

export async function decode(id, z) {
  const answer = await ask(place(id, "/decode"), body({ z }));
  const shape = answer.headers.get("X-Shape").split(",").map(Number);
  return images(shape, new Uint8Array(await answer.arrayBuffer()));
}

export const startFrom = (id, question) =>
  ask(place(id, "/start"), body(question))
    .then((answer) => answer.json())
    .then(withImages);
export const vary = (id, row, factor) =>
  ask(place(id, "/vary"), body({ row, factor }))
    .then((answer) => answer.json())
    .then(withImages);
export const upload = (id, file) =>
  ask(place(id, "/upload"), { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file })
    .then((answer) => answer.json())
    .then(withImages);
export const exported = (id, question) => ask(place(id, "/export"), body(question)).then((answer) => answer.blob());

// A function that works on one request at a time and of those that come meanwhile keeps the last.
export function latest(work) {
  let running = false,
    waiting = null;
  return async function run(...values) {
    if (running) {
      waiting = values;
      return;
    }
    running = true;
    try {
      await work(...values);
      while (waiting) {
        const next = waiting;
        waiting = null;
        await work(...next);
      }
    } finally {
      [running, waiting] = [false, null];
    }
  };
}

export function later(work, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds, ...values);
  };
}
