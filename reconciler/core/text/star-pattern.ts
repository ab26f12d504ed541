// Patterns of names in which a star stands for any text. Pure.

/** Matches a whole text. `star`: what a star stands for; `end`: what may follow; both as in a regular expression. */
export function starPattern(pattern: string, star = '.*', end = '$'): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(star)}${end}`);
}
