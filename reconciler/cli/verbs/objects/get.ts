// `gantry get KIND [NAME]`: live objects of one kind, of a host or of several, as a table, names, YAML or JSON.
import type { Container } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import {
  isInProject,
  kindNames,
  kindOfWord,
  kindRow,
  nameOfObject,
  type KindName,
} from '../../../../server/api/kinds.ts';
import { defaultProject } from '../../../../server/api/project/project-names.ts';
import { notesProfile } from '../../../core/kinds/notes-profile.ts';
import type { Context, Run } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import type { GetOptions } from './object-verbs.ts';
import { filterLive } from '../../flags/label-options.ts';
import { askHosts, failureCode, renderHosts } from '../../hosts/ask-hosts.ts';
import { columnsOfKind, shownName, type ObjectRow } from './columns.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';

const formats = ['table', 'yaml', 'json', 'name'] as const;

export const get: Run<GetOptions> = async (context, args, fleet) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, formats);
  const { kind, names } = wantedOf(args);
  const isOfAll = ofAllProjects(context.options, kind);
  const wanted = { kind, names, isOfAll, hasStates: kind === 'container' && format === 'table' };
  const answers = await askHosts(context, fleet, (own) => findOn(own, wanted));
  const found = answers.flatMap((one) =>
    one.failure === undefined ? one.value.map((each) => ({ ...each, host: one.host?.name })) : [],
  );
  const { stdout } = context.io;
  const labelled = found.map(({ host, object }): ObjectRow => (host === undefined ? object : { host, ...object }));
  if (format === 'name')
    stdout.write(
      found
        .map(({ host, name, project }) => `${host === undefined ? '' : `${host}/`}${shownName(name, project)}\n`)
        .join(''),
    );
  else if (format === 'yaml') stdout.write(labelled.map((object) => `---\n${yamlText(object)}`).join(''));
  else if (format === 'json') {
    const isOne = fleet === undefined && names.length === 1 && !isOfAll;
    stdout.write(`${JSON.stringify(isOne ? labelled[0] : labelled, null, context.isJson ? 0 : 2)}\n`);
  } else {
    const { head, row } = columnsOfKind(kind, isOfAll);
    const rows = (each: readonly ListedObject[]): readonly (readonly string[])[] =>
      each.map(({ object }) => row(object));
    context.out(renderHosts(context, fleet, answers, { head, rows }));
  }
  return failureCode(answers);
};

interface GetRequest {
  readonly kind: KindName;
  readonly names: readonly string[];
  /** The list spans projects. */
  readonly isOfAll: boolean;
  readonly hasStates: boolean;
}

interface ListedObject extends Named {
  readonly object: ObjectRow;
}

async function findOn(
  context: Context<GetOptions>,
  { kind, names, isOfAll, hasStates }: GetRequest,
): Promise<readonly ListedObject[]> {
  const list = async (client: Client): Promise<readonly object[]> =>
    hasStates ? containersWithState(client, context.stop) : client.list(kind, context.stop);
  const listed = await withClient(context, async (client) =>
    isOfAll ? (await import('./all-projects.ts')).listOfAllProjects(client, kind, list, context.stop) : list(client),
  );
  const isAsked = names.includes(notesProfile);
  const objects = filterLive(
    context.options,
    listed.filter((one) => isAsked || kind !== 'profile' || nameOfObject(kind, one) !== notesProfile),
  );
  const named = objects
    .map((object) => ({
      name: nameOfObject(kind, object),
      project: isOfAll ? ((object as { readonly project?: string }).project ?? defaultProject) : defaultProject,
      object: { kind, ...object } as ObjectRow,
    }))
    .sort((a, b) => ((a.project === b.project ? a.name < b.name : a.project < b.project) ? -1 : 1));
  for (const name of names) {
    if (named.some((one) => isNamed(kind, one, name))) continue;
    const known = named.map((one) => `${kind}/${shownName(one.name, one.project)}`);
    throw commandError(`${kind}/${name} does not exist${hint(`${kind}/${name}`, known)}`);
  }
  return names.length === 0 ? named : names.flatMap((name) => named.filter((one) => isNamed(kind, one, name)));
}

/** Whether the list spans projects. The flag does not affect kinds outside projects. */
function ofAllProjects({ allProjects, project }: GetOptions, kind: KindName): boolean {
  if (allProjects !== true) return false;
  if (project !== undefined)
    throw usageError('--all-projects lists every project: it cannot be combined with --project');
  return isInProject(kind);
}

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

interface Named {
  readonly name: string;
  readonly project: string;
}

const isNamed = (kind: KindName, { name, project }: Named, wanted: string): boolean =>
  name === wanted ||
  shownName(name, project) === wanted ||
  (kindRow(kind).namedBy?.[0] === 'fingerprint' && wanted.length >= 6 && name.startsWith(wanted));

/** One call for all containers; older servers leave `state` out. */
async function containersWithState(client: Client, signal: AbortSignal): Promise<readonly Container[]> {
  const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
  const { metadata } = await client.http.send<readonly Container[] | null>(call, signal);
  return metadata ?? [];
}
