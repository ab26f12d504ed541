// Answers of a fake controller for the page: a small world with every status, a large one for speed, a hostile one with markup in every text.
import { handWorld } from './hand-world.ts';
import type {
  ContainerView,
  DriftRecord,
  FileView,
  HostStatus,
  LogLine,
  ObjectDetail,
  ObjectStatusName,
  ObjectSummary,
  Operation,
  Overview,
  Preview,
  RunRecord,
  SetStatus,
} from '../../../reconciler/controller/contract/index.ts';

export interface PageWorld {
  overview: Overview;
  readonly objects: Map<string, ObjectSummary[]>;
  readonly drift: Map<string, DriftRecord[]>;
  readonly history: Map<string, RunRecord[]>;
  operations: Operation[];
  readonly logs: LogLine[];
  /** Each host has the same. */
  readonly containers: ContainerView[];
  readonly containerLog: string;
  files(path: string): FileView;
  detail(summary: ObjectSummary): ObjectDetail;
  preview(ref: string): Preview;
}

/** Texts become hostile in the hostile world; in the others they stay. */
type Word = (text: string) => string;

const second = 1000;
const minute = 60 * second;

export function smallWorld(start = Date.now()): PageWorld {
  return makeWorld(start, (text) => text, { hosts: 3, containers: 8 });
}

/** 100 hosts with 100 objects each. */
export function largeWorld(start = Date.now()): PageWorld {
  return makeWorld(start, (text) => text, { hosts: 100, containers: 96 });
}

export const hostileMarkup = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'\u202e\u0000 javascript:hacked()`;

export function hostileWorld(start = Date.now()): PageWorld {
  const word = (text: string): string => `${text}${hostileMarkup}`;
  return withRefusedConfig(makeWorld(start, word, { hosts: 2, containers: 3 }), word);
}

/** Its controller has refused the newest gantry.yaml. */
export function withRefusedConfig(world: PageWorld, word: Word = (text) => text): PageWorld {
  const { controller } = world.overview;
  const problems = [word('gantry.yaml:12: sets.1.source: there is no source shopp: did you mean shop?')];
  return {
    ...world,
    overview: { ...world.overview, controller: { ...controller, config: { readAt: controller.startedAt, problems } } },
  };
}

interface Size {
  readonly hosts: number;
  readonly containers: number;
}

function makeWorld(start: number, word: Word, size: Size): PageWorld {
  const ago = (time: number): string => new Date(start - time).toISOString();
  // Names of hosts hold no spaces; markup runs without them too.
  const hosts = Array.from({ length: size.hosts }, (_, at) =>
    word(`node${String(at + 1).padStart(2, '0')}`).replaceAll(' ', '/'),
  );
  const objects = new Map([
    ['web', hosts.flatMap((host, at) => objectsOf(host, size.containers, word, at === 0))],
    ['base', hosts.map((host) => summary(host, 'network', word('lan'), 'synced', []))],
    ['monitoring', []],
  ]);
  const revision = '7d3f0c1a9be2445d8e7701c2b3a4d5e6f7081920';
  const before = '1b2c3d4e5f60718293a4b5c6d7e8f90123456789';
  const sets: SetStatus[] = ['web', 'base', 'monitoring'].map((name) =>
    setOf(name, name === 'web' ? 'drifted' : 'synced'),
  );
  function setOf(name: string, status: SetStatus['status']): SetStatus {
    const all = objects.get(name) ?? [];
    return {
      name,
      source: word('infrastructure'),
      path: word(`sets/${name}`),
      mode: name === 'base' ? 'report' : 'heal',
      status: name === 'monitoring' ? 'suspended' : status,
      revision,
      ...(name === 'web' && { message: word('2 objects differ from what is declared') }),
      problems: name === 'web' ? [word('web.yaml:12:3: unknown key "limits.memry", did you mean limits.memory?')] : [],
      hosts: hosts.map((host) => ({
        host,
        status: name === 'monitoring' ? 'suspended' : status,
        appliedRevision: revision,
        lastSyncAt: ago(3 * minute),
        ...(name === 'web' && host === hosts[1] && { error: word('The host refused a step: out of memory') }),
        objects: counts(all.filter((object) => object.host === host)),
      })),
      suspensions:
        name === 'monitoring'
          ? [
              {
                id: 's1',
                set: name,
                reason: word('migration of the dashboard'),
                by: word('ada'),
                since: ago(40 * minute),
                until: new Date(start + 80 * minute).toISOString(),
              },
            ]
          : [],
      dependsOn: name === 'web' ? ['base'] : [],
      ...(name === 'base' && {
        approvalGate: {
          revision,
          plan: 'b1946ac92492d234',
          hosts: [
            { host: hosts[0] ?? '', count: 2, steps: [word('container/web1#delete'), word('network/lan#update')] },
          ],
        },
        pruneGate: {
          revision,
          hosts: [{ host: hosts[0] ?? '', count: 60, objects: [word('profile/old'), word('network/old')] }],
        },
      }),
    };
  }
  const hostList: HostStatus[] = hosts.map((name, at) => ({
    name,
    labels: { zone: word(at % 2 === 0 ? 'north' : 'south'), role: word('web') },
    status: at === 2 ? 'offline' : 'online',
    ...(at !== 2 && { capacity: { cpus: 8, memoryBytes: 16 * 1024 ** 3, memoryUsedBytes: 6 * 1024 ** 3 } }),
    ...(at === 1 && {
      warnings: [
        {
          severity: 'moderate',
          message: word('The pool fast has less than 5 % of its space left'),
          about: word('/1.0/storage-pools/fast'),
          count: 3,
          lastSeenAt: ago(7 * minute),
        },
      ],
    }),
    ...(at === 2 && { message: word('connect ECONNREFUSED 10.0.0.3:8443') }),
  }));
  return {
    overview: {
      controller: { name: word('main'), version: '0.1.0', startedAt: ago(300 * minute), isActive: true },
      sources: [
        {
          name: word('infrastructure'),
          kind: 'git',
          url: word('https://git.example.org/infrastructure.git'),
          revision,
          message: word('Give the shop more memory'),
          by: word('Ada'),
          checkedAt: ago(20 * second),
          verified: word('SHA256:2f7c ada@example.org'),
        },
        {
          name: word('images'),
          kind: 'oci',
          url: word('registry.example.org/images'),
          checkedAt: ago(9 * minute),
          error: word('The registry answered 503; the last good revision stays in use.'),
        },
      ],
      hosts: hostList,
      sets,
    },
    objects,
    drift: new Map([
      [
        'web',
        [
          drift('d3', 2 * minute, 'container/web1', ['config.limits.memory'], 'reported'),
          drift('d2', 30 * minute, 'container/web2', ['devices.eth0', 'config.user.note'], 'healed'),
          drift('d1', 26 * 60 * minute, 'network/lan', ['config.ipv4.address'], 'ignored'),
        ],
      ],
    ]),
    history: new Map([
      [
        'web',
        [
          run('r3', 4 * minute, revision, before, 'commit: Give the shop more memory', 'done'),
          run('r2', 90 * minute, before, '9a8b7c6d5e4f', 'drift of container/web2', 'partial'),
          run('r1', 3000 * minute, '9a8b7c6d5e4f', undefined, 'commit: First version', 'failed'),
          run('r0', 9000 * minute, before, undefined, 'drift of container/web1', 'done'),
        ],
      ],
    ]),
    operations: [operation('o2', 'running', 8), operation('o1', 'done', 240)],
    logs: Array.from({ length: 60 }, (_, at) => logLine(at)),
    ...handWorld(word, start),
    detail: (object) => detailOf(object),
    preview: (ref) => previewOf(ref),
  };

  function drift(
    id: string,
    age: number,
    address: string,
    paths: string[],
    action: DriftRecord['action'],
  ): DriftRecord {
    return {
      id,
      at: ago(age),
      host: hosts[0] ?? '',
      address: word(address),
      paths: paths.map(word),
      ...(id !== 'd1' && { by: word('root') }),
      action,
      ...(action === 'healed' && { healedAt: ago(age - 1400) }),
      message: word('changed by the event instance-updated'),
    };
  }
  function run(
    id: string,
    age: number,
    to: string,
    from: string | undefined,
    reason: string,
    outcome: RunRecord['outcome'],
  ): RunRecord {
    return {
      id,
      at: ago(age),
      endedAt: ago(age - 3200),
      revision: to,
      ...(from !== undefined && { previousRevision: from }),
      by: word('controller'),
      reason: word(reason),
      outcome,
      hosts,
      changes: { create: 1, update: 3, delete: outcome === 'failed' ? 2 : 0 },
      ...(to !== '9a8b7c6d5e4f' && { isKept: true }),
      ...(outcome !== 'done' && { message: word('container/web3: the image is not there') }),
    };
  }
  function operation(id: string, status: 'running' | 'done', age: number): Operation {
    const isDone = status === 'done';
    return {
      id,
      set: 'web',
      kind: isDone ? 'heal' : 'sync',
      status,
      startedAt: ago(age * second),
      ...(isDone && { endedAt: ago((age - 4) * second) }),
      revision,
      by: word('ada'),
      message: word('commit: Give the shop more memory'),
      hosts: hosts.slice(0, 3).map((host, at) => ({
        host,
        status: isDone ? 'done' : at === 0 ? 'done' : 'running',
        steps: { total: 12, done: isDone ? 12 : 12 - at * 5, failed: 0 },
        current: isDone || at === 0 ? [] : [word('container/web1#restart')],
        ...(at === 1 && { message: word('slow, but at work') }),
      })),
    };
  }
  function logLine(at: number): LogLine {
    const level = at % 13 === 5 ? 'error' : at % 7 === 3 ? 'warn' : at % 5 === 2 ? 'debug' : 'info';
    const texts = { error: 'the host does not answer', warn: 'drift found', debug: 'events read', info: 'compared' };
    return { at: ago((60 - at) * 7 * second), level, message: word(texts[level]), set: 'web', host: hosts[0] ?? '' };
  }
  function detailOf(object: ObjectSummary): ObjectDetail {
    const desired = {
      kind: object.kind,
      name: object.name,
      profiles: [word('web')],
      config: { 'limits.memory': word('512MiB'), 'user.password': '(secret)', [word('user.note')]: word('shop') },
      devices: { [word('eth0')]: { type: word('nic'), network: word('lan') } },
    };
    const isSame = object.status === 'synced';
    const live = { ...desired, config: { ...desired.config, 'limits.memory': word(isSame ? '512MiB' : '256MiB') } };
    return {
      summary: object,
      desired,
      ...(object.status !== 'missing' && { live }),
      differences: isSame
        ? []
        : [
            {
              path: word('config.limits.memory'),
              desired: word('512MiB'),
              live: word('256MiB'),
              effect: 'live',
              isSecret: false,
            },
            { path: word('config.user.password'), desired: '***', live: '***', effect: 'restart', isSecret: true },
            { path: word('config.user.note'), live: word('left over'), effect: 'live', isSecret: false },
          ],
      suspensions: [],
      history: [
        { at: ago(4 * minute), revision, action: 'update', by: word('controller'), reason: word('commit') },
        { at: ago(90 * minute), action: 'create', by: word('ada'), message: word('no space left on the pool') },
      ],
    };
  }
  function previewOf(ref: string): Preview {
    const [first = '', second = ''] = hosts;
    return {
      revision: ref,
      problems: [{ message: word('limits.cpu is written twice'), place: word('web.yaml:8:5') }],
      hosts: [
        {
          host: first,
          changes: { create: 1, update: 1, delete: 1 },
          restarts: 1,
          objects: [
            {
              address: word('container/web1'),
              kind: 'container',
              name: word('web1'),
              action: 'update',
              power: 'restart',
              effect: 'restart',
              reasons: [word('limits.memory needs a restart')],
              differences: [
                {
                  path: word('config.limits.memory'),
                  desired: word('1GiB'),
                  live: word('512MiB'),
                  effect: 'restart',
                  isSecret: false,
                },
              ],
            },
            {
              address: word('container/old'),
              kind: 'container',
              name: word('old'),
              action: 'delete',
              effect: 'live',
              reasons: [],
              guard: word('it is protected'),
              differences: [],
            },
          ],
        },
        {
          host: second,
          error: word('offline'),
          changes: { create: 0, update: 0, delete: 0 },
          restarts: 0,
          objects: [],
        },
      ],
    };
  }
}

function objectsOf(host: string, containers: number, word: Word, hasTrouble: boolean): ObjectSummary[] {
  const trouble: readonly ObjectStatusName[] = ['drifted', 'synced', 'failed', 'missing', 'suspended'];
  const made = Array.from({ length: containers }, (_, at) => {
    const status = hasTrouble ? (trouble[at] ?? 'synced') : 'synced';
    const needs = [
      `profile/${word('web')}`,
      `volume/${word('data')}`,
      ...(at % 4 === 3 ? [`container/${word(`web${at}`)}`] : []),
    ];
    return summary(host, 'container', word(`web${at + 1}`), status, needs, word);
  });
  const [network, pool] = [`network/${word('lan')}`, `storage_pool/${word('fast')}`];
  return [
    ...made,
    summary(host, 'network', word('lan'), 'synced', []),
    summary(host, 'profile', word('web'), 'synced', [network, pool]),
    summary(host, 'storage_pool', word('fast'), 'synced', []),
    summary(host, 'volume', word('data'), 'synced', [pool]),
  ].sort((a, b) => (a.address < b.address ? -1 : 1));
}

function summary(
  host: string,
  kind: string,
  name: string,
  status: ObjectStatusName,
  dependsOn: string[],
  word: Word = (text) => text,
): ObjectSummary {
  const messages: Partial<Record<ObjectStatusName, string>> = {
    drifted: 'config.limits.memory was changed by root',
    failed: 'start: the network lan has no free address',
    missing: 'waits for the next window',
  };
  const message = messages[status];
  return {
    host,
    address: `${kind}/${name}`,
    kind,
    name,
    status,
    dependsOn,
    ...(message !== undefined && { message: word(message) }),
  };
}

export function counts(objects: readonly ObjectSummary[]): SetStatus['hosts'][number]['objects'] {
  const of = (status: ObjectStatusName): number => objects.filter((object) => object.status === status).length;
  return { total: objects.length, synced: of('synced'), drifted: of('drifted') + of('missing'), failed: of('failed') };
}
