// One model being looked at: the point in latent space, the image it started from, and who wants to know of changes.

import { decode, latest, readModel, startFrom, upload } from "./api.js";
import { signed } from "./dom.js";

const MOST_VALUES = 8e6,
  LARGE = 128 * 128,
  MOST_CLASSES = 24;

export function normal() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

export class Session extends EventTarget {
  static async open(id) {
    return new Session(await readModel(id));
  }

  constructor(model) {
    super();
    this.id = model.id;
    this.model = model;
    this.latents = model.latents.map((latent, index) => ({ ...latent, index }));
    this.z = this.latents.map(() => 0);
    this.noise = Array(model.noise).fill(0);
    this.start = null;
    this.picture = null;
    this.refresh = latest(async () => {
      this.picture = await this.decode([this.input(this.z)]);
      this.dispatchEvent(new Event("picture"));
    });
  }

  // How much a latent is used. KL to a prior with bounds says little, so codes of a GAN go by their information.
  get measure() {
    return this.latents.every(({ prior }) => prior === "normal") ? "kl" : "informativeness";
  }

  // Latents from most to least used, or by their number.
  ordered(by = this.measure) {
    const rank = (latent) => (by === "number" ? -latent.index : (latent[by] ?? -latent.index));
    return this.latents.slice().sort((a, b) => rank(b) - rank(a) || a.index - b.index);
  }

  // Many large images are asked for in several requests, each small enough for the server.
  async decode(z) {
    const values = this.model.shape.reduce((product, size) => product * size, 1),
      most = Math.max(1, Math.floor(MOST_VALUES / values));
    const parts = [];
    for (let from = 0; from < z.length; from += most) parts.push(await decode(this.id, z.slice(from, from + most)));
    if (parts.length === 1) return parts[0];
    const bytes = new Uint8Array(z.length * values);
    for (const [at, part] of parts.entries()) bytes.set(part.bytes, at * most * values);
    return { ...parts[0], count: z.length, bytes };
  }

  // Large images take long to decode: fewer of them, and not while the user still moves.
  get large() {
    return this.model.shape[0] * this.model.shape[1] > LARGE;
  }

  // The images of a traversal: so many, or one for each class of the latent that has most of them.
  columns(most) {
    const classes = Math.max(0, ...this.latents.map((latent) => latent.classes));
    return Math.max(this.large ? Math.min(7, most) : most, Math.min(MOST_CLASSES, classes));
  }

  get patience() {
    return this.large ? 500 : 150;
  }

  input(z) {
    return this.noise.length ? [...z, ...this.noise] : [...z];
  }

  // Values of a latent, evenly spaced over its range.
  values(latent, columns) {
    const {
      prior,
      ends: [low, high],
    } = this.latents[latent];
    const share = (at) => (columns > 1 ? at / (columns - 1) : 0.5);
    const values = Array.from({ length: columns }, (_, at) => low + share(at) * (high - low));
    return prior === "categorical" ? values.map(Math.round) : values;
  }

  // The values that a traversal passes through: each class once, where there are no more of them than columns.
  levels(latent, columns) {
    const { prior, classes } = this.latents[latent];
    return this.values(latent, prior === "categorical" ? Math.min(classes, columns) : columns);
  }

  // The latents of a traversal's row of images, as many as columns: after the last value come copies of it.
  row(latent, columns) {
    const values = this.levels(latent, columns);
    return Array.from({ length: columns }, (_, at) => this.moved([[latent, values[Math.min(at, values.length - 1)]]]));
  }

  // A latent's value with the digits that tell the tiles of a traversal apart; a class by its number.
  valueText(latent, value) {
    if (this.latents[latent].prior === "categorical") return String(Math.round(value));
    const [low, high] = this.latents[latent].ends;
    const digits = high - low >= 2 ? 1 : 2;
    // Nothing is −0.0.
    return signed((Math.round(value * 10 ** digits) / 10 ** digits + 0).toFixed(digits));
  }

  // Whether a value lies where the data have no mean.
  beyond(latent, value) {
    const { prior, data } = this.latents[latent];
    return prior !== "categorical" && data !== null && (value < data[0] || value > data[1]);
  }

  moved(changes, from = this.z) {
    const z = [...from];
    for (const [latent, value] of changes) z[latent] = value;
    return this.input(z);
  }

  set(latent, value) {
    this.z[latent] = value;
    this.changed("latent");
  }

  place(z, start = this.start) {
    this.z = [...z].slice(0, this.latents.length);
    this.start = start;
    this.changed("all");
  }

  changed(kind) {
    this.dispatchEvent(new CustomEvent("change", { detail: kind }));
    return this.refresh();
  }

  draw() {
    return this.latents.map(({ prior, classes }) =>
      prior === "categorical"
        ? Math.floor(Math.random() * classes)
        : prior === "uniform"
          ? 2 * Math.random() - 1
          : normal(),
    );
  }

  drawNoise(scale) {
    this.noise = this.noise.map(() => scale * normal());
    this.changed("noise");
  }

  async from(question) {
    this.begin(await startFrom(this.id, question));
  }

  async fromFile(file) {
    this.begin(await upload(this.id, file));
  }

  begin(found, at = 0) {
    const size = found.images.height * found.images.width * found.images.channels;
    const image = { ...found.images, count: 1, bytes: found.images.bytes.slice(at * size, (at + 1) * size) };
    this.place(found.means[at], { image, row: found.rows?.[at] ?? null, means: found.means[at] });
  }
}
