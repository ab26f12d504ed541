// An update refuses to undo what somebody else wrote between the plan and the apply.
import { describe, expect, test, vi } from 'vitest';
import { DiagnosticError } from '../../../provider/framework/diagnostic.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { certificate } from '../../../provider/resources/certificate.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { snapshot } from '../../../provider/resources/container/snapshot.ts';
import { serverConfig } from '../../../provider/resources/server-config.ts';

type Update = Parameters<AnyResource<Link>['update']>;

/** The message and the body of an update on a server that has `live`. */
async function updated(resource: AnyResource<Link>, live: object, prior: object, planned: object) {
  const put = vi.fn(async (_body: unknown) => ({}));
  const send = (call: { readonly method: string; readonly json?: unknown }) =>
    call.method === 'GET' ? Promise.resolve({ metadata: live, etag: 'now' }) : put(call.json);
  const link = {
    client: {
      get: async () => ({ metadata: live, etag: 'now' }),
      put: (_kind: string, _name: string, body: unknown) => put(body),
      http: { send },
      operations: { run: (begin: () => Promise<unknown>) => begin() },
    },
    server: { api_extensions: ['certificate_project', 'projects'], environment: {} },
    reader: { written() {} },
    activity: { during: (work: () => Promise<unknown>) => work() },
  };
  const { signal } = new AbortController();
  const context = { client: link, signal, stopping: signal, privateData: { etag: 'of the plan' }, warn() {} };
  const noScope = { remote: null };
  const wanted = { planned: { ...noScope, ...planned }, config: planned } as unknown as Update[0];
  const error: unknown = await resource.update(wanted, { ...noScope, ...prior }, context as unknown as Update[2]).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const said = error instanceof DiagnosticError ? error.diagnostics.map(({ detail }) => detail).join() : error;
  return { said, body: put.mock.calls[0]?.[0] };
}

describe('a certificate', () => {
  const state = { name: 'ci', certificate: 'x', type: 'client', restricted: true, projects: ['a'], fingerprint: 'f' };
  const planned = { ...state, name: 'build' };

  test.each([
    ['projects', { projects: ['a', 'b'] }],
    ['restricted', { restricted: false }],
    ['type', { type: 'metrics' }],
    ['name', { name: 'theirs' }],
  ])('Another value of %s that somebody wrote since the plan refuses the update', async (what, theirs) => {
    const { said, body } = await updated(certificate, { ...state, ...theirs }, state, planned);
    expect(said).toContain(`Someone else changed ${what}.`);
    expect(body).toBeUndefined();
  });

  test('A certificate that has the planned values already is no conflict', async () => {
    const { said, body } = await updated(certificate, planned, state, planned);
    expect(said).toBeUndefined();
    expect(body).toMatchObject({ name: 'build', restricted: true, projects: ['a'] });
  });
});

describe('config of the server', () => {
  const noPassword = { trust_password: null, trust_password_version: null };
  const stateOf = (config: Readonly<Record<string, string>>) => ({ name: 'server', config, ...noPassword });
  const before = stateOf({ 'core.https_address': ':8443', 'images.auto_update_interval': '6' });
  const wanted = stateOf({ 'core.https_address': ':9443' });

  test.each([
    ['core.https_address', ':7443'],
    ['images.auto_update_interval', '12'],
  ])('Another value of %s that somebody wrote since the plan refuses the update', async (key, value) => {
    const live = { config: { ...before.config, [key]: value } };
    const { said, body } = await updated(serverConfig, live, before, wanted);
    expect(said).toContain(`Someone else changed config["${key}"].`);
    expect(body).toBeUndefined();
  });

  test.each([
    ['as planned', { ...before.config, 'user.other': '1' }],
    ['written already', { 'core.https_address': ':9443', 'user.other': '1' }],
  ])('Config that is %s is written, and other keys stay', async (_what, config) => {
    expect(await updated(serverConfig, { config }, before, wanted)).toEqual({
      said: undefined,
      body: { config: { 'core.https_address': ':9443', 'user.other': '1' } },
    });
  });
});

describe('a deletion', () => {
  test.each([
    ['container', container],
    ['snapshot', snapshot],
  ])(
    'A %s that was made after the plan in place of the planned one stays',
    async (what, resource: AnyResource<Link>) => {
      const deletions = { of: 0 };
      const remover = async (): Promise<object> => ((deletions.of += 1), {});
      const metadata = { name: 'a', status: 'Stopped', created_at: 'later' };
      const client = {
        get: async () => ({ metadata }),
        delete: remover,
        operations: { run: (begin: () => Promise<unknown>) => begin() },
        http: {
          send: (call: { readonly method: string }) =>
            call.method === 'GET' ? Promise.resolve({ metadata }) : remover(),
        },
      };
      const activity = { during: (work: () => Promise<unknown>) => work() };
      const { signal } = new AbortController();
      const link = { client, activity, reader: { written() {} } };
      const context = { client: link, signal, stopping: signal, privateData: {}, warn() {} };
      const remove = (born: string | null): Promise<void> =>
        resource.delete(
          { remote: null, project: null, container: 'c', name: 'a', created_at: born, stop_timeout: 0 },
          context as unknown as Parameters<AnyResource<Link>['delete']>[1],
        );
      await expect(remove('before')).rejects.toThrow(`The ${what} a is another one than at the plan`);
      expect(deletions.of).toBe(0);
      for (const born of ['later', null]) await remove(born);
      expect(deletions.of).toBe(2);
    },
  );
});
