// The image and the latents of a model in the address, so that a link shows the same.

import { asked, remember } from "./address.js";
import { later } from "./api.js";

const LARGEST = 1000;

const numbers = (text) => {
  const found = (text ?? "").split(",").map((part) => (part === "" ? NaN : Number(part)));
  return found.every((value) => Math.abs(value) <= LARGEST) ? found : null;
};

// Begins with the image and the latents that the address gives, or with the usual image.
export async function recall(session, usual) {
  const query = asked(),
    row = numbers(query.get("row")),
    z = numbers(query.get("z"));
  const known = row?.length === session.model.factors.length && row.every(Number.isInteger);
  if (session.model.problem) session.changed("all");
  else await session.from(known ? { row } : usual).catch(() => session.from(usual));
  if (z?.length === session.latents.length) session.place(z);
}

export function keep(session, signal) {
  const note = later(() => {
    if (signal.aborted) return;
    const start = session.start?.means ?? session.z.map(() => 0);
    const moved = session.z.some((value, at) => Math.abs(value - start[at]) > 1e-6);
    remember({
      row: session.start?.row?.join(),
      z: moved ? session.z.map((value) => +value.toFixed(3)).join() : null,
    });
  }, 250);
  session.addEventListener("change", note, { signal });
}
