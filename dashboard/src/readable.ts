/**
 * Characters that are escaped for display (/\u{202e}gpj.exe), because they are invisible, or change the order or line
 * breaks of others. These are Unicode's control, format and surrogate characters, line and paragraph separators, and
 * characters that renderers ignore by default, such as variation selectors. Java and C++ have the same table; tests of
 * all three compare it with schema/golden/readable_text.json.
 */
export const ESCAPED =
  /[\u{0}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{34f}\u{600}-\u{605}\u{61c}\u{6dd}\u{70f}\u{890}-\u{891}\u{8e2}\u{115f}-\u{1160}\u{17b4}-\u{17b5}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}\u{d800}-\u{dfff}\u{fe00}-\u{fe0f}\u{feff}\u{ffa0}\u{fff0}-\u{fffb}\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Escapes these characters; with `lines`, keeps line feeds and tabs. */
export function readableText(text: string, lines = false): string {
  return text.replace(ESCAPED, (character) => (lines && (character === "\n" || character === "\t") ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`));
}
