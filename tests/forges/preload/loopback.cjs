// Preloaded into the emulator, which has no option for any of this.
//
// Every server listens on 127.0.0.1 alone: by default it would be all interfaces.
const { webcrypto } = require("node:crypto");
const { register } = require("node:module");
const net = require("node:net");
const { pathToFileURL } = require("node:url");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...given) {
  const [first, ...rest] = given;
  if (typeof first === "object" && first !== null && "port" in first) {
    return listen.call(this, { ...first, host: "127.0.0.1" }, ...rest);
  }
  if (typeof first === "number") {
    return listen.call(this, first, "127.0.0.1", ...rest.filter((each) => typeof each === "function"));
  }
  return listen.apply(this, given);
};

// And a pull request's head follows its branch.
register("./follow.mjs", pathToFileURL(__filename));

// Node.js 18, which Debian 12 has, does not offer this under its name yet.
globalThis.crypto ??= webcrypto;
