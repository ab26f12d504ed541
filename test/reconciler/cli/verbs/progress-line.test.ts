// Progress of operations: one line of a terminal that is repainted, and a line for each text elsewhere.
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { progressLine } from '../../../../reconciler/cli/session/follow-operation.ts';
import type { Output } from '../../../../reconciler/cli/session/context.ts';
import type { Operation } from '../../../../server/api/operation.ts';

function shownOn(isTTY: boolean, texts: readonly string[]): string {
  let shown = '';
  const stderr = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        shown += chunk.toString();
        done();
      },
    }),
    { isTTY },
  );
  const io = { env: {}, stderr, raw: { stderr } };
  const line = progressLine({ io, isJson: false } as unknown as Output, (text) => (shown += `${text}\n`));
  for (const text of texts) line.onUpdate({ metadata: { fs_progress: text } } as unknown as Operation);
  line.clear();
  return shown.replaceAll('\r\u001b[K', '|');
}

const texts = ['c1: 1MB', 'c1: 2MB', 'c1: 2MB', 'c1: 3MB'];

test('a terminal shows one line, which is empty at the end', () => {
  expect(shownOn(true, texts)).toBe('|c1: 1MB|c1: 2MB|c1: 3MB|');
});

test('each new text is a line where there is no terminal', () => {
  expect(shownOn(false, texts)).toBe('c1: 1MB\nc1: 2MB\nc1: 3MB\n');
});
