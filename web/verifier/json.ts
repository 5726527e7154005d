/**
 * JSON from strangers with one reading, and its canonical text (RFC 8785).
 *
 * An integer is a `number`, at most 2^53 - 1 in size; what is written with a point or an exponent is a `Real`,
 * which is no integer however it looks.
 */

export class Real {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type Json = null | boolean | number | string | Real | Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}
