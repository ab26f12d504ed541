// A digest that is the same in every process, for names and addresses that are picked by it. Pure.
/** FNV-1a of ASCII text, 32 bits: it spreads names, and does not resist collisions made on purpose. */
export function fnv1a(text: string): number {
  let digest = 0x811c9dc5;
  for (const char of text) digest = Math.imul(digest ^ char.charCodeAt(0), 0x01000193) >>> 0;
  return digest;
}
