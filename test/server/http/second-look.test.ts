// A refusal based on a member's own view is checked again: sent on, retried here, kept, or called uncertain.
import { describe, expect, test } from 'vitest';
import { AppError, errors } from '../../../server/api/errors.ts';
import type { Cluster } from '../../../server/membership/cluster.ts';
import type { Member } from '../../../server/membership/members.ts';
import { lookAgain, type RefusedRequest } from '../../../server/http/second-look.ts';

const other = { name: 'm3', number: 3 } as Member;
const asked = (id: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path = '/1.0/containers/:name') => ({
  endpoint: { id, method, path, query: [] },
  params: { name: 'web' },
  query: {},
});
const patch = asked('containers.patch', 'PATCH');
const refused = (more: Partial<RefusedRequest> = {}): RefusedRequest => ({
  asked: patch,
  request: { headers: { 'content-length': '2' } },
  body: {},
  isForwarded: true,
  ...more,
});
const clusterOf = (member: Member | undefined, answers = true, isOn = true) =>
  ({ isOn, readBarrier: () => Promise.resolve(answers), routing: { memberFor: () => member } }) as unknown as Cluster;
const absent = errors.notFound('container', 'web');

describe('a container that was not found', () => {
  test('is requested from the member that has it now, even if it moved while the request waited', async () => {
    for (const error of [absent, errors.moved('web')])
      expect(await lookAgain(clusterOf(other), refused(), error)).toEqual({ at: other });
  });

  test('is recognised by the missing object of the error, not by its text', async () => {
    const reworded = new AppError('notFound', 'no such machine', { missing: { kind: 'container', name: 'web' } });
    expect(await lookAgain(clusterOf(other), refused(), reworded)).toEqual({ at: other });
    const same = new AppError('notFound', absent.message);
    await expect(lookAgain(clusterOf(other), refused(), same)).rejects.toBe(same);
  });

  test('is looked up here again when no other member has it: this member may have been behind', async () => {
    expect(await lookAgain(clusterOf(undefined), refused(), absent)).toEqual({ at: 'here' });
  });

  test('may exist while the store does not answer, so a change is not answered with not found', async () => {
    const looked = lookAgain(clusterOf(undefined, false), refused(), absent);
    await expect(looked).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('The store of the cluster does not answer') as string,
    });
    const read = refused({ asked: asked('containers.get', 'GET') });
    await expect(lookAgain(clusterOf(undefined, false), read, absent)).rejects.toBe(absent);
  });

  test('is published by the member that has it, if the request names its type', async () => {
    const { endpoint } = asked('images.create', 'POST', '/1.0/images');
    const publish = { asked: { endpoint: { ...endpoint, placedBy: 'source' as const }, params: {}, query: {} } };
    const at = (member: Member | undefined) =>
      ({
        isOn: true,
        readBarrier: () => Promise.resolve(true),
        routing: { memberOfContainer: (name: string) => (name === 'web' ? member : undefined) },
      }) as unknown as Cluster;
    expect(await lookAgain(at(other), refused(publish), errors.moved('web'))).toEqual({ at: other });
    const untyped = refused({ ...publish, body: undefined });
    await expect(lookAgain(at(other), untyped, errors.moved('web'))).rejects.toThrow(
      'The container web is on the member m3: send the request with the content type application/json',
    );
    await expect(lookAgain(at(undefined), untyped, absent)).rejects.toBe(absent);
    const noImage = errors.notFound('image', 'web');
    await expect(lookAgain(at(other), refused(publish), noImage)).rejects.toBe(noImage);
  });

  test('is not followed endlessly, and not with a stream that was read in part', async () => {
    const far = refused({ request: { headers: { 'x-gantry-hops': '4' } } });
    await expect(lookAgain(clusterOf(other), far, absent)).rejects.toThrow('moved to another member');
    const stranger = refused({ request: { headers: { 'x-gantry-hops': '4' } }, isForwarded: false });
    expect(await lookAgain(clusterOf(other), stranger, absent)).toEqual({ at: other });
    const stream = refused({ body: undefined, request: { headers: { 'transfer-encoding': 'chunked' } } });
    await expect(lookAgain(clusterOf(other), stream, absent)).rejects.toThrow('send it again');
  });
});

test('a taken name is retried once this member has caught up with the others', async () => {
  const exists = errors.exists('container', 'web');
  const post = asked('containers.create', 'POST', '/1.0/containers');
  const create = refused({ asked: { ...post, endpoint: { ...post.endpoint, placedBy: 'body' } } });
  expect(await lookAgain(clusterOf(undefined), create, exists)).toEqual({ at: 'here' });
  await expect(lookAgain(clusterOf(undefined), { ...create, body: undefined }, exists)).rejects.toBe(exists);
});

test('other refusals stand: of a snapshot, of an If-Match, of a single host', async () => {
  const others = [errors.notFound('snapshot', 's1'), errors.preconditionFailed('container', 'web'), new Error('no')];
  for (const error of others) await expect(lookAgain(clusterOf(other), refused(), error)).rejects.toBe(error);
  await expect(lookAgain(clusterOf(other, true, false), refused(), absent)).rejects.toBe(absent);
});
