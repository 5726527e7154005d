/** For tests/web/test_table.py: what the verifier says of one proof with each of these rows. */

import { readFileSync } from "node:fs";
import { verify, ZenError } from "../verifier/index.ts";

const [folder, rows] = [process.argv[2] ?? "", JSON.parse(readFileSync(0, "utf-8")) as string[]];
const read = (name: string): Uint8Array => readFileSync(`${folder}/${name}`);
const given = { document: read("proof.json"), key: read("key.json"), table: read("table.json") };
const answers = [];
for (const row of rows) {
  try {
    const verdict = await verify({ ...given, input: new TextEncoder().encode(row) });
    if (!("named" in verdict)) throw new TypeError("this is no proof");
    answers.push([verdict.reason, verdict.named, verdict.not_verified]);
  } catch (error) {
    if (!(error instanceof ZenError)) throw error;
    answers.push([error.code, error.message]);
  }
}
console.log(JSON.stringify(answers));
