// Maps resource types of the providers for LXD and Incus to types of this provider for `moved` blocks, and reads from their states the
// attributes that identify the object. The framework reads the rest from the server, as after an import. Pure.
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import type { MoveSource } from '../framework/provider.ts';
import type { Json, JsonObject } from '../framework/stored-state.ts';

/** The attribute names of those providers, newest first, by our name. */
interface Move {
  readonly target: string;
  readonly takes: Readonly<Record<string, readonly string[]>>;
  /** Why this object cannot move. */
  readonly refuses?: (state: JsonObject) => string | undefined;
  readonly inNoProject?: true;
}

const named = (target: string): Move => ({ target, takes: { name: ['name'] } });

const holder = ['instance', 'instance_name', 'container', 'container_name'];

const instance: Move = {
  ...named('gantry_container'),
  refuses: ({ type, name }) =>
    type === 'virtual-machine'
      ? `${JSON.stringify(name)} is a virtual machine; the provider manages containers`
      : undefined,
};

const volume: Move = {
  target: 'gantry_storage_volume',
  takes: { pool: ['pool'], name: ['name'] },
  refuses: ({ type, name }) =>
    type === undefined || type === null || type === 'custom'
      ? undefined
      : `${JSON.stringify(name)} is a volume of type ${JSON.stringify(type)}; only custom volumes are managed`,
};

const image: Move = { target: 'gantry_image', takes: { fingerprint: ['fingerprint'] } };
const file: Move = {
  target: 'gantry_container_file',
  takes: { container: holder, path: ['target_path', 'target_file'] },
};
const device: Move = { target: 'gantry_container_device', takes: { container: holder, name: ['name'] } };
const attachment: Move = {
  target: 'gantry_container_device',
  takes: { container: holder, name: ['device_name', 'volume_name'] },
};
const snapshot: Move = { target: 'gantry_snapshot', takes: { container: holder, name: ['name'] } };
const certificate: Move = { target: 'gantry_certificate', takes: { fingerprint: ['fingerprint'] }, inNoProject: true };

/** By the type names of those providers without the prefix, including older names. */
const moves: Readonly<Record<string, Move>> = {
  instance,
  container: instance,
  profile: named('gantry_profile'),
  network: named('gantry_network'),
  network_acl: named('gantry_network_acl'),
  storage_pool: { ...named('gantry_storage_pool'), inNoProject: true },
  project: { ...named('gantry_project'), inNoProject: true },
  volume,
  storage_volume: volume,
  snapshot,
  instance_snapshot: snapshot,
  instance_device: device,
  volume_container_attach: attachment,
  instance_file: file,
  container_file: file,
  cached_image: image,
  publish_image: image,
  image,
  trust_certificate: certificate,
  certificate,
};

const isPeer = (provider: string): boolean => /\/(?:lxd|incus)$/.test(provider);

/** The identifying attributes of our object, from their state. Throws DiagnosticError. */
export function movedState({ provider, type, state, target }: MoveSource): JsonObject {
  const [, , short = ''] = /^(lxd|incus)_(.+)$/.exec(type) ?? [];
  const move = isPeer(provider) && Object.hasOwn(moves, short) ? moves[short] : undefined;
  if (move === undefined) {
    throw cannot(type, target, `The type ${type} of ${provider} cannot be moved. ${known()}`);
  }
  if (move.target !== target)
    throw cannot(type, target, `A ${type} becomes a ${move.target}. Use that type in the moved block.`);
  const refused = move.refuses?.(state);
  if (refused !== undefined) throw cannot(type, target, `${refused}.`);
  const found = Object.entries(move.takes).map(([name, sources]) => {
    const value = sources.map((source) => textOf(state[source])).find((text) => text !== null);
    if (value === undefined) {
      throw cannot(
        type,
        target,
        `Its state does not say ${sources.join(' or ')}. Import the object by its id instead.`,
      );
    }
    return [name, value] as const;
  });
  const [remote, project] = [textOf(state['remote']), textOf(state['project'])];
  return {
    ...Object.fromEntries(found),
    // The server of the provider block needs no name.
    ...(remote === null || remote === 'local' ? {} : { remote }),
    ...(move.inNoProject === true || project === null ? {} : { project }),
  };
}

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);

const known = (): string =>
  `These types of the providers lxd and incus can be moved: ${Object.keys(moves).join(', ')}.`;

const cannot = (type: string, target: string, detail: string): DiagnosticError =>
  new DiagnosticError([failure(`A ${type} cannot be moved to a ${target}`, detail)]);
