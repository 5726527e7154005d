/**
 * Writes client/schema.ts, the types of the API, from its description on standard input (`make web`).
 *
 * Bodies and answers are openapi-typescript's; routes are named as documentation names them. What no type says is
 * left out: examples, headers of answers, and the problem document that every error is.
 */

import { text } from "node:stream/consumers";
import openapiTS, { astToString, type OpenAPI3, type OperationObject } from "openapi-typescript";
import prettier from "prettier";
import ts from "typescript";

const VERBS = ["get", "head", "post", "put", "patch", "delete"] as const;
const UNSAID = new Set(["example", "examples", "headers", "summary"]);
const EMPTY = /^\s*(cookie\?: never;|headers: \{\s*\[name: string\]: unknown;\s*\};)\n/gm;
const ABOUT = "// Written by web/schema.ts from the API's description. Do not edit: make web.\n\n";
const FILE = ts.factory.createTypeReferenceNode("Blob | Uint8Array<ArrayBuffer>");

function unsaid(name: string, value: unknown): boolean {
  return UNSAID.has(name) || (name === "title" && typeof value === "string") || /^[45]\d\d$/.test(name);
}

/** What openapi-typescript makes of schemas and operations; of the paths we make a table of our own. */
async function types(description: OpenAPI3): Promise<string> {
  const nodes = await openapiTS(description, {
    defaultNonNullable: false,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    transform: (schema) => ("contentMediaType" in schema ? FILE : undefined),
  });
  const unused = new Set(["paths", "webhooks", "$defs"]);
  const named = (node: ts.Node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
  return astToString(nodes.filter((node) => !(named(node) && unused.has(node.name.text))));
}

function routes(description: OpenAPI3): string {
  const lines = Object.entries(description.paths ?? {}).flatMap(([path, item]) =>
    VERBS.filter((verb) => verb in item).map((verb) => {
      const operation = (item as Record<string, OperationObject>)[verb];
      const about = operation?.description?.replaceAll("\n", "\n * ");
      return `/** ${about} */\n"${verb.toUpperCase()} ${path}": operations["${operation?.operationId}"];`;
    }),
  );
  return `export interface Routes {\n${lines.join("\n")}\n}\n`;
}

const description: OpenAPI3 = JSON.parse(await text(process.stdin), (name, value: unknown) =>
  unsaid(name, value) ? undefined : value,
);
const written = ABOUT + routes(description) + (await types(description)).replaceAll(EMPTY, "");
process.stdout.write(await prettier.format(written, { parser: "typescript", printWidth: 110 }));
