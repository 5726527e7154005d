/**
 * A bill of materials as npm writes it, from standard input, as the same tree always gives it: npm calls the package
 * by its folder, and each bill by a random number.
 */

import { json } from "node:stream/consumers";

import about from "./package.json" with { type: "json" };

interface Bill {
  serialNumber?: string;
  metadata: { timestamp: string; component: { name: string } };
}

const bill = (await json(process.stdin)) as Bill;
delete bill.serialNumber;
bill.metadata.timestamp = new Date(1000 * Number(process.env.SOURCE_DATE_EPOCH)).toISOString();
bill.metadata.component.name = about.name;
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
