// Uploads where the file system has no unnamed files: a temporary name, which is removed even after a kill.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openUnnamed } from '../../../server/drivers/files/unnamed-file.ts';
import { fill } from '../../../server/drivers/files/copy-bytes.ts';
import { below, holdEntry, type HeldEntry } from '../../../server/drivers/files/held-entry.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let dir = '';
let parent: HeldEntry;
beforeEach(() => {
  dir = tempFolder('gantry-temporary-');
  parent = holdEntry(Buffer.from(dir));
});
afterEach(() => {
  parent.close();
  rmSync(dir, { recursive: true });
});

const name = Buffer.from('file');
/** Without the system calls that link an unnamed file. */
const open = () =>
  openUnnamed({ found: { parent, name, entry: undefined, close() {} }, native: undefined, making: (work) => work() });
const { signal } = new AbortController();

test('a complete file replaces the old one, and has a temporary name until then', async () => {
  writeFileSync(join(dir, 'file'), 'old');
  const file = open();
  await fill(file.fd, Readable.from([Buffer.from('new')]), signal);
  expect(readFileSync(join(dir, 'file'), 'utf8')).toBe('old');
  expect(readdirSync(dir)).toHaveLength(2);
  file.moveTo(below(parent, name));
  file.close();
  expect([readdirSync(dir), readFileSync(join(dir, 'file'), 'utf8')]).toEqual([['file'], 'new']);
});

test('a complete file takes a free name, and leaves one that is taken', async () => {
  const at = below(parent, name);
  for (const [content, isNamed] of [
    ['first', true],
    ['second', false],
  ] as const) {
    const file = open();
    await fill(file.fd, Readable.from([Buffer.from(content)]), signal);
    expect(file.moveToFree(at)).toBe(isNamed);
    file.close();
  }
  expect([readdirSync(dir), readFileSync(join(dir, 'file'), 'utf8')]).toEqual([['file'], 'first']);
});

test('a file that was not moved leaves nothing behind', () => {
  open().close();
  expect(readdirSync(dir)).toEqual([]);
});

test('the next upload removes leftovers of a killed daemon, but no running uploads and no files of others', () => {
  const killed = '.gantry-upload-01234567-89ab-cdef-0123-456789abcdef';
  for (const each of [killed, '.gantry-upload-mine', 'gantry-upload']) writeFileSync(join(dir, each), '');
  const [first, second] = [open(), open()];
  const names = readdirSync(dir);
  expect(names).not.toContain(killed);
  expect(names).toEqual(expect.arrayContaining(['.gantry-upload-mine', 'gantry-upload']));
  expect(names).toHaveLength(4);
  first.close();
  second.close();
});
