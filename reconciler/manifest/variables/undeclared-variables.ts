// Reports undeclared variables: a misspelled name would otherwise be written as text.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import type { Finding } from '../text/finding.ts';
import type { Variables } from './variables.ts';

const pattern = /(\$?)\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** Scripts and files contain dollars themselves, so only names close to a declared one are reported there. */
const isScript = (path: string, text: string): boolean =>
  text.includes('\n') ||
  /^(exec|files)\.|^config\.(cloud-init\.|raw\.|user\.(user|vendor|meta)-data|user\.network-config)/.test(path);

/** A finding for each undeclared name, at its first place. `declared`: the variables of this load. */
export function undeclaredVariables(value: Json, declared: Variables): readonly Finding[] {
  const found = new Map<string, Finding>();
  visit(value, [], (path, text) => {
    for (const [whole, escape, braced, bare] of text.matchAll(pattern)) {
      const name = braced ?? bare ?? '';
      if (escape === '$' || declared.has(name) || found.has(name)) continue;
      const near = hint(name, declared.keys());
      const isOwn = isScript(path, text);
      if (near !== '' || !isOwn) found.set(name, undeclared(path, whole, name, near, isOwn));
    }
  });
  return [...found.values()];
}

/** A misspelled name is an error; in a script, which may have its own variable, a warning. */
const undeclared = (path: string, whole: string, name: string, near: string, isOwn: boolean): Finding => ({
  severity: near === '' || isOwn ? 'warning' : 'error',
  code: 'undeclared-variable',
  path,
  message: `there is no variable ${name}${near}: ${whole} is left as it is`,
  remedy: `declare ${name} in a kind: vars document or with --var; a dollar that is meant as one may stay`,
});

/** Builds the path only for texts with a dollar: most documents have none. */
function visit(value: Json, path: readonly string[], look: (path: string, text: string) => void): void {
  if (typeof value === 'string') {
    if (value.includes('$')) look(path.join('.'), value);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) visit(item, [...path, key], look);
  }
}
