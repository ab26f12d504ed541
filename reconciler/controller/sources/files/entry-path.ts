// Decides which paths in repositories and archives are accepted. Pure.

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]/;
const maxPath = 1000;
const maxName = 255;

/** Undefined when the path may be written below a folder: relative, without `..`, without names of git. */
export function problemOfPath(path: string): string | undefined {
  if (path === '') return 'it is empty';
  if (controls.test(path)) return 'it holds control characters';
  if (path.startsWith('/')) return 'it is absolute';
  if (Buffer.byteLength(path) > maxPath) return `it is longer than ${maxPath} bytes`;
  for (const name of path.split('/')) {
    if (name === '') return 'it holds //';
    if (name === '.' || name === '..') return `it holds ${name}`;
    if (name.toLowerCase() === '.git') return 'it lies in a folder .git';
    if (Buffer.byteLength(name) > maxName) return `a name in it is longer than ${maxName} bytes`;
  }
  return undefined;
}

/** `path` of a source without leading ./ and trailing /; empty for the whole tree. Undefined when it may not be used. */
export function folderPath(path: string | undefined): string | undefined {
  const parts = (path ?? '').split('/').filter((part) => part !== '' && part !== '.');
  const joined = parts.join('/');
  if (path?.startsWith('/') === true || (joined !== '' && problemOfPath(joined) !== undefined)) return undefined;
  return joined;
}
