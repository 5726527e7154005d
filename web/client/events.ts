/** Server-sent events, read from an answer as they come. */

import { UnreachableError } from "./errors.ts";

export interface Event {
  type: string;
  data: string;
}

/** Raises `UnreachableError` where the stream breaks, or is silent for so many seconds. */
export async function* events(
  stream: ReadableStream<Uint8Array>,
  silence: number,
): AsyncGenerator<Event, void> {
  let type = "";
  let data: string[] = [];
  for await (const line of lines(stream, silence)) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (line === "") {
      if (data.length > 0) yield { type, data: data.join("\n") };
      [type, data] = ["", []];
    } else if (name === "event") type = value;
    else if (name === "data") data.push(value);
  }
}

async function* lines(stream: ReadableStream<Uint8Array>, silence: number): AsyncGenerator<string, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await within(silence, reader.read());
      if (done) return;
      const whole = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = whole.pop() ?? "";
      yield* whole;
    }
  } catch (error) {
    throw new UnreachableError("the service went silent", { cause: error });
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function within<T>(seconds: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`nothing came in ${seconds} seconds`));
    const timer = setTimeout(late, 1000 * seconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
