// The in-memory world behind the fake HTTP server: a daemon for tests of the CLI that need one.
import { ClientError } from '../../../server/client/client-error.ts';
import { kindNames, kinds, type KindName } from '../../../server/api/kinds.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import { FakeDaemon, type FakeAnswer, type FakeDaemonOptions, type FakeRequest } from './http-daemon.ts';
import type { FakeWorld } from './client.ts';

const kindOf = new Map<string, KindName>(kindNames.map((kind) => [kinds[kind].collection, kind]));

export function startWorldDaemon(world: FakeWorld, options: FakeDaemonOptions = {}): Promise<FakeDaemon> {
  return new FakeDaemon({
    ...options,
    fallback: async (request) => {
      try {
        return await answer(world, request);
      } catch (error) {
        if (!(error instanceof ClientError)) return { error: 500, message: String(error), code: 'internal' };
        if (error.status === 0) return { hangUp: true };
        return { error: error.status, code: error.code, message: error.message };
      }
    },
  }).start();
}

async function answer(world: FakeWorld, request: FakeRequest): Promise<FakeAnswer | undefined> {
  const { client } = world;
  const { method, path } = request;
  if (path === '/1.0' && method === 'GET') return sync(await client.server());
  if (path === '/1.0' && method === 'PATCH') {
    const ifMatch = request.headers['if-match'];
    const body = JSON.parse(request.body.toString('utf8')) as never;
    return sync(await client.patchServer(body, ifMatch === undefined ? {} : { ifMatch }));
  }
  const isCollection = kindOf.get(path);
  if (isCollection !== undefined && method === 'GET') return { sync: await client.list(isCollection) };
  if (isCollection === 'image' && method === 'POST') {
    const fingerprint = String(request.headers['x-svc-fingerprint']);
    return sync(await client.uploadImage({ files: { file: '' }, fingerprint }));
  }
  const json = (): never => JSON.parse(request.body.toString('utf8')) as never;
  if (isCollection !== undefined && method === 'POST') return sync(await client.create(isCollection, json()));
  const match = /^(.*?)\/([^/]+)(\/state)?$/.exec(path);
  const kind = kindOf.get(match?.[1] ?? '');
  const name = decodeURIComponent(match?.[2] ?? '');
  if (kind === undefined) return undefined;
  if (match?.[3] !== undefined) {
    return sync(method === 'GET' ? await client.containerState(name) : await client.putContainerState(name, json()));
  }
  if (method === 'POST') return sync(await client.rename(kind, name, (json() as { name: string }).name));
  const ifMatch = request.headers['if-match'];
  if (method === 'GET') return sync(await client.get(kind, name));
  if (method === 'PUT') return sync(await client.put(kind, name, json(), ifMatch === undefined ? {} : { ifMatch }));
  return method === 'DELETE' ? sync(await client.delete(kind, name)) : undefined;
}

const sync = (reply: Reply<unknown>): FakeAnswer => ({
  sync: reply.metadata,
  ...(reply.etag === undefined ? {} : { headers: { etag: reply.etag } }),
});
