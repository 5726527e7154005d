/** Every vector gets its verdict. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { CASES, givenOf, judged, outcomeOf } from "./vectors.ts";

test("every vector gets its verdict", async (context) => {
  for (const each of CASES) {
    await context.test(each.name, async () => {
      assert.deepEqual(await judged(givenOf(each)), outcomeOf(each));
    });
  }
});
