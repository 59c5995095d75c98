/** Scripts come from the page's own files only: the one policy by which an address may become a script (Trusted Types). */
import url from "./stream.worker?worker&url";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL: (url: string) => string };
}

const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
const policy = types?.createPolicy("tapline", {
  createScriptURL: (wanted) => {
    if (wanted !== url) throw new TypeError(`no script of this page: ${wanted}`);
    return wanted;
  },
});

export function streamWorker(): Worker {
  return new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
}
