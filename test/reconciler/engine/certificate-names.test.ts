// The author of a change by the name of the certificate: in reports of watchers, in their log, and without a known name.
import { expect, test } from 'vitest';
import {
  describeSeen,
  nameSeen,
  seenIn,
  userText,
  type LifecycleChange,
} from '../../../reconciler/core/drift/lifecycle-changes.ts';
import { CertificateBook } from '../../../reconciler/engine/observe/certificate-names.ts';
import type { Client } from '../../../server/client/client.ts';

const print = 'ab'.repeat(32);
const stranger = 'cd'.repeat(32);
const at = '2030-01-31T08:31:02Z';

function seenOf(username: string, source = '/1.0/containers/web1'): LifecycleChange {
  const requestor = { username, protocol: 'tls', address: '192.0.2.7:51234' };
  const [seen] = seenIn({ action: 'container-updated', source, requestor }, at);
  if (seen === undefined) throw new Error('an update is seen');
  return seen;
}

/** Returns `answers` one after another, and counts the requests. */
function bookOf(...answers: readonly (readonly object[] | Error)[]): { book: CertificateBook; asked: () => number } {
  let count = 0;
  const list = async (): Promise<readonly object[]> => {
    const answer = answers[Math.min(count, answers.length - 1)] ?? [];
    count += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { book: new CertificateBook(list as unknown as Client['list']), asked: () => count };
}

const laptop = { fingerprint: print, name: 'laptop', type: 'client', certificate: '' };

test('A known certificate is shown by its name and a short fingerprint', async () => {
  const { book, asked } = bookOf([laptop]);
  const named = await book.name([seenOf(print), seenOf(stranger), seenOf('root')]);
  expect(named.map(describeSeen)).toEqual([
    `container-updated by certificate laptop (abababababab) from 192.0.2.7 at ${at}`,
    `container-updated by certificate cdcdcdcdcdcd from 192.0.2.7 at ${at}`,
    `container-updated by root from 192.0.2.7 at ${at}`,
  ]);
  await book.name([seenOf(print)]);
  expect(asked()).toBe(1);
});

test('Events without a certificate do not read the list', async () => {
  const { book, asked } = bookOf([laptop]);
  expect(await book.name([seenOf('root')])).toEqual([seenOf('root')]);
  expect(asked()).toBe(0);
});

test('A server that refuses the list leaves the fingerprint, and is asked once', async () => {
  const { book, asked } = bookOf(new Error('not allowed'));
  for (let turn = 0; turn < 3; turn += 1)
    expect((await book.name([seenOf(print)])).map(({ by }) => by)).toEqual(['certificate abababababab from 192.0.2.7']);
  expect(asked()).toBe(1);
});

test('A renewed or added certificate is shown by its new name', async () => {
  const { book } = bookOf([laptop], [{ ...laptop, name: 'desktop' }]);
  expect((await book.name([seenOf(print)]))[0]?.by).toContain('laptop');
  const renamed = seenIn({ action: 'certificate-updated', source: `/1.0/certificates/${print}` }, at);
  expect((await book.name([...renamed, seenOf(print)])).at(-1)?.by).toContain('certificate desktop (abababababab)');
});

test('An existing name stays, and control characters in a name are shown escaped', () => {
  const once = nameSeen(seenOf(print), new Map([[print, 'laptop']]));
  expect(nameSeen(once, new Map([[print, 'other']]))).toEqual(once);
  const hostile = nameSeen(seenOf(print), new Map([[print, 'a\u001b[2Jb\nc']]));
  // oxlint-disable-next-line no-control-regex
  expect(describeSeen(hostile)).not.toMatch(/[\u0000-\u001f]/);
  expect(userText(print)).toBe('certificate abababababab');
  expect(userText(print, new Map([[print, '']]))).toBe('certificate abababababab');
});
