/** The only Trusted Types policy that turns a URL into a script. It allows only the worker's URL. */
import url from "./stream.worker?worker&url";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL: (url: string) => string };
}

const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
const policy = types?.createPolicy("tapline", {
  createScriptURL: (wanted) => {
    if (wanted !== url) throw new TypeError(`not a script of this page: ${wanted}`);
    return wanted;
  },
});

export function streamWorker(): Worker {
  return new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
}
