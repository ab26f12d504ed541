// Loads the manifests of a revision for the hosts of a set. All problems of all hosts are found before any host is touched.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { referenceCycles } from '../../core/graph/check-documents.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Document } from '../../core/documents/document.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import { parsePins, type Pins } from '../../manifest/image-pins.ts';
import type { ImageCache, Loaded, VariableSource } from '../../manifest/load-contract.ts';
import { loadManifests } from '../../manifest/load.ts';
import { evaluateAsideOnce } from '../../manifest/terraform/evaluate-aside.ts';
import type { SopsKeys } from '../../manifest/secrets/decrypt-file.ts';
import type { ReadSecret, VaultSecrets } from '../../manifest/secrets/vault-secrets.ts';
import { vaultCode, type DecryptedFiles } from '../../manifest/variables/secret-references.ts';
import { findEnvironments } from '../../manifest/variables/environment-files.ts';
import { inFence, withFence } from '../../manifest/text/fence.ts';
import { cleaned } from '../decide/withhold.ts';
import type { SetConfig } from '../config/config.ts';
import type { DigestSeal } from '../decide/set-state.ts';
import { tenantProblems } from '../tenancy/check-documents.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface LoadedSet {
  readonly loaded: Loaded;
  readonly pins: Pins;
  /** A digest, equal for equal documents. It includes the values of secrets, so it is stored only as `sealed` makes it. */
  readonly text: string;
  /** A digest of the documents as written, with references in the place of secrets. */
  readonly asWritten: string;
}

export interface LoadedRevision {
  /** By name of the host. */
  readonly hosts: ReadonlyMap<string, LoadedSet>;
  /** `stack.yaml:3:5: message`: with problems nothing is applied. */
  readonly problems: readonly string[];
  /** Values from Vault, by reference. */
  readonly fromVault?: ReadonlyMap<string, string>;
  /** A digest of these values; absent when there are none. */
  readonly secrets?: string;
}

const hostVariable = 'GANTRY_HOST_NAME';

/** Anybody who may push writes the manifests, so their paths cannot leave `folder` and they cannot read the environment of this process. */
export const loadRevision = (
  folder: string,
  config: SetConfig,
  hosts: readonly Host[],
  signal: AbortSignal,
  vault?: VaultSecrets,
): Promise<LoadedRevision> => withFence(folder, () => loadFenced(folder, config, hosts, signal, vault?.reading()));

async function loadFenced(
  folder: string,
  config: SetConfig,
  hosts: readonly Host[],
  signal: AbortSignal,
  vault: ReturnType<VaultSecrets['reading']> | undefined,
): Promise<LoadedRevision> {
  const path = resolve(folder, config.path);
  if (path !== folder && !path.startsWith(folder + sep)) throw new Error(`${config.path} is not within the source`);
  const environment =
    config.environment === undefined ? undefined : (await findEnvironments([path])).of(config.environment);
  if (config.environment !== undefined && environment === undefined)
    return { hosts: new Map(), problems: [`the environment ${config.environment} does not exist in ${config.path}`] };
  const { project } = config;
  const paths = [path, ...(environment?.paths ?? []), ...(project?.config === undefined ? [] : ['-'])];
  const before: readonly VariableSource[] = (environment?.varFiles ?? []).map((file) => ({ file }));
  const images: ImageCache = new Map();
  const names = [...new Set([hostVariable, ...hosts.flatMap(({ vars }) => Object.keys(vars))])];
  const found = new Map<string, LoadedSet>();
  const problems = new Map<string, Set<string>>();
  const kept = new Alike();
  const sopsKeys = await sopsKeysOf(config);
  const decrypted: DecryptedFiles = new Map();
  const pins = await pinsOf(path);
  const evaluate = evaluateAsideOnce();
  for (const host of hosts) {
    const loaded = await loadManifests(
      {
        paths,
        vars: config.variables,
        variables: [...before, { vars: { [hostVariable]: host.name, ...host.vars } }],
        env: {},
        evaluate,
        ...sopsKeys,
        decrypted,
        vault: vault?.read ?? noVault,
        ...withoutUndefined({ into: project }),
        stdin: JSON.stringify({ kind: 'project', ...project }),
        host: { facts: host, all: hosts, names, images },
        ...withoutUndefined({ project: host.project }),
      },
      signal,
    );
    const cycles = referenceCycles(loaded.documents).map((one) => loaded.locate(one));
    const barred =
      config.tenant === undefined
        ? []
        : tenantProblems(config.tenant, host, declared(loaded.documents, config), pins).map((one) =>
            loaded.locate(one),
          );
    for (const one of [...loaded.diagnostics, ...cycles, ...barred]) {
      if (one.severity !== 'error') continue;
      const text = cleaned(problemText(one, folder), loaded.documents);
      // A problem with Vault may pass without a new revision, so it is no problem of the manifests.
      if (one.code === vaultCode) throw new Error(text);
      const on = problems.get(text) ?? new Set();
      problems.set(text, on.add(host.name));
    }
    found.set(host.name, kept.of(loadedSet(loaded, pins)));
    // Each further host would take as long.
    if (loaded.diagnostics.some(({ code }) => code === 'E_TIME')) break;
  }
  return {
    hosts: found,
    problems: [...problems].map(([text, on]) => onHosts(text, on, hosts.length)),
    ...(vault === undefined ? {} : { fromVault: vault.seen }),
    ...(vault === undefined || vault.seen.size === 0 ? {} : { secrets: hashOf(entriesOf(vault.seen)) }),
  };
}

const noVault: ReadSecret = () => Promise.reject(new Error('the set has no secrets.vault'));

/** A set that leaves declares nothing. */
export function nothingFor(hosts: readonly string[]): LoadedRevision {
  const loaded: Loaded = {
    documents: [],
    written: [],
    broken: [],
    diagnostics: [],
    files: [],
    locate: (diagnostic) => diagnostic,
    locationOf: () => undefined,
  };
  const set = loadedSet(loaded, new Map());
  return { hosts: new Map(hosts.map((host) => [host, set])), problems: [] };
}

/** Without the project that gantry.yaml asks for. */
const declared = (documents: readonly Document[], { project }: Pick<SetConfig, 'project'>): readonly Document[] =>
  project?.config === undefined
    ? documents
    : documents.filter(({ kind, name }) => kind !== 'project' || name !== project.name);

/** Hosts with equal documents share one copy, so memory does not grow with the number of hosts. */
class Alike {
  readonly #sets = new Map<string, LoadedSet>();

  of(loaded: LoadedSet): LoadedSet {
    // Different manifests may give equal documents; the revision stored on a host has the manifests.
    const key = `${loaded.text} ${hashOf(loaded.loaded.written)}`;
    const found = this.#sets.get(key);
    if (found === undefined) this.#sets.set(key, loaded);
    return found ?? loaded;
  }
}

/** In the order of their keys. */
const entriesOf = (map: ReadonlyMap<string, string>): readonly (readonly [string, string])[] =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** `pins`: those beside the manifests. */
export const loadedSet = (loaded: Loaded, pins: Pins): LoadedSet => ({
  loaded,
  pins,
  text: hashOf([loaded.documents, [...pins]]),
  asWritten: hashOf([loaded.written.map(({ folder: _folder, ...one }) => one), [...pins]]),
});

/** The same revision, with digests of which nobody can guess a secret without the key. */
export function sealed(revision: LoadedRevision, seal: DigestSeal): LoadedRevision {
  const { hosts, secrets } = revision;
  const copies = new Map([...new Set(hosts.values())].map((one) => [one, { ...one, text: seal.of(one.text) }]));
  return {
    ...revision,
    hosts: new Map([...hosts].map(([name, one]) => [name, copies.get(one) ?? one])),
    ...(secrets === undefined ? {} : { secrets: seal.of(secrets) }),
  };
}

const onHosts = (text: string, on: ReadonlySet<string>, count: number): string =>
  on.size === count ? text : `${text} (on ${[...on].slice(0, 5).join(', ')}${on.size > 5 ? ' and others' : ''})`;

/** Shows paths relative to the source: users do not know the folder of its checkout. */
export function problemText({ file, line, column, message, remedy }: Diagnostic, folder: string): string {
  const place = file === undefined ? '' : file.startsWith(folder + sep) ? file.slice(folder.length + 1) : file;
  const at = place === '' ? '' : `${place}${line === undefined ? '' : `:${line}:${column ?? 1}`}: `;
  return `${at}${message}${remedy === undefined ? '' : ` (${remedy})`}`.replaceAll(folder + sep, '');
}

/** These paths come from gantry.yaml, so they may lie outside the folder of the source. */
async function sopsKeysOf({ ageKeyFile, gpgKeyFile }: SetConfig): Promise<{ readonly sopsKeys?: SopsKeys }> {
  if (ageKeyFile === undefined && gpgKeyFile === undefined) return {};
  return {
    sopsKeys: {
      ...(ageKeyFile === undefined ? {} : { age: await keysIn('ageKeyFile', ageKeyFile) }),
      ...(gpgKeyFile === undefined ? {} : { gpg: await keysIn('gpgKeyFile', gpgKeyFile) }),
    },
  };
}

const keysIn = (name: string, file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw new Error(`secrets.${name} cannot be read: ${reasonOf(error)}`, { cause: error });
  });

function ifMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}

/** gantry.lock beside the manifests. */
async function pinsOf(path: string): Promise<Pins> {
  for (const folder of [path, dirname(path)]) {
    const file = join(folder, 'gantry.lock');
    const text = await readFile(inFence(file), 'utf8').catch(ifMissing);
    if (text !== undefined) return parsePins('gantry.lock', text);
    if (folder === path && !/\.[a-z]+$/.test(path)) break;
  }
  return new Map();
}
