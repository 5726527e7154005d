/** Draws inputs of the network, pixel by pixel, into the fields that hold them as JSON. */

type Nested = number | Nested[];
type Point = readonly [x: number, y: number];

/** The canvas that was drawn on last, or the first: what is pasted goes there. */
let chosen: HTMLCanvasElement | null = null;

for (const canvas of document.querySelectorAll<HTMLCanvasElement>("canvas[data-draw]")) {
  const field = document.getElementById(canvas.dataset["draw"] ?? "");
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  const around = canvas.parentElement;
  if (field instanceof HTMLTextAreaElement && paper && around) {
    chosen ??= canvas;
    listen(canvas, paper, field, around);
    around.hidden = false;
  }
}

function listen(
  canvas: HTMLCanvasElement,
  paper: CanvasRenderingContext2D,
  field: HTMLTextAreaElement,
  around: HTMLElement,
): void {
  let last: Point | null = null;

  function clear(): void {
    paper.fillStyle = "black";
    paper.fillRect(0, 0, canvas.width, canvas.height);
  }

  function write(): void {
    field.value = JSON.stringify(drawn(canvas, paper));
  }

  canvas.addEventListener("pointerdown", (event) => {
    chosen = canvas;
    canvas.setPointerCapture(event.pointerId);
    last = place(canvas, event);
    stroke(paper, last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const next = place(canvas, event);
    stroke(paper, last, next);
    last = next;
  });
  canvas.addEventListener("pointerup", () => {
    last = null;
    write();
  });
  document.addEventListener("paste", async ({ clipboardData }) => {
    const image = [...(clipboardData?.files ?? [])].find((file) => file.type.startsWith("image/"));
    if (!image || chosen !== canvas) return;
    paper.drawImage(await createImageBitmap(image), 0, 0, canvas.width, canvas.height);
    write();
  });
  around.querySelector("[data-clear]")?.addEventListener("click", () => {
    clear();
    field.value = "";
  });
  clear();
}

function place(canvas: HTMLCanvasElement, { clientX, clientY }: PointerEvent): Point {
  const box = canvas.getBoundingClientRect();
  return [
    ((clientX - box.left) / box.width) * canvas.width,
    ((clientY - box.top) / box.height) * canvas.height,
  ];
}

function stroke(paper: CanvasRenderingContext2D, from: Point, to: Point): void {
  paper.strokeStyle = "white";
  paper.lineCap = "round";
  paper.lineWidth = Math.max(1, paper.canvas.width / 10);
  paper.beginPath();
  paper.moveTo(...from);
  paper.lineTo(...to);
  paper.stroke();
}

/** What is drawn, as numbers of the network's input, nested to its shape. */
function drawn({ width, height, dataset }: HTMLCanvasElement, paper: CanvasRenderingContext2D): Nested {
  const [low, high] = [Number(dataset["low"]), Number(dataset["high"])];
  const shape: number[] = JSON.parse(dataset["shape"] ?? "[]");
  const { data } = paper.getImageData(0, 0, width, height);
  let values: Nested[] = Array.from({ length: width * height }, (_, pixel) => {
    const grey = data.subarray(4 * pixel, 4 * pixel + 3).reduce((sum, part) => sum + part, 0) / 765;
    return Number((low + (high - low) * grey).toFixed(4));
  });
  for (const side of shape.slice(1).reverse()) {
    const rows = values;
    values = Array.from({ length: rows.length / side }, (_, row) => rows.slice(row * side, (row + 1) * side));
  }
  return values;
}
