// Settings of provider blocks for all resources: project and target. The command line names the server; a configuration is for one
// server.
import type { Json } from '../../core/documents/document.ts';
import type { Piece } from './config/blocks.ts';
import type { Instance } from './evaluation/instance.ts';
import { providerBlock, providerName, type ProviderBlock } from './evaluation/provider-of.ts';
import { isList, isMap, type Value } from './expression/values.ts';
import type { Report } from './problem.ts';

export interface ProviderSettings {
  readonly project?: string;
  readonly target?: string;
  /** Image servers, by the prefix of image references. */
  readonly remotes?: Readonly<Record<string, Remote>>;
}

export interface Remote {
  readonly server: string;
  readonly protocol: string;
}

export interface Providers {
  readonly settingsOf: (instance: Instance) => ProviderSettings;
  readonly notices: readonly string[];
}

export function readProviders(instances: readonly Instance[], report: Report): Providers {
  const settings = new Map<Piece | undefined, ProviderSettings>();
  const servers = new Map<string, string>();
  const notices = new Set<string>();
  for (const { module, resource } of instances) {
    const name = providerName(resource);
    const block = providerBlock(module, name);
    if (block === undefined && name.includes('.')) {
      const { file, steps } = resource;
      report({ code: 'E_REFERENCE', message: `there is no provider ${name}`, file, steps: [...steps, 'provider'] });
    }
    if (block === undefined || settings.has(block.piece)) continue;
    settings.set(block.piece, settingsIn(block, report));
    const server = serverIn(block);
    servers.set(JSON.stringify(server), block.name);
    if (servers.size > 1) {
      const message = `${[...servers.values()].join(' and ')} are connections to different servers`;
      report({ code: 'E_PROVIDER', message, file: block.piece.file, steps: block.piece.steps });
    }
    if (typeof server['address'] === 'string')
      notices.add(`provider ${block.name}: its address is for Terraform; gantry connects to the server of --host`);
  }
  const settingsOf = ({ module, resource }: Instance): ProviderSettings =>
    settings.get(providerBlock(module, providerName(resource))?.piece) ?? {};
  return { settingsOf, notices: [...notices] };
}

function settingsIn({ piece, module }: ProviderBlock, report: Report): ProviderSettings {
  const read = (name: 'project' | 'target'): { readonly [key: string]: string } => {
    const steps = [...piece.steps, name];
    const value: Value = module.evaluate(piece.body[name] ?? null, { place: { ...piece, steps } });
    if (typeof value === 'string') return { [name]: value };
    if (value !== null) {
      const message = `the ${name} of the provider is not known before an apply`;
      report({ code: 'E_UNKNOWN_VALUE', message, file: piece.file, steps });
    }
    return {};
  };
  return { ...read('project'), ...read('target'), remotes: remotesIn({ piece, module }) };
}

/** `remote { name, address, protocol }` of the providers for LXD and Incus. */
function remotesIn({ piece, module }: Pick<ProviderBlock, 'piece' | 'module'>): Readonly<Record<string, Remote>> {
  const place = { ...piece, steps: [...piece.steps, 'remote'] };
  const written = module.evaluate(piece.body['remote'] ?? null, { place });
  const blocks: readonly Value[] = isList(written) ? written : [written];
  return Object.fromEntries(
    blocks.filter(isMap).flatMap(({ name, address, protocol }) => {
      const isServer = typeof name === 'string' && typeof address === 'string' && address.startsWith('https://');
      return isServer ? [[name, { server: address, protocol: typeof protocol === 'string' ? protocol : 'lxd' }]] : [];
    }),
  );
}

const aboutObjects = new Set(['//', 'alias', 'project', 'target']);

function serverIn({ piece, module }: ProviderBlock): Readonly<Record<string, unknown>> {
  const entries = Object.entries(piece.body).filter(([name]) => !aboutObjects.has(name));
  return Object.fromEntries(
    entries.map(([name, json]: readonly [string, Json]) => {
      const value = module.evaluate(json, { place: { ...piece, steps: [...piece.steps, name] } });
      return [name, typeof value === 'symbol' ? 'unknown' : value];
    }),
  );
}
