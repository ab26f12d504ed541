// An in-memory stand-in for the client, for tests of the engine: stores objects like a daemon, and can fail at the n-th change, before
// or after its effect.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Container, ContainerState } from '../../../server/api/container/container.ts';
import type { NetworkLease } from '../../../server/api/network/network.ts';
import type { Operation } from '../../../server/api/operation.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { EngineClient } from '../../../reconciler/engine/steps/context.ts';

type Obj = Record<string, unknown>;

const root = { type: 'disk', path: '/', pool: 'default' };
export type FaultKind = 'before' | 'after' | 'refused';

export class FakeWorld {
  readonly objects: Record<KindName, Map<string, Obj>> = {
    container: new Map(),
    profile: new Map([['default', { name: 'default', description: '', config: {}, devices: { root }, used_by: [] }]]),
    network: new Map(),
    network_acl: new Map(),
    storage_pool: new Map(),
    image: new Map(),
    image_alias: new Map(),
    certificate: new Map(),
    storage_volume: new Map(),
    server_config: new Map(),
    project: new Map(),
  };
  /** Changing calls in order: `create container/web1`. */
  readonly changes: string[] = [];
  /** Called before each changing call takes effect; may throw or wait. */
  beforeChange: ((what: string, signal: AbortSignal | undefined) => void | Promise<void>) | undefined;
  /** Called between the read and the write of an update. */
  beforePut: ((kind: KindName, name: string) => void) | undefined;
  fault: { at: number; kind: FaultKind } | undefined;
  addresses = new Map<string, string>();
  /** The result of a command in any container: its exit code and its output. */
  command: (command: readonly string[], signal: AbortSignal | undefined) => Promise<{ code: number; output?: string }> =
    async () => ({ code: 0 });
  /** Content by path of the API: `/1.0/containers/c1/console`, `/1.0/containers/c1/files?/etc/motd`. */
  readonly contents = new Map<string, string>();
  readonly leases = new Map<string, readonly NetworkLease[]>();
  /** Containers whose clean stop fails, as if they ignored the signal. */
  stubborn = new Set<string>();
  /** The config of the server; changed by patchServer, which does not count among `changes`. */
  config: Record<string, string> = {};
  serverWrites = 0;
  /** Called before each write of the server config takes effect; may throw. */
  beforePatch: (() => void) | undefined;
  #starts = 0;
  exitsAtStart = new Set<string>();
  running = 0;
  maxRunning = 0;
  #count = 0;

  get client(): EngineClient {
    const unused = (): never => {
      throw new Error('not part of this fake');
    };
    return {
      inProject: unused,
      members: unused,
      patch: unused,
      server: async () =>
        reply(
          { auth: 'trusted', api_extensions: ['etag'], config: { ...this.config } } as never,
          etagOf({ ...this.config }),
        ),
      patchServer: async (body, options) => {
        this.beforePatch?.();
        if (options?.ifMatch !== undefined && options.ifMatch !== etagOf({ ...this.config }))
          throw refusal(412, 'preconditionFailed');
        this.serverWrites += 1;
        for (const [key, value] of Object.entries(body.config ?? {})) {
          if (value === '' || value === null) delete this.config[key];
          else this.config[key] = value as string;
        }
        return reply({});
      },
      list: async (kind) =>
        [...this.objects[kind].values()].map((object) => structuredClone(this.#shown(kind, object))) as never,
      get: async (kind, name) => {
        const object = this.#find(kind, name);
        return reply(structuredClone(this.#shown(kind, object)) as never, etagOf(object));
      },
      create: (kind, body, _options, signal) => {
        const name = (body as { name: string }).name;
        return this.#change(`create ${kind}/${name}`, signal, () => this.#create(kind, name, body));
      },
      put: (kind, name, body, options, signal) => {
        this.beforePut?.(kind, name);
        return this.#change(`put ${kind}/${name}`, signal, () => {
          const object = this.#find(kind, name);
          if (options?.ifMatch !== undefined && options.ifMatch !== etagOf(object))
            throw refusal(412, 'preconditionFailed');
          Object.assign(object, structuredClone(body));
        });
      },
      delete: (kind, name, signal) =>
        this.#change(`delete ${kind}/${name}`, signal, () => {
          const object = this.#find(kind, name);
          if (object['status'] === 'Running') throw refusal(400, 'running');
          if (this.#users(kind, name).length > 0) throw refusal(400, 'inUse');
          this.objects[kind].delete(name);
        }),
      rename: (kind, name, newName, signal) =>
        this.#change(`rename ${kind}/${name} to ${newName}`, signal, () => {
          const object = this.#find(kind, name);
          if (this.objects[kind].has(newName)) throw refusal(409, 'exists', `${newName} already exists`);
          if (object['status'] === 'Running') throw refusal(400, 'running');
          object['name'] = newName;
          this.objects[kind].delete(name);
          this.objects[kind].set(newName, object);
        }),
      containerState: async (name) => reply(this.#state(name)),
      putContainerState: (name, body, signal) =>
        this.#change(`${body.action}${body.force === true ? ' by force' : ''} container/${name}`, signal, () => {
          const container = this.#find('container', name);
          if (body.action !== 'start' && body.force !== true && this.stubborn.has(name)) {
            throw new ClientError('operationFailed', 'it did not stop in time', { status: 400 });
          }
          const runs = body.action !== 'stop' && !this.exitsAtStart.has(name);
          setStatus(container, runs);
          if (runs) container['last_used_at'] = `start ${(this.#starts += 1)}`;
        }) as Promise<Reply<Operation>>,
      uploadImage: (upload, signal) =>
        this.#change(`upload image/${upload.fingerprint ?? ''}`, signal, () => {
          const fingerprint = upload.fingerprint ?? '';
          if (this.objects.image.has(fingerprint))
            throw new ClientError('operationFailed', 'the image already exists', { status: 400 });
          const fields = {
            aliases: [],
            architecture: 'x86_64',
            auto_update: false,
            cached: false,
            filename: 'f',
            size: 1,
          };
          const times = { created_at: '', expires_at: '', last_used_at: '', uploaded_at: '' };
          const properties = upload.properties ?? {};
          this.objects.image.set(fingerprint, {
            fingerprint,
            ...fields,
            ...times,
            properties,
            public: upload.public ?? false,
          });
        }) as Promise<Reply<Operation>>,
      operations: {
        run: async (begin) => begin(),
        wait: unused,
        get: unused,
        list: async () => [],
        cancel: unused,
      },
      exec: async (_name, { command, stdout }, signal) => {
        const { code, output = '' } = await this.command(command, signal);
        stdout.write(output);
        return {
          exited: Promise.resolve(code),
          outputBytes: () => output.length,
          resize: unused,
          signal: unused,
          close: () => {},
        };
      },
      // Sends no events: a run has to poll.
      events: async function* () {},
      networkLeases: async (name) => this.leases.get(name) ?? unused(),
      http: {
        send: unused,
        open: async ({ path, query }) => {
          const asked = query?.['path'] === undefined ? path : `${path}?${query['path']}`;
          const content = this.contents.get(asked);
          if (content === undefined) throw refusal(404, 'notFound', `${asked} was not found`);
          return { status: 200, headers: { 'x-svc-type': 'file' }, body: Readable.from([Buffer.from(content)]) };
        },
      },
    };
  }

  /** The relevant parts of the world, for comparing two ends. */
  snapshot(): unknown {
    return Object.fromEntries(
      Object.entries(this.objects).map(([kind, map]) => [
        kind,
        Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1))),
      ]),
    );
  }

  async #change(what: string, signal: AbortSignal | undefined, effect: () => void): Promise<Reply<unknown>> {
    signal?.throwIfAborted();
    this.running += 1;
    this.maxRunning = Math.max(this.maxRunning, this.running);
    try {
      await this.beforeChange?.(what, signal);
      await Promise.resolve();
      this.#count += 1;
      const fault = this.fault?.at === this.#count ? this.fault.kind : undefined;
      if (fault === 'refused') throw refusal(500, 'internal');
      if (fault === 'before') throw broken();
      effect();
      this.changes.push(what);
      if (fault === 'after') throw broken();
      return reply({});
    } finally {
      this.running -= 1;
    }
  }

  #find(kind: KindName, name: string): Obj {
    const object = this.objects[kind].get(name);
    if (object === undefined) throw refusal(404, 'notFound', `The ${kind} ${name} was not found`);
    return object;
  }

  #shown(kind: KindName, object: Obj): Obj {
    const usedBy = this.#users(kind, String(object['name'] ?? object['fingerprint']));
    return { ...object, used_by: usedBy, ...(kind === 'container' ? this.#expanded(object) : {}) };
  }

  #expanded(container: Obj): Obj {
    const profiles = (container['profiles'] as string[]).map((name) => this.objects.profile.get(name) ?? {});
    const merged = (field: string): Obj =>
      Object.assign({}, ...profiles.map((profile) => profile[field]), container[field]) as Obj;
    return { expanded_config: merged('config'), expanded_devices: merged('devices') };
  }

  #users(kind: KindName, name: string): string[] {
    const containers = [...this.objects.container.values()];
    const devicesUse = (object: Obj): boolean =>
      Object.values((object['devices'] ?? {}) as Record<string, Record<string, string>>).some((device) =>
        kind === 'storage_pool'
          ? device['pool'] === name
          : kind === 'network' && (device['parent'] === name || device['network'] === name),
      );
    const ofProfile = containers.filter((one) => kind === 'profile' && (one['profiles'] as string[]).includes(name));
    const byContainers = [...ofProfile, ...containers.filter(devicesUse)].map(
      (one) => `/1.0/containers/${String(one['name'])}`,
    );
    const byProfiles = [...this.objects.profile.values()]
      .filter(devicesUse)
      .map((one) => `/1.0/profiles/${String(one['name'])}`);
    return [...byContainers, ...byProfiles];
  }

  #create(kind: KindName, name: string, body: Obj): void {
    if (this.objects[kind].has(name)) throw refusal(409, 'exists', `${name} already exists`);
    const common = { description: '', config: {}, ...structuredClone(body) };
    if (kind !== 'container') {
      const extra = {
        network: { managed: true, status: 'Created', locations: [], type: 'bridge' },
        storage_pool: { status: 'Created', locations: [] },
        profile: { devices: {} },
      }[kind as string];
      this.objects[kind].set(name, { ...extra, ...common });
      return;
    }
    const profiles = (body['profiles'] as string[] | undefined) ?? ['default'];
    for (const profile of profiles) this.#find('profile', profile);
    const source = body['source'] as { alias?: string; fingerprint?: string } | undefined;
    const alias = source?.alias === undefined ? undefined : this.#find('image_alias', source.alias);
    const image = source?.fingerprint ?? (alias?.['target'] as string | undefined);
    const { source: _source, ...rest } = common as Obj;
    const container: Obj = { devices: {}, architecture: 'x86_64', ephemeral: false, ...rest, profiles };
    if (image !== undefined) container['config'] = { ...(rest['config'] as Obj), 'volatile.base_image': image };
    setStatus(container, false);
    this.objects.container.set(name, container);
  }

  #state(name: string): ContainerState {
    const container = this.#find('container', name) as unknown as Container;
    const address = this.addresses.get(name);
    const addresses = address === undefined ? [] : [{ family: 'inet', address, netmask: '24', scope: 'global' }];
    const isRunning = container.status === 'Running';
    return {
      status: container.status,
      status_code: container.status_code,
      pid: isRunning ? 1 : 0,
      processes: isRunning ? 3 : 0,
      network: isRunning ? { eth0: { addresses, state: 'up' } } : null,
    } as unknown as ContainerState;
  }
}

function setStatus(container: Obj, runs: boolean): void {
  container['status'] = runs ? 'Running' : 'Stopped';
  container['status_code'] = runs ? 103 : 102;
}

const reply = <T>(metadata: T, etag?: string): Reply<T> => ({
  status: 200,
  metadata,
  ...(etag === undefined ? {} : { etag }),
});
const etagOf = (object: Obj): string => {
  const { status: _s, status_code: _c, last_used_at: _l, ...rest } = object;
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex');
};
const refusal = (status: number, code: string, message = code): ClientError =>
  new ClientError(code, message, { status });
const broken = (): ClientError => new ClientError('unreachable', 'the connection broke');
