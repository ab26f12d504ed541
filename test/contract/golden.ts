// Compares a text with the file of that name under test/golden/contract; UPDATE=1 writes the file instead.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'vitest';

export function golden(name: string, actual: string): void {
  const file = new URL(`../golden/contract/${name}`, import.meta.url).pathname;
  if (process.env['UPDATE'] === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, actual);
  }
  expect(existsSync(file), `${name} has no golden file: run with UPDATE=1 and review it`).toBe(true);
  expect(actual).toBe(readFileSync(file, 'utf8'));
}
