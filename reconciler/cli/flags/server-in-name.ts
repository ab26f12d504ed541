// Refuses a server before the name of a container, as lxc writes it (`prod:web`), and a path behind a colon, as docker and kubectl
// write it (`web:/etc/hosts`). Pure.
import { usageError } from '../errors/usage-error.ts';

/** No container has a colon in its name. `flag`: it names the server here. */
export function refuseServerInName(text: string, flag = '--host'): void {
  const [, before, behind = ''] = /^([^/:]*):(.*)$/s.exec(text) ?? [];
  if (before !== undefined) throw usageError(`${JSON.stringify(text)} ${remedyOf(before, behind, flag)}`);
}

function remedyOf(before: string, behind: string, flag: string): string {
  if (before === '') return 'begins with a colon, which no name of a container has';
  if (behind.startsWith('/')) return `has a colon before the path: write ${before}${behind}`;
  if (before === 'local')
    return `has a server before the name: write ${behind === '' ? 'no word here' : behind} for the server in use`;
  const name = behind === '' ? '' : `${behind} `;
  return `has a server before the name: write ${name}${flag} ${before}, with a context (gantry context list) or an address`;
}
