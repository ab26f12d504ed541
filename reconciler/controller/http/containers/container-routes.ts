// Handlers for manual work on one container. They need the console right, and are off where consoles are off.
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import type { ContainerFull } from '../../../../server/api/container/container.ts';
import { containerPath } from '../../../../server/api/names.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { filesOf } from '../../../../server/client/files/container-files.ts';
import type { SnapshotRequest } from '../../contract/index.ts';
import type { Controller } from '../../controller.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';
import type { Handlers } from '../route.ts';
import type { HttpSettings } from '../settings.ts';
import { browse } from './browse.ts';
import { describeContainer } from './describe.ts';

export interface ContainerDeps {
  readonly controller: Pick<Controller, 'connection'>;
  readonly settings: Pick<HttpSettings, 'console'>;
  readonly nowMs: () => number;
}

type ContainerRoutes = Pick<
  Handlers,
  'containers' | 'power' | 'snapshot' | 'container-log' | 'files' | 'file' | 'upload'
>;

const graceS = 30;
/** The end of a longer log. */
const maxLogBytes = 512 * 1024;

export function containerRoutes({ controller, settings, nowMs }: ContainerDeps): ContainerRoutes {
  const on = async <T>(host: string, project: string | undefined, work: (client: Client) => Promise<T>): Promise<T> => {
    if (!settings.console)
      throw new Refusal(
        'forbidden',
        'Work in containers is off: set console: true in the controller part of gantry.yaml',
      );
    const connection = await controller.connection(host);
    try {
      return await work(project === undefined ? connection : connection.inProject(project));
    } catch (error) {
      throw error instanceof ClientError ? refusalOf(error, host) : error;
    }
  };
  const done = () => ({ at: new Date(nowMs()).toISOString() });
  return {
    containers: ({ params: { host }, query: { project }, signal }) =>
      on(host, project, async (client) => {
        const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
        const { metadata } = await client.http.send<readonly ContainerFull[] | null>(call, signal);
        return { ...done(), containers: (metadata ?? []).map(describeContainer) };
      }),
    power: ({ params: { host, name }, body: { action, force, project } }) =>
      on(host, project, async (client) => {
        const ends = action === 'stop' || action === 'restart';
        const how = !ends ? {} : force === true ? { force } : { timeout: graceS };
        await client.operations.run(() => client.putContainerState(name, { action, ...how }));
        return done();
      }),
    snapshot: ({ params: { host, name }, body }) =>
      on(host, body.project, async (client) => {
        await client.operations.run(() => changeSnapshot(client, name, body));
        return done();
      }),
    'container-log': ({ params: { host, name }, query: { project }, signal }) =>
      on(host, project, async (client) => {
        const { body } = await client.http.open({ method: 'GET', path: containerPath(name, 'console') }, signal);
        return {
          headers: { 'content-type': 'text/plain; charset=utf-8' },
          text: (await readText(body)).slice(-maxLogBytes),
        };
      }),
    files: ({ params: { host, name }, query: { path = '/', project }, signal }) =>
      on(host, project, (client) => browse(filesOf(client.http, name), absolute(path), signal)),
    file: ({ params: { host, name }, query: { path = '/', project }, signal }) =>
      on(host, project, async (client) => {
        const entry = await filesOf(client.http, name).read(absolute(path), signal);
        if (entry.type !== 'file') throw new Refusal('bad-request', `${path} is a ${entry.type}, not a file`);
        return {
          headers: {
            'content-type': 'application/octet-stream',
            'content-disposition': `attachment; filename*=UTF-8''${encodeName(path.split('/').at(-1) ?? 'file')}`,
            ...(entry.sizeBytes === undefined ? {} : { 'content-length': String(entry.sizeBytes) }),
          },
          text: '',
          stream: entry.body,
        };
      }),
    upload: ({ params: { host, name }, query: { path = '/', project }, request, signal }) =>
      on(host, project, async (client) => {
        if (!/^application\/octet-stream\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
          throw new Refusal('wrong-type', 'The body must be the file, with Content-Type: application/octet-stream');
        const length = Number(request.headers['content-length'] ?? NaN);
        const size = Number.isSafeInteger(length) ? { sizeBytes: length } : {};
        await filesOf(client.http, name).write(absolute(path), contentOf(request), size, signal);
        return done();
      }),
  };
}

/** A separate stream: if the host refuses the file, the connection must stay open for the answer. */
function contentOf(request: IncomingMessage): Readable {
  const content = new PassThrough();
  // Fails the upload, so that no half file is written.
  request.once('close', () => {
    if (!request.complete) content.destroy(new Error('the upload was broken off'));
  });
  content.once('error', () => request.unpipe(content));
  return request.pipe(content);
}

function changeSnapshot(client: Client, container: string, { action, name }: SnapshotRequest) {
  if (action === 'take')
    return client.http.send({
      method: 'POST',
      path: containerPath(container, 'snapshots'),
      json: name === undefined ? {} : { name },
    });
  if (name === undefined) throw new Refusal('bad-request', `To ${action} a snapshot the body needs its name`);
  if (action === 'restore') return client.put('container', container, { restore: name });
  return client.http.send({ method: 'DELETE', path: containerPath(container, 'snapshots', name) });
}

function absolute(path: string): string {
  if (!path.startsWith('/') || path.includes('\0'))
    throw new Refusal('bad-request', `The path ${JSON.stringify(path)} is not absolute: begin it with /`);
  return path;
}

const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const codes: Readonly<Record<number, RefusalCode>> = { 400: 'bad-request', 403: 'forbidden', 404: 'not-found' };

/** Passes on the host's message: the caller may work on that host. */
function refusalOf(error: ClientError, host: string): Refusal {
  const isAnswer = error.status >= 400 && error.status < 500;
  const code = codes[error.status] ?? (isAnswer || error.operation !== undefined ? 'conflict' : 'unavailable');
  return new Refusal(code, `${host}: ${error.message}`);
}
