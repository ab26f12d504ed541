// What the provider blocks say of all resources: project and target. Where the server is, is said on the command line; one
// configuration is for one server.
import type { Json } from '../../core/document.ts';
import type { Evaluation } from './evaluate-config.ts';
import { isList, isMap, type Value } from './expression/values.ts';
import type { Report } from './problem.ts';
import type { Config, Piece, Resource } from './read-config.ts';

export interface ProviderSettings {
  readonly project?: string;
  readonly target?: string;
  /** Servers that have images, by the names that references to images begin with. */
  readonly remotes?: Readonly<Record<string, Remote>>;
}

export interface Remote {
  readonly server: string;
  readonly protocol: string;
}

export interface Providers {
  readonly settingsOf: (resource: Resource) => ProviderSettings;
  readonly notices: readonly string[];
}

export function readProviders(config: Config, evaluation: Evaluation, report: Report): Providers {
  const used = new Map<string, ProviderSettings>();
  const servers = new Map<string, string>();
  const notices = new Set<string>();
  for (const resource of config.resources.values()) {
    const name = providerOf(resource);
    if (used.has(name)) continue;
    const piece = config.providers.get(name);
    if (piece === undefined) {
      used.set(name, {});
      if (name.includes('.')) {
        const { file, steps } = resource;
        report({ code: 'E_REFERENCE', message: `there is no provider ${name}`, file, steps: [...steps, 'provider'] });
      }
      continue;
    }
    used.set(name, settingsIn(piece, evaluation, report));
    const server = serverIn(piece, evaluation);
    servers.set(JSON.stringify(server), name);
    if (servers.size > 1) {
      const message = `${[...servers.values()].join(' and ')} are connections to different servers`;
      report({ code: 'E_PROVIDER', message, file: piece.file, steps: piece.steps });
    }
    if (typeof server['address'] === 'string')
      notices.add(`provider ${name}: the address is Terraform's; gantry connects to where --host says`);
  }
  return { settingsOf: (resource) => used.get(providerOf(resource)) ?? {}, notices: [...notices] };
}

/** `provider = "gantry.alias"`, or what the type begins with. */
function providerOf({ type, body }: Resource): string {
  const written = body['provider'];
  if (typeof written === 'string') return written.replace(/^\$\{(.*)\}$/, '$1');
  return type.slice(0, type.indexOf('_'));
}

function settingsIn(piece: Piece, evaluation: Evaluation, report: Report): ProviderSettings {
  const read = (name: 'project' | 'target'): { readonly [key: string]: string } => {
    const steps = [...piece.steps, name];
    const value: Value = evaluation.evaluate(piece.body[name] ?? null, { place: { ...piece, steps } });
    if (typeof value === 'string') return { [name]: value };
    if (value !== null) {
      const message = `the ${name} of the provider is not known before an apply`;
      report({ code: 'E_UNKNOWN_VALUE', message, file: piece.file, steps });
    }
    return {};
  };
  return { ...read('project'), ...read('target'), remotes: remotesIn(piece, evaluation) };
}

/** `remote { name, address, protocol }` of the providers for LXD and Incus. */
function remotesIn(piece: Piece, evaluation: Evaluation): Readonly<Record<string, Remote>> {
  const place = { ...piece, steps: [...piece.steps, 'remote'] };
  const written = evaluation.evaluate(piece.body['remote'] ?? null, { place });
  const blocks: readonly Value[] = isList(written) ? written : [written];
  return Object.fromEntries(
    blocks.filter(isMap).flatMap(({ name, address, protocol }) => {
      const isServer = typeof name === 'string' && typeof address === 'string' && address.startsWith('https://');
      return isServer ? [[name, { server: address, protocol: typeof protocol === 'string' ? protocol : 'lxd' }]] : [];
    }),
  );
}

const aboutObjects = new Set(['//', 'alias', 'project', 'target']);

function serverIn(piece: Piece, evaluation: Evaluation): Readonly<Record<string, unknown>> {
  const entries = Object.entries(piece.body).filter(([name]) => !aboutObjects.has(name));
  return Object.fromEntries(
    entries.map(([name, json]: readonly [string, Json]) => {
      const value = evaluation.evaluate(json, { place: { ...piece, steps: [...piece.steps, name] } });
      return [name, typeof value === 'symbol' ? 'unknown' : value];
    }),
  );
}
