// `gantry get KIND [NAME]`: live objects of one kind, as a table, names, YAML or JSON.
import type { Container } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import { kindNames, kindOfWord, kindRow, nameOfObject, type KindName } from '../../../../server/api/kinds.ts';
import type { CliContext } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import type { GetOptions } from './object-verbs.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { filterLive } from '../../flags/label-options.ts';
import { paintFor } from '../../output/paint.ts';
import { columnsOfKind, type Columns, type Shown } from './columns.ts';
import { withClient } from '../../session/connect.ts';
import { renderTable } from '../../output/table.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';

export const formats = ['table', 'yaml', 'json', 'name'] as const;

/** `isShown`: the objects end in a table, whose columns need more than the plain list. */
export async function get(
  context: CliContext<GetOptions>,
  args: readonly string[],
  isShown = false,
): Promise<ExitCode> {
  const format = context.isJson ? 'json' : formatOf(context.options.output, formats);
  const { kind, names } = wantedOf(args);
  const hasStates = kind === 'container' && (isShown || format === 'table');
  const listed = await withClient(context, (client) =>
    hasStates ? containersWithState(client, context.stop) : client.list(kind, context.stop),
  );
  const objects = filterLive(context.options, listed);
  const named = objects
    .map((object) => ({ name: nameOfObject(kind, object), object: { kind, ...object } as Shown }))
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
  } else {
    const { head, row } = columnsOfKind(kind);
    context.io.stdout.write(
      `${renderTable(
        head,
        chosen.map(({ object }) => row(object)),
        paintFor(context.color),
      )}\n`,
    );
  }
  return exitCodes.ok;
}

/** How the table of a kind looks. Throws for an unknown kind. */
export const columnsOf = (args: readonly string[]): Columns => columnsOfKind(wantedOf(args).kind);

/** `container web1`, or `container/web1`. */
function wantedOf([first = '', ...rest]: readonly string[]): {
  readonly kind: KindName;
  readonly names: readonly string[];
} {
  const slash = first.indexOf('/');
  const kind = kindOfWord(slash === -1 ? first : first.slice(0, slash));
  if (kind === undefined) {
    throw usageError(`unknown kind ${first}${hint(first, kindNames)}; the kinds are ${kindNames.join(', ')}`);
  }
  return { kind, names: slash === -1 ? rest : [first.slice(slash + 1), ...rest] };
}

const isNamed = (kind: KindName, name: string, wanted: string): boolean =>
  name === wanted || (kindRow(kind).namedBy?.[0] === 'fingerprint' && wanted.length >= 6 && name.startsWith(wanted));

/** One call for all containers; older servers leave `state` out. */
async function containersWithState(client: Client, signal: AbortSignal): Promise<readonly Container[]> {
  const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
  const { metadata } = await client.http.send<readonly Container[] | null>(call, signal);
  return metadata ?? [];
}
