// Small pictures of rows: two are fetched at a time, and only for rows that are still in sight.

import { thumbnailAddress } from "./api.js";
import { h } from "./dom.js";

export class Thumbnails {
  constructor() {
    this.waiting = [];
    this.busy = 0;
  }

  ask(image, id) {
    image.dataset.id = id;
    this.waiting.push(image);
    this.next();
  }

  next() {
    while (this.busy < 2 && this.waiting.length) {
      const image = this.waiting.shift();
      if (!image.isConnected) continue;
      this.busy += 1;
      const done = () => {
        this.busy -= 1;
        this.next();
      };
      const drawn = () => {
        image.classList.add("here");
        done();
      };
      const refused = () => {
        image.replaceWith(h("span", { class: "faint" }, "–"));
        done();
      };
      image.addEventListener("load", drawn, { once: true });
      image.addEventListener("error", refused, { once: true });
      image.src = thumbnailAddress(image.dataset.id);
    }
  }
}
