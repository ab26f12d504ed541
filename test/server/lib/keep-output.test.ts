// Output of a program that has ended before it is read.
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { keepOutput } from '../../../server/lib/buffer-output.ts';
import { readFrom } from '../../../server/drivers/storage/trees/stream.ts';
import { until } from '../../support/until.ts';

const ended = (child: { readonly exitCode: number | null }): Promise<void> => until(() => child.exitCode !== null);

test('reaches a reader who comes late', async () => {
  const child = spawn('echo', ['hello'], { stdio: ['ignore', 'pipe', 'ignore'] });
  keepOutput(child.stdout);
  await ended(child);
  // The event loop turn in which Node would discard it.
  await new Promise((resolve) => setImmediate(resolve));
  let text = '';
  for await (const chunk of child.stdout) text += String(chunk);
  expect(text).toBe('hello\n');
});

test('the output of a tree is complete when its consumer has to open a file first', async () => {
  for (let round = 0; round < 20; round++) {
    let text = '';
    const consume = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      for await (const chunk of bytes) text += chunk.toString();
    };
    const command = { argv: ['echo', 'a small stream'], confinement: { writes: [] } };
    await readFrom(command, (how) => how.code === 0, consume, new AbortController().signal);
    expect(text).toBe('a small stream\n');
  }
});
