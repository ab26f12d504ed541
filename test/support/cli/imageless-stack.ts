// Manifests for tests that run the programs: a pool, a profile and empty containers, which need no image and no network.

export const pool = (name = 'p1'): string => `---\nkind: storage_pool\nname: ${name}\ndriver: dir\n`;

export const profile = (body = ''): string => `---
kind: profile
name: small
config: { limits.memory: 64MiB }
devices:
  root: { type: disk, path: /, pool: p1 }
${body}`;

/** `more`: further lines of the document. */
export const container = (name: string, more = ''): string => `---
kind: container
name: ${name}
profiles: [small]
source: { type: none }
${more}`;

export const stack = (...more: readonly string[]): string => [pool(), profile(), ...more].join('');
