/**
 * What the service serves to browsers, from `pages/`: `node build.ts [FOLDER]`, else to `service/api/pages/`.
 *
 * The same sources and lockfile give the same bytes. The page that verifies is one file which carries all it needs, and a policy
 * that lets it load nothing else: no script or style but those of these hashes, and no connection.
 */

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname;
const SERVED = join(HERE, "../service/api/pages");

async function text(...path: string[]): Promise<string> {
  return readFile(join(HERE, ...path), "utf8");
}

/** One file out of `entry` and whatever it imports. */
async function bundled(entry: string): Promise<string> {
  const made = await build({
    absWorkingDir: HERE,
    bundle: true,
    charset: "utf8",
    entryPoints: [entry],
    format: "iife",
    legalComments: "none",
    logLevel: "error",
    minify: true,
    target: "es2022",
    write: false,
  });
  return made.outputFiles.map((file) => file.text.trim()).join("");
}

function sha256(content: string): string {
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}

async function verifyPage(): Promise<string> {
  const [page, style, script, icon, manifest, licence] = await Promise.all([
    text("pages/verify.html"),
    bundled("pages/verify.css"),
    bundled("pages/verify.ts"),
    text("../service/api/pages/icon.svg"),
    text("package.json"),
    text("node_modules/@noble/curves/LICENSE"),
  ]);
  const policy = [
    "default-src 'none'",
    `script-src ${sha256(script)}`,
    `style-src ${sha256(style)}`,
    "img-src data:",
    "worker-src blob:",
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ];
  const parts: Record<string, string> = {
    icon: `data:image/svg+xml;base64,${Buffer.from(icon).toString("base64")}`,
    licence,
    policy: policy.join("; "),
    script: `<script>${script}</script>`,
    style: `<style>${style}</style>`,
    version: /"version": "([^"]+)"/.exec(manifest)?.[1] ?? "",
  };
  return page.replace(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? "");
}

const served = process.argv[2] ?? SERVED;
await writeFile(join(served, "verify.html"), await verifyPage());
for (const name of ["dashboard", "docs", "draw"]) {
  await writeFile(join(served, `${name}.js`), `${await bundled(`pages/${name}.ts`)}\n`);
}
