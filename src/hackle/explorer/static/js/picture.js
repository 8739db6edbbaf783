// Raw bytes on canvases. Images are {count, height, width, channels, bytes}.

function pixels(images, at) {
  const { height, width, channels, bytes } = images;
  const found = new ImageData(width, height),
    target = found.data;
  let from = at * height * width * channels;
  for (let to = 0; to < target.length; to += 4, from += channels) {
    target[to] = bytes[from];
    target[to + 1] = bytes[from + (channels > 2 ? 1 : 0)];
    target[to + 2] = bytes[from + (channels > 2 ? 2 : 0)];
    target[to + 3] = 255;
  }
  return found;
}

// One image on a canvas of its size; small ones stay sharp when enlarged, large ones are smoothed.
export function paint(canvas, images, at = 0) {
  if (canvas.width !== images.width || canvas.height !== images.height) {
    canvas.width = images.width;
    canvas.height = images.height;
  }
  canvas.classList.toggle("fine", images.width > 128);
  canvas.getContext("2d").putImageData(pixels(images, at), 0, 0);
}

// At most so many places of a list, evenly spaced from the first to the last.
export const spaced = (count, most) =>
  Array.from({ length: Math.min(count, most) }, (_, at) =>
    count <= most ? at : Math.round((at * (count - 1)) / (most - 1)),
  );

// The images at some places.
export function some(images, places) {
  const size = images.height * images.width * images.channels,
    bytes = new Uint8Array(places.length * size);
  for (const [at, place] of places.entries())
    bytes.set(images.bytes.subarray(place * size, (place + 1) * size), at * size);
  return { ...images, count: places.length, bytes };
}

// Some of the images side by side, `columns` in a row, from image `first`.
export function paintSheet(canvas, images, { columns, rows = 1, first = 0, gap = 2 }) {
  canvas.width = columns * images.width + (columns - 1) * gap;
  canvas.height = rows * images.height + (rows - 1) * gap;
  canvas.classList.toggle("fine", images.width > 128);
  const context = canvas.getContext("2d");
  for (let at = 0; at < rows * columns && first + at < images.count; at += 1) {
    const left = (at % columns) * (images.width + gap),
      top = Math.floor(at / columns) * (images.height + gap);
    context.putImageData(pixels(images, first + at), left, top);
  }
}

// A traversal's row of images, as wide as its values are of the columns, so that tiles of all rows have one size.
export function paintTraversal(canvas, images, { values, columns, first, gap }) {
  paintSheet(canvas, images, { columns: values.length, first, gap });
  canvas.style.width = `${(100 * values.length) / columns}%`;
}

// A canvas that shows the image decoded from a session's latents, wherever on the page it stands.
export function mirror(session, signal) {
  const canvas = document.createElement("canvas");
  canvas.className = "mirror";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Image decoded from the latents");
  const redraw = () => {
    if (session.picture) paint(canvas, session.picture);
  };
  session.addEventListener("picture", redraw, { signal });
  redraw();
  return canvas;
}

export function download(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
