// Recorded output of a command is bounded: the excess is dropped and reported, and the command runs to its end.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxRecordedBytes, recordOutput } from '../../../server/services/containers/exec/record-output.ts';
import { makeSeeded, realRuntimeMissing, setState, type TestDaemon } from '../../support/daemons/daemon.ts';
import { busyboxContainer } from '../../support/hostile/busybox-container.ts';
import { tempFolder } from '../../support/temp-folder.ts';

test('a stream is cut at the limit, in the middle of a chunk, and the rest is counted', async () => {
  const dir = tempFolder('gtya-recorded-');
  const record = async (pieces: string[]): Promise<[number, string]> => {
    const dropped = await recordOutput(Readable.from(pieces.map((piece) => Buffer.from(piece))), join(dir, 'f'), 5);
    return [dropped, readFileSync(join(dir, 'f'), 'utf8')];
  };
  expect(await record(['abc', 'def', 'ghi'])).toEqual([4, 'abcde']);
  expect(await record(['abcde'])).toEqual([0, 'abcde']);
  expect(await record([])).toEqual([0, '']);
});

const missing = await realRuntimeMissing();

describe.skipIf(missing !== undefined)('a command in a real container', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    await busyboxContainer(daemon, 'c1', 'lxc');
    expect((await setState(daemon, 'c1', 'start')).err).toBe('');
  });
  afterAll(() => daemon?.cleanUp());

  test('a command in a real container with more output than the limit runs to its end; metadata and log have the number of dropped bytes', async () => {
    const more = 100_000;
    const script = `head -c ${maxRecordedBytes + more} /dev/zero; echo end >&2; exit 3`;
    const body = { command: ['sh', '-c', script], 'record-output': true };
    const { metadata } = await daemon.ok('POST', '/1.0/containers/c1/exec', body);
    expect(metadata).toMatchObject({ return: 3, output_dropped_bytes: { '1': more, '2': 0 } });
    const output = metadata?.['output'] as Record<string, string>;
    expect((await daemon.call('GET', output['1'] ?? '')).bytes.length).toBe(maxRecordedBytes);
    expect((await daemon.call('GET', output['2'] ?? '')).bytes.toString()).toBe('end\n');
    expect(daemon.logged.some((line) => /stdout of the command .* was cut: 100000 bytes/.test(line))).toBe(true);
  });
});
