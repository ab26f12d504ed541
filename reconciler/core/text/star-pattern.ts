// Patterns of names in which a star stands for any text. Pure.

/** Matches a whole text. `star` and `end` are regular expressions for a star and for what may follow. */
export function starPattern(pattern: string, star = '.*', end = '$'): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(star)}${end}`);
}
