// Generated valid stacks with every kind that a daemon serves, and each input form of a stack.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import type { JsonObject } from '../../reconciler/core/documents/document.ts';
import { defineStack, type Stack } from '../../reconciler/manifest/define-stack.ts';
import { packImage } from '../support/cli/daemon-with-manifests.ts';

/** A flat document, as in YAML. */
export type Written = JsonObject & { readonly kind: string };

export const secretText = 'S3CR3T';

/** The objects that stacks refer to: an image, and a certificate. Made once for a file of tests. */
export class Material {
  readonly dir = mkdtempSync(join(realpathSync(tmpdir()), 'gantry-laws-'));
  readonly pem: string;

  constructor() {
    packImage(this.dir, 'image.tar.gz', 'laws');
    const [key, file] = [join(this.dir, 'key.pem'), join(this.dir, 'cert.pem')];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=laws'];
    execFileSync('openssl', ['req', '-x509', ...made, '-keyout', key, '-out', file], { stdio: 'ignore' });
    this.pem = readFileSync(file, 'utf8');
  }

  /** An empty directory for the files of one case. */
  folder(): string {
    return mkdtempSync(join(this.dir, 'case-'));
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Texts that formats easily mistake for another type. */
const texts = fc.constantFrom(
  'a',
  'yes',
  'null',
  '012',
  '1e3',
  '~',
  '# no comment',
  '${HOME}',
  '$x %{y}',
  'ä\n b',
  ' x ',
  "it's",
  '[]',
);
const truth = fc.constantFrom<boolean | string>(true, false, 'true', 'false');
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    fc.constant([]),
    arbitrary.map((one) => [one]),
  );

const instanceConfig = fc.record(
  {
    'limits.memory': fc.constantFrom('64MiB', '128MiB'),
    'limits.processes': fc.constantFrom(100, '200'),
    'security.nesting': truth,
    'boot.autostart': truth,
    'user.note': texts,
    'user.user-data': fc.constantFrom('#cloud-config\npackages: [vim]\n'),
    'environment.DB_PASSWORD': fc.constant(secretText),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

const description = fc.constantFrom('', 'one', 'two words');

interface Parts {
  readonly hasNetwork: boolean;
  readonly hasSecondPool: boolean;
  readonly hasVolume: boolean;
}

function containers({ hasNetwork, hasSecondPool, hasVolume }: Parts): fc.Arbitrary<readonly Written[]> {
  const one = (name: string): fc.Arbitrary<Written> =>
    fc
      .record({
        config: instanceConfig,
        description,
        isFromImage: fc.boolean(),
        isRunning: fc.boolean(),
        isOnSecond: fc.boolean(),
        hasNic: fc.boolean(),
        hasData: fc.boolean(),
      })
      .map((made) => ({
        kind: 'container',
        name,
        description: made.description,
        profiles: ['web'],
        source: made.isFromImage ? { type: 'image', alias: 'base' } : { type: 'none' },
        config: made.config,
        devices: {
          ...(hasSecondPool && made.isOnSecond ? { root: { type: 'disk', path: '/', pool: 'p2' } } : {}),
          ...(hasNetwork && made.hasNic ? { lan: { type: 'nic', nictype: 'bridged', parent: 'lawn0' } } : {}),
          ...(hasVolume && made.hasData ? { data: { type: 'disk', pool: 'p1', source: 'data', path: '/data' } } : {}),
        },
        state: made.isRunning ? 'running' : 'stopped',
      }));
  return fc.subarray(['c1', 'c2', 'c3']).chain((names) => fc.tuple(...names.map(one)));
}

/** Server config, certificate, pools, a volume, a network, a profile, an image with its alias, containers. */
export function stacks(material: Material): fc.Arbitrary<readonly Written[]> {
  const parts = fc.record({ hasNetwork: fc.boolean(), hasSecondPool: fc.boolean(), hasVolume: fc.boolean() });
  return parts.chain((has) => {
    const config = fc.record(
      { 'images.remote_cache_expiry': fc.constantFrom(5, '6'), 'user.site': texts },
      { requiredKeys: ['images.remote_cache_expiry'] },
    );
    const pool = (name: string): fc.Arbitrary<Written> =>
      description.map((text) => ({ kind: 'storage_pool', name, driver: 'dir', description: text }));
    const network = fc.record({ nat: truth, ipv6: fc.constantFrom('none', 'fd42:77::1/64') }).map(({ nat, ipv6 }) => ({
      kind: 'network',
      name: 'lawn0',
      type: 'bridge',
      config: { 'ipv4.address': '10.77.3.1/24', 'ipv4.nat': nat, 'ipv6.address': ipv6 } as JsonObject,
    }));
    const volume = fc.record({ note: texts, description }).map((made) => ({
      kind: 'storage_volume',
      name: 'data',
      pool: 'p1',
      description: made.description,
      config: { 'user.note': made.note },
    }));
    const profile = fc.record({ config: instanceConfig, description }).map((made) => ({
      kind: 'profile',
      name: 'web',
      description: made.description,
      config: made.config,
      devices: {
        root: { type: 'disk', path: '/', pool: 'p1' },
        ...(has.hasNetwork ? { eth0: { type: 'nic', nictype: 'bridged', parent: 'lawn0', name: 'eth0' } } : {}),
      },
    }));
    const image = fc
      .boolean()
      .map((isPublic) => ({ kind: 'image', name: 'base', file: join(material.dir, 'image.tar.gz'), public: isPublic }));
    const some = <T>(isThere: boolean, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> =>
      isThere ? arbitrary.map((one) => [one]) : fc.constant([]);
    return fc
      .tuple(
        maybe(config.map((values): Written => ({ kind: 'server_config', config: values as JsonObject }))),
        maybe(fc.constant<Written>({ kind: 'certificate', name: 'laws', certificate: material.pem })),
        pool('p1').map((one) => [one]),
        some(has.hasSecondPool, pool('p2')),
        some<Written>(has.hasVolume, volume),
        some<Written>(has.hasNetwork, network),
        profile.map((one): readonly Written[] => [one]),
        image.map((one): readonly Written[] => [one]),
        fc.constant<readonly Written[]>([{ kind: 'image_alias', name: 'base', target: 'base' }]),
        containers(has),
      )
      .map((made) => made.flat());
  });
}

export const withManage = (documents: readonly Written[], manage: JsonObject): readonly Written[] =>
  documents.map((one) => ({ ...one, manage }));

/** Writes the documents into `folder`; returns the arguments of a command that reads them. */
export type Form = (documents: readonly Written[], folder: string) => readonly string[];

const several = (documents: readonly object[]): string => documents.map((one) => stringify(one)).join('---\n');

function file(folder: string, name: string, text: string): readonly string[] {
  writeFileSync(join(folder, name), text);
  return ['-f', join(folder, name)];
}

const nameOf = ({ name }: Written): string => (typeof name === 'string' ? name : 'server');

function envelope({ kind, name, ...spec }: Written): object {
  return { apiVersion: 'gantry/v1', kind, metadata: { name: name ?? 'server' }, spec };
}

const listOf: Readonly<Record<string, string>> = {
  storage_pool: 'storage_pools',
  storage_volume: 'storage_volumes',
  network: 'networks',
  profile: 'profiles',
  certificate: 'certificates',
  image: 'images',
  image_alias: 'image_aliases',
  container: 'containers',
};

function preseed(documents: readonly Written[]): object {
  const found: Record<string, unknown> = {};
  for (const { kind, manage: _manage, ...rest } of documents) {
    const list = listOf[kind];
    if (list === undefined) found['config'] = rest['config'];
    else found[list] = [...((found[list] as object[] | undefined) ?? []), rest];
  }
  return found;
}

/** Terraform interprets `${` and `%{`. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/[$%]\{/g, (opening) => `${opening[0]}${opening}`);
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, escaped(one)]));
}

function terraform(documents: readonly Written[]): object {
  const resource: Record<string, Record<string, unknown>> = {};
  for (const { kind, manage: _manage, state, file: source, ...rest } of documents) {
    const more = {
      ...(kind === 'container' ? { running: state !== 'stopped' } : {}),
      ...(kind === 'image' ? { source: { file: source }, name: undefined } : {}),
    };
    const type = `gantry_${kind}`;
    const id = nameOf({ kind, ...rest });
    resource[type] = { ...resource[type], [id]: escaped({ ...rest, ...more }) };
  }
  return { resource };
}

/** Half of each map in the base, the other half in the patch. */
function overlaid(documents: readonly Written[], folder: string): readonly string[] {
  const patches: object[] = [];
  const base = documents.map((one) => {
    const config = Object.entries((one['config'] ?? {}) as JsonObject);
    if (!['profile', 'container', 'network'].includes(one.kind) || config.length < 2) return one;
    const late = Object.fromEntries(config.filter((_, index) => index % 2 === 1));
    patches.push({ kind: one.kind, name: one['name'], patch: true, config: late });
    return { ...one, config: Object.fromEntries(config.filter((_, index) => index % 2 === 0)) };
  });
  const args = file(folder, 'base.yaml', several(base));
  if (patches.length === 0) return args;
  writeFileSync(join(folder, 'patch.yaml'), several(patches));
  return [...args, '-k', join(folder, 'patch.yaml')];
}

const makers: Readonly<Record<string, keyof Stack>> = {
  certificate: 'certificate',
  storage_pool: 'storagePool',
  storage_volume: 'storageVolume',
  network: 'network',
  profile: 'profile',
  image: 'image',
  image_alias: 'imageAlias',
  container: 'container',
};

function stackOf(documents: readonly Written[]): string {
  return defineStack((stack) => {
    for (const { kind, name, ...spec } of documents) {
      if (kind === 'server_config') stack.serverConfig(spec['config'] as never);
      else (stack[makers[kind] ?? 'profile'] as (name: unknown, spec: object) => unknown)(name, spec);
    }
  }).toYaml();
}

/** `modes`: whether the form supports `manage.mode`. */
export const forms: Readonly<
  Record<string, { readonly write: Form; readonly modes: boolean; readonly without?: string }>
> = {
  yaml: { write: (documents, folder) => file(folder, 'stack.yaml', several(documents)), modes: true },
  'a directory': {
    write: (documents, folder) => {
      mkdirSync(join(folder, 'all'));
      for (const [index, one] of documents.toReversed().entries())
        file(join(folder, 'all'), `${index}.yaml`, stringify(one));
      return ['-f', join(folder, 'all')];
    },
    modes: true,
  },
  envelopes: {
    write: (documents, folder) => file(folder, 'stack.yaml', several(documents.map(envelope))),
    modes: true,
  },
  overlays: { write: overlaid, modes: true },
  defineStack: { write: (documents, folder) => file(folder, 'stack.yaml', stackOf(documents)), modes: false },
  preseed: { write: (documents, folder) => file(folder, 'preseed.yaml', stringify(preseed(documents))), modes: false },
  'Terraform JSON': {
    write: (documents, folder) => file(folder, 'main.tf.json', JSON.stringify(terraform(documents))),
    modes: false,
    without: 'server_config',
  },
};
