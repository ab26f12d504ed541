// Answers with long lists are sent in parts, with the text that a short list would have.
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../server/api/endpoints/endpoint.ts';
import { answerResult } from '../../../server/http/answer.ts';
import { lxdDialect } from '../../../server/http/dialects/lxd.ts';
import { svcDialect } from '../../../server/http/dialects/svc.ts';
import { LongList } from '../../../server/lib/shared/long-list.ts';
import { silentLog } from '../../../server/lib/log.ts';

const containers = Array.from({ length: 2_300 }, (_, index) => ({ name: `c${index}`, description: 'ü"\u2028' }));
const endpoint = { id: 'containers.list', method: 'GET', path: '/1.0/containers' } as unknown as Endpoint;

/** What is handed to the connection. */
function sent(dialect: typeof svcDialect, metadata: unknown): unknown {
  let payload: unknown;
  const reply = {
    code: () => reply,
    headers: () => reply,
    type: () => reply,
    send: (body: unknown) => (payload = body),
  };
  const deps = { dialect, commonHeaders: () => ({}), log: silentLog, readable: (message: string) => message };
  const request = { headers: {} } as FastifyRequest;
  answerResult(deps, endpoint, request, reply as unknown as FastifyReply, { kind: 'sync', metadata });
  return payload;
}

const textOf = (payload: unknown): Promise<string> => text(payload as Readable);

describe.each([
  ['svc', svcDialect, {}],
  ['lxd', lxdDialect, { type: 'container' }],
])('answers in the dialect %s', (_name, dialect, added) => {
  const expected = containers.map((container) => ({ ...container, ...added }));

  test('a short list is one text', () => {
    const payload = sent(dialect, containers.slice(0, 2_000));
    expect(typeof payload).toBe('string');
    expect(JSON.parse(String(payload))).toMatchObject({ type: 'sync', metadata: expected.slice(0, 2_000) });
  });

  test('a long list is a stream of the same text, also if its members are made late', async () => {
    const payloads = [containers, LongList.of(containers, (container) => container)].map((list) => sent(dialect, list));
    for (const payload of payloads) expect(payload).toBeInstanceOf(Readable);
    const [known, late] = await Promise.all(payloads.map(textOf));
    expect(late).toBe(known);
    const envelope = JSON.parse(String(sent(dialect, expected.slice(0, 1)))) as object;
    expect(known).toBe(JSON.stringify({ ...envelope, metadata: expected }));
  });

  test('an empty list is whole', async () => {
    const nothing = await textOf(sent(dialect, LongList.of([], String)));
    expect(JSON.parse(nothing)).toMatchObject({ type: 'sync', metadata: [] });
  });
});
