// `gantry list`: the containers of a host, or of several, with state, addresses, image and set.
import type { Container, ContainerFull } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import { defaultProject } from '../../../../server/api/project/project-names.ts';
import { globalAddresses } from '../../../../server/client/wait/describe-state.ts';
import { usageError } from '../../errors/usage-error.ts';
import { filterLive, objectSelector } from '../../flags/label-options.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { selectObjects } from '../../flags/selector.ts';
import { answersOf, failureCode } from '../../hosts/ask-hosts.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import { withClient } from '../../session/connect.ts';
import type { Context, Run, Output } from '../../session/context.ts';
import { shownName } from '../objects/columns.ts';
import type { ListOptions } from './daily-verbs.ts';
import { ownersOf } from './owners.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface Row {
  readonly kind: 'container';
  readonly name: string;
  readonly state: string;
  readonly addresses: readonly string[];
  readonly image: string;
  readonly sets: readonly string[];
  readonly host?: string;
}

/** A container with its row. */
interface Listed {
  readonly row: Row;
  readonly live: ListedContainer;
}

const formats = ['table', 'yaml', 'json', 'name'] as const;

export const listContainers: Run<ListOptions> = async (context, words, fleet) => {
  const format = formatOf(context.options.output, formats);
  const wanted = words.map((word) => `container/${parseContainer(word, 'gantry list')}`);
  const answers = await answersOf(context, fleet, (own) => withClient(own, (client) => rowsOn(own, client)));
  for (const { host, failure } of answers) if (failure !== undefined) context.note(`${host.name}: ${failure.message}`);
  const listed = answers.flatMap((one) =>
    one.failure === undefined
      ? one.value.map(({ row, live }) =>
          one.host === undefined ? { row, live } : { row: { host: one.host.name, ...row }, live },
        )
      : [],
  );
  const chosen = select(wanted, listed);
  if (format === 'table' || context.isJson)
    show(
      context,
      chosen.map(({ row }) => row),
      fleet !== undefined,
    );
  else await showAs(format, context, chosen);
  if (chosen.length === 0 && format === 'table' && answers.every(({ failure }) => failure === undefined))
    context.note(
      objectSelector(context.options) === undefined
        ? 'No container yet: gantry launch IMAGE NAME makes one'
        : 'No container has these labels',
    );
  return failureCode(answers);
};

function select(wanted: readonly string[], listed: readonly Listed[]): readonly Listed[] {
  const named = listed.map((one) => ({ ...one, kind: one.row.kind, name: one.row.name }));
  return selectObjects(wanted, named);
}

async function rowsOn({ options, stop }: Context<ListOptions>, client: Client): Promise<readonly Listed[]> {
  if (options.allProjects === true && options.project !== undefined)
    throw usageError('--all-projects lists every project: it cannot be combined with --project');
  const listed = async (one: Client): Promise<readonly ListedContainer[]> => {
    const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
    return (await one.http.send<readonly ListedContainer[] | null>(call, stop)).metadata ?? [];
  };
  const all =
    options.allProjects === true
      ? await (await import('../objects/all-projects.ts')).listOfAllProjects(client, 'container', listed, stop)
      : await listed(client);
  return filterLive(options, all)
    .map((live) => ({
      row: rowOf(live, options.allProjects === true ? (live.project ?? defaultProject) : defaultProject),
      live,
    }))
    .sort((a, b) => (a.row.name < b.row.name ? -1 : 1));
}

/** Older servers leave the state out. */
type ListedContainer = Container & Partial<Pick<ContainerFull, 'state'>> & { readonly project?: string };

function rowOf(one: ListedContainer, project: string): Row {
  const { name, status, state } = one;
  const config: Partial<Record<string, string>> = one.config;
  const addresses = state === undefined || state === null ? [] : globalAddresses(state).map(({ address }) => address);
  return {
    kind: 'container',
    name: shownName(name, project),
    state: status,
    addresses,
    image: config['image.description'] ?? config['volatile.base_image']?.slice(0, 12) ?? '',
    sets: ownersOf('container', name, one).map(({ set }) => set),
  };
}

/** The containers as the server has them: JSON as one array, as `lxc list --format json` and kubectl write it. */
async function showAs(format: 'yaml' | 'json' | 'name', { io }: Output, listed: readonly Listed[]): Promise<void> {
  const objects = listed.map(({ row, live }) => ({
    ...withoutUndefined({ host: row.host }),
    kind: row.kind,
    ...live,
  }));
  if (format === 'json') io.stdout.write(`${JSON.stringify(objects, null, 2)}\n`);
  else if (format === 'name')
    io.stdout.write(
      listed.map(({ row: { host, name } }) => `${host === undefined ? '' : `${host}/`}${name}\n`).join(''),
    );
  else {
    const { yamlText } = await import('../../../manifest/text/yaml-text.ts');
    io.stdout.write(objects.map((object) => `---\n${yamlText(object)}`).join(''));
  }
}

function show(context: Output, rows: readonly Row[], hasHosts: boolean): void {
  if (context.isJson) return context.jsonObjects(rows);
  const head = [...(hasHosts ? ['HOST'] : []), 'NAME', 'STATE', 'ADDRESSES', 'IMAGE', 'SET'];
  const texts = rows.map(({ host, name, state, addresses, image, sets }) => [
    ...(hasHosts ? [host ?? ''] : []),
    name,
    state,
    addresses.join(' '),
    image,
    sets.length === 0 ? '-' : sets.join(', '),
  ]);
  context.out(renderTable(head, texts, paintFor(context.color)));
}
