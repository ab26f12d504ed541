// Paths in a container. Pure.

export interface Crumb {
  readonly title: string;
  readonly path: string;
}

export function crumbsOf(path: string): readonly Crumb[] {
  const parts = path.split('/').filter(Boolean);
  const below = parts.map((title, at) => ({ title, path: `/${parts.slice(0, at + 1).join('/')}` }));
  return [{ title: '/', path: '/' }, ...below];
}

export const joined = (directory: string, name: string): string => `${directory.replace(/\/+$/, '')}/${name}`;

/** The target of a link, with `..` and `.` resolved as far as the path alone allows. */
export function resolved(link: string, target: string): string {
  const from = target.startsWith('/') ? '' : link.split('/').slice(0, -1).join('/');
  const parts: string[] = [];
  for (const part of `${from}/${target}`.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
