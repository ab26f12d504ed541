// The parts of a daemon that stops, or whose start failed: each is closed, the last one first.
import { expect, test } from 'vitest';
import { OpenParts } from '../../../server/daemon/open-parts.ts';

function partly(): { readonly open: OpenParts; readonly closed: string[] } {
  const [open, closed]: [OpenParts, string[]] = [new OpenParts(), []];
  open.add(() => void closed.push('store'));
  open.add(async () => Promise.reject(new Error('the socket is gone')));
  open.add(() => {
    throw new Error('no answer');
  });
  open.add(async () => void closed.push('listeners'));
  return { open, closed };
}

test('a part that fails to close does not keep the others open, and the error names each that failed', async () => {
  const { open, closed } = partly();
  await expect(open.closeAll()).rejects.toThrow('no answer; the socket is gone');
  expect(closed).toEqual(['listeners', 'store']);
  await open.closeAll();
});

test('parts are abandoned without an error', async () => {
  const { open, closed } = partly();
  await open.abandon();
  expect(closed).toEqual(['listeners', 'store']);
});
