// Draws an input of the network, pixel by pixel, into the field that holds it as JSON.
"use strict";

for (const canvas of document.querySelectorAll("[data-draw]")) {
  const field = document.getElementById(canvas.dataset.draw);
  const low = Number(canvas.dataset.low);
  const high = Number(canvas.dataset.high);
  const shape = JSON.parse(canvas.dataset.shape);
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  let last = null;

  function clear() {
    paper.fillStyle = "black";
    paper.fillRect(0, 0, canvas.width, canvas.height);
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * canvas.width, ((event.clientY - box.top) / box.height) * canvas.height];
  }

  function stroke(from, to) {
    paper.strokeStyle = "white";
    paper.lineCap = "round";
    paper.lineWidth = Math.max(1, canvas.width / 10);
    paper.beginPath();
    paper.moveTo(...from);
    paper.lineTo(...to);
    paper.stroke();
  }

  /** What is drawn, as numbers of the network's input, nested to its shape. */
  function write() {
    const { data } = paper.getImageData(0, 0, canvas.width, canvas.height);
    let values = Array.from({ length: canvas.width * canvas.height }, (_, pixel) => {
      const grey = (data[4 * pixel] + data[4 * pixel + 1] + data[4 * pixel + 2]) / 765;
      return Number((low + (high - low) * grey).toFixed(4));
    });
    for (const side of shape.slice(1).reverse()) {
      values = Array.from({ length: values.length / side }, (_, row) => values.slice(row * side, (row + 1) * side));
    }
    field.value = JSON.stringify(values);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    stroke(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    stroke(last, (last = place(event)));
  });
  canvas.addEventListener("pointerup", () => {
    last = null;
    write();
  });
  document.addEventListener("paste", async (event) => {
    const image = [...event.clipboardData.files].find((file) => file.type.startsWith("image/"));
    if (!image) return;
    paper.drawImage(await createImageBitmap(image), 0, 0, canvas.width, canvas.height);
    write();
  });
  canvas.parentElement.querySelector("[data-clear]").addEventListener("click", () => {
    clear();
    field.value = "";
  });
  clear();
  canvas.parentElement.hidden = false;
}
