// `gantry get KIND [NAME]`: live objects of one kind, as a table, names, YAML or JSON.
import type { Container, ContainerState } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import { globalAddresses } from '../../../../server/client/wait/describe-state.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { KindName } from '../../../../server/api/kinds.ts';
import type { CliContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { filterLive } from '../../flags/label-options.ts';
import { parseKind } from '../../flags/options.ts';
import { paintFor } from '../../output/paint.ts';
import { withClient } from '../../session/session.ts';
import { renderTable } from '../../output/table.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';

const formats = ['table', 'yaml', 'json', 'name'] as const;

/** `isShown`: objects go into a table in the end, which has columns that plain lists do not know. */
export async function get(context: CliContext, args: readonly string[], isShown = false): Promise<ExitCode> {
  const format = context.isJson ? 'json' : formats.find((one) => one === (context.options.output ?? 'table'));
  if (format === undefined)
    throw usageError(`--output ${JSON.stringify(context.options.output)} is none of ${formats.join(', ')}`);
  const { kind, names } = wantedOf(args);
  const hasStates = kind === 'container' && (isShown || format === 'table');
  const listed = await withClient(context, (client) =>
    hasStates ? containersWithState(client, context.stop) : client.list(kind, context.stop),
  );
  const objects = filterLive(context.options, listed);
  const named = objects
    .map((object) => ({ name: nameOf(kind, object), object: { kind, ...object } as Shown }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const chosen =
    names.length === 0 ? named : names.flatMap((name) => named.filter((one) => isNamed(kind, one.name, name)));
  for (const name of names) {
    if (named.some((one) => isNamed(kind, one.name, name))) continue;
    const known = named.map((one) => `${kind}/${one.name}`);
    throw new CliError(`${kind}/${name} does not exist${hint(`${kind}/${name}`, known)}`, exitCodes.error);
  }
  const { stdout } = context.io;
  if (format === 'name') stdout.write(chosen.map(({ name }) => `${name}\n`).join(''));
  else if (format === 'yaml') stdout.write(chosen.map(({ object }) => `---\n${yamlText(object)}`).join(''));
  else if (format === 'json') {
    const all = chosen.map(({ object }) => object);
    stdout.write(`${JSON.stringify(names.length === 1 ? all[0] : all, null, context.isJson ? 0 : 2)}\n`);
  } else
    context.io.stdout.write(
      `${renderTable(
        heads[kind],
        chosen.map(({ name, object }) => [name, ...cells[kind](object)]),
        paintFor(context.color),
      )}\n`,
    );
  return exitCodes.ok;
}

/** How the table of a kind looks. Throws for what is no kind, or no format. */
export function columnsOf(
  args: readonly string[],
  format: string,
): { readonly head: readonly string[]; readonly row: (object: Shown) => readonly string[] } {
  if (!formats.some((one) => one === format))
    throw usageError(`--output ${JSON.stringify(format)} is none of ${formats.join(', ')}`);
  const { kind } = wantedOf(args);
  return { head: heads[kind], row: (object) => [nameOf(kind, object), ...cells[kind](object)] };
}

/** `container web1`, or `container/web1`. */
function wantedOf([first = '', ...rest]: readonly string[]): {
  readonly kind: Kind;
  readonly names: readonly string[];
} {
  const slash = first.indexOf('/');
  const kind = parseKind(slash === -1 ? first : first.slice(0, slash));
  if (kind === undefined) {
    const known = Object.keys(heads);
    throw usageError(`there is no kind ${first}${hint(first, known)}; the kinds are ${known.join(', ')}`);
  }
  return { kind, names: slash === -1 ? rest : [first.slice(slash + 1), ...rest] };
}

type Kind = NonNullable<ReturnType<typeof parseKind>>;
export type Shown = Readonly<Record<string, unknown>>;

function nameOf(kind: KindName, object: object): string {
  const { name, pool, fingerprint } = object as { name?: string; pool?: string; fingerprint?: string };
  if (kind === 'image' || kind === 'certificate') return fingerprint ?? '';
  return kind === 'storage_volume' ? `${pool ?? ''}/${name ?? ''}` : (name ?? '');
}

const isNamed = (kind: KindName, name: string, wanted: string): boolean =>
  name === wanted || ((kind === 'image' || kind === 'certificate') && wanted.length >= 6 && name.startsWith(wanted));

const text = (object: Shown, key: string): string => {
  const value = object[key];
  return typeof value === 'string' ? value.split('\n', 1).join('') : Array.isArray(value) ? value.join(',') : '';
};
const heads: Readonly<Record<Kind, readonly string[]>> = {
  server_config: ['NAME', 'KEYS'],
  certificate: ['FINGERPRINT', 'NAME', 'TYPE'],
  project: ['NAME', 'USED BY', 'DESCRIPTION'],
  storage_pool: ['NAME', 'DRIVER', 'STATUS', 'USED BY', 'DESCRIPTION'],
  storage_volume: ['NAME', 'USED BY', 'DESCRIPTION'],
  network: ['NAME', 'TYPE', 'MANAGED', 'USED BY', 'DESCRIPTION'],
  profile: ['NAME', 'USED BY', 'DESCRIPTION'],
  image: ['FINGERPRINT', 'ALIASES', 'ARCHITECTURE', 'UPLOADED'],
  image_alias: ['NAME', 'TARGET', 'DESCRIPTION'],
  container: ['NAME', 'STATUS', 'ADDRESSES', 'IMAGE', 'PROFILES', 'DESCRIPTION'],
};
const users = (object: Shown): string => String(Array.isArray(object['used_by']) ? object['used_by'].length : 0);
const cells: Readonly<Record<Kind, (object: Shown) => readonly string[]>> = {
  server_config: (object) => [String(Object.keys(object['config'] ?? {}).length)],
  certificate: (object) => [text(object, 'name'), text(object, 'type')],
  project: (object) => [users(object), text(object, 'description')],
  storage_pool: (object) => [
    text(object, 'driver'),
    text(object, 'status'),
    users(object),
    text(object, 'description'),
  ],
  storage_volume: (object) => [users(object), text(object, 'description')],
  network: (object) => [
    text(object, 'type'),
    object['managed'] === true ? 'yes' : 'no',
    users(object),
    text(object, 'description'),
  ],
  profile: (object) => [users(object), text(object, 'description')],
  image: (object) => [
    ((object['aliases'] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name).join(','),
    text(object, 'architecture'),
    text(object, 'uploaded_at').slice(0, 10),
  ],
  image_alias: (object) => [text(object, 'target').slice(0, 12), text(object, 'description')],
  container: (object) => [
    text(object, 'status'),
    addressesOf(object),
    imageOf(object),
    text(object, 'profiles'),
    text(object, 'description'),
  ],
};

/** One call for all of them; servers that know no such list leave `state` out. */
async function containersWithState(client: Client, signal: AbortSignal): Promise<readonly Container[]> {
  const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
  const { metadata } = await client.http.send<readonly Container[] | null>(call, signal);
  return metadata ?? [];
}

const addressesOf = ({ state }: Shown): string =>
  state === undefined || state === null
    ? ''
    : globalAddresses(state as ContainerState)
        .map(({ address }) => address)
        .join(' ');

/** What the image says of itself, else the begin of its fingerprint. */
function imageOf({ config }: Shown): string {
  const { 'image.description': description, 'volatile.base_image': fingerprint } = (config ?? {}) as Partial<
    Record<string, string>
  >;
  return description ?? fingerprint?.slice(0, 12) ?? '';
}
