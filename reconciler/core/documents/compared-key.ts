// Under which key the value at a path is compared: what a text means depends on its key alone, not on the name of its device. Pure.

/** `pool` for `devices.root.pool`, `limits.memory` for `config.limits.memory`, `properties.os` for a property of an image, which is free text. */
export function comparedKey(path: readonly string[]): string {
  const [field, ...rest] = path;
  if (field === 'properties') return path.join('.');
  const isBelowName = field === 'devices' || field === 'members';
  return (isBelowName ? rest.slice(1) : rest).join('.') || (path.at(-1) ?? '');
}
