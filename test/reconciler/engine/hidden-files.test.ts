// Files of a stopped container below its disk devices: plans leave them as they are, and nothing writes to the directory that the mount hides.
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../reconciler/core/documents/document.ts';
import { observeInside, type InsideClient } from '../../../reconciler/engine/observe/observe-inside.ts';
import type { StepContext } from '../../../reconciler/engine/steps/context.ts';
import { pushFiles } from '../../../reconciler/engine/steps/push-files.ts';
import type { FilesStep } from '../../../reconciler/core/plan/plan.ts';
import { document, liveContainer, liveProfile, world } from '../../support/fakes/worlds.ts';

const signal = new AbortController().signal;
const devices = { data: { type: 'disk', pool: 'default', source: 'data', path: 'srv/data/' } };
const declared = { type: 'file', content: `sha256:${'1'.repeat(64)}`, mode: '0600', uid: 1, gid: 1 } as const;

/** A server on which each path is an empty file; `asked` lists its requests for files. */
function server(status: 'Running' | 'Stopped') {
  const asked: string[] = [];
  const code = status === 'Running' ? 103 : 102;
  const live = liveContainer('c1', { status, status_code: code, devices });
  const observed = world({ profiles: [liveProfile('default')], containers: [live] });
  const http = {
    open: async ({ method, query }: { readonly method: string; readonly query: { readonly path: string } }) => {
      asked.push(`${method} ${query.path}`);
      return { status: 200, headers: { 'x-svc-type': 'file', 'x-svc-mode': '0644' }, body: Readable.from([]) };
    },
    send: async ({ method, query }: { readonly method: string; readonly query: { readonly path: string } }) => {
      asked.push(`${method} ${query.path}`);
      return {};
    },
  };
  const client = { http, get: async () => ({ metadata: observed.containers.get('c1')?.object }) };
  return { asked, observed, client };
}

describe('a file on a disk device', () => {
  const files: JsonObject = { '/srv/data/a': { ...declared }, '/srv/b': { ...declared } };
  const read = async (status: 'Running' | 'Stopped') => {
    const { asked, observed, client } = server(status);
    const documents = [document('container', 'c1', { files, devices })];
    const request = { documents, set: 'default', nowMs: 0 };
    const seen = await observeInside(client as unknown as InsideClient, observed, request, signal);
    const object = seen.containers.get('c1')?.object as JsonObject | undefined;
    return { asked, found: object?.['files'] };
  };

  test('A plan reads it from a running container, and takes it as declared in a stopped one', async () => {
    const empty = { type: 'file', mode: '0644', uid: 0, gid: 0, content: expect.stringMatching(/^sha256:e3b0/) };
    const running = await read('Running');
    expect(running.found).toEqual({ '/srv/data/a': empty, '/srv/b': empty });
    const stopped = await read('Stopped');
    expect(stopped.found).toEqual({ '/srv/data/a': declared, '/srv/b': empty });
    expect(stopped.asked).toEqual(['GET /srv/b']);
  });

  const push = (status: 'Running' | 'Stopped', path: string) => {
    const { asked, client } = server(status);
    const write = { path, entry: { type: 'file' }, content: { text: 'x' } } as const;
    const step = { action: 'files', name: 'c1', writes: [write], removes: [] } as unknown as FilesStep;
    const context = { client, onProgress: () => {} } as unknown as StepContext;
    return { asked, pushed: pushFiles(context, step, signal) };
  };

  test('A write to a stopped container is refused with its device, and nothing is written', async () => {
    const { asked, pushed } = push('Stopped', '/srv/data/a');
    await expect(pushed).rejects.toThrow(
      /^\/srv\/data\/a of container c1 is on its disk device data, which is mounted at \/srv\/data only while .* start the container first, or write the file to the source/,
    );
    expect(asked).toEqual(['GET /srv/data/a']);
  });

  test.each([
    ['Running', '/srv/data/a'],
    ['Stopped', '/srv/database'],
  ] as const)('A write to a container with status %s reaches %s', async (status, path) => {
    const { asked, pushed } = push(status, path);
    await pushed;
    expect(asked).toContain(`POST ${path}`);
  });
});
