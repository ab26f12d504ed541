// Lets every resource and data source choose its server and project: the attributes `remote` and `project`, which select the
// connection, and their places in import ids.
import { projectName } from '../../server/api/names.ts';
import { isRefused } from '../../server/client/client-error.ts';
import { text, type Attributes } from '../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import type { Action, AnyAction } from '../framework/actions/action.ts';
import type { Listing } from '../framework/listing/listing.ts';
import { at } from '../framework/path.ts';
import { endImport } from '../framework/import-mark.ts';
import { endMove, isUnread, noteFound } from '../framework/move-mark.ts';
import type { Context } from '../framework/object-type.ts';
import {
  importIdOf,
  type AnyDataSource,
  type AnyResource,
  type DataSource,
  type PlanHook,
  type Resource,
} from '../framework/provider.ts';
import { timeoutsAttribute } from '../framework/timeouts.ts';
import { isUnknown, type Value, type ValueMap } from '../framework/value.ts';
import { noRemote } from './connect.ts';
import { isGantry, type Link, type Scope } from './link.ts';
import { lxdOnlyWarnings } from './lxd-only.ts';
import { notePlannedName } from './planned-names.ts';
import { movedNowhere, takenFromElsewhere } from './taken-over.ts';
import { remoteName } from './remotes.ts';

export interface Scoping {
  /** False for server-wide objects, such as certificates and pools. */
  readonly inProjects: boolean;
}

const remote = text({
  doc: "The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.",
  check: (name: string) => (name === '' || remoteName.test(name) ? undefined : 'must name a remote of the provider'),
});
const project = text({
  doc: 'Project of the object, on servers with projects. Default: the project of the provider.',
  check: (name: string) => (name === '' ? undefined : projectName(name)),
});
const elsewhere = 'A change replaces the object.';

export const attributesFor = ({ inProjects }: Scoping, note = ''): Attributes => ({
  remote: { ...remote, doc: `${remote.doc}${note}` },
  ...(inProjects ? { project: { ...project, doc: `${project.doc}${note}` } } : {}),
});

/** A resource has the project of its import id also where its configuration leaves it out, since the id says nothing about that. */
const attributesOfResource = (scoping: Scoping): Attributes => {
  const { project: named, ...rest } = attributesFor(scoping, ` ${elsewhere}`);
  return named === undefined ? rest : { ...rest, project: { ...named, optional: true, computed: true } };
};

const known = (value: Value | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);
const scopeOf = (values: ValueMap): Scope => ({ remote: known(values['remote']), project: known(values['project']) });

export async function inScope<X extends Context<Link>>(context: X, values: ValueMap): Promise<X> {
  const scope = scopeOf(values);
  if (scope.remote === null && scope.project === null) return context;
  return { ...context, client: await context.client.reach.at(scope) };
}

/** The same resource, with time limits, and with operations in the scope that its attributes name. */
export function scopedResource<A extends Attributes>(
  definition: Resource<A, Link>,
  scoping: Scoping,
): AnyResource<Link> {
  // The framework calls the operations only with values of its attributes.
  const inner = definition as unknown as AnyResource<Link>;
  const names = scoping.inProjects ? (['remote', 'project'] as const) : (['remote'] as const);
  return {
    ...inner,
    attributes: { ...inner.attributes, timeouts: timeoutsAttribute, ...attributesOfResource(scoping) },
    optionalIdentity: names,
    ...(inner.listing === undefined ? {} : { listing: scopedListing(inner.listing, scoping) }),
    plan: (hook) => planInScope(inner, hook, names),
    read: (state, context) => readInScope(inner, state, context),
    create: async (wanted, context) => inner.create(wanted, await inScope(context, wanted.planned as ValueMap)),
    async update(wanted, prior, context) {
      endMove(context.privateData);
      const within = await inScope(context, prior as ValueMap);
      const changed = await inner.update(wanted, prior, within).catch((error: unknown) => {
        // A name that the plan did not know: the object that has it may have been planned since, to get the former name of this one.
        const found = isRefused(error, 'exists')
          ? nameCycle(inner, { planned: wanted.planned as ValueMap, prior: prior as ValueMap }, within.client)
          : [];
        throw found.length > 0 ? new DiagnosticError(found, error) : error;
      });
      endImport(context.privateData);
      return changed;
    },
    delete: async (prior, context) => inner.delete(prior, await inScope(context, prior as ValueMap)),
    importing: {
      ...inner.importing,
      doc: `${inner.importing.doc}. \`${names.map((name) => `,${name}=<name>`).join('')}\` at its end, or \`<remote>:\` before it, select the server and project`,
      parse(id, link) {
        const { rest, scope } = splitScope(id, link, inner.typeName);
        const found = inner.importing.parse(rest, link) as ValueMap;
        checkScope(id, [known(found['project']), scope.project ?? null], scoping, inner.typeName);
        return { ...found, ...scope };
      },
      id: (identity) => {
        const id = importIdOf(inner, identity);
        const isPlain = !/[:,]/.test(id);
        const where = names.flatMap((name) =>
          isPlain && known(identity[name]) === null ? [] : [`,${name}=${identity[name] ?? ''}`],
        );
        return `${id}${where.join('')}`;
      },
    },
  };
}

/** An object that a `moved` block takes over must be there: the plan would create another one. */
async function readInScope(
  inner: AnyResource<Link>,
  state: Parameters<AnyResource<Link>['read']>[0],
  context: Context<Link>,
) {
  const within = await inScope(context, state as ValueMap);
  const found = await inner.read(state, within);
  if (found === null && isUnread(context.privateData)) throw movedNowhere(inner, state as ValueMap, within.client);
  noteFound(context.privateData);
  return found;
}

/** Adds the searched server and project to the found objects. */
function scopedListing(inner: Listing<Link>, scoping: Scoping): Listing<Link> {
  const attributes = attributesFor(scoping);
  return {
    ...inner,
    attributes: { ...inner.attributes, ...attributes },
    async find(config, context) {
      const scope = Object.fromEntries(Object.keys(attributes).map((name) => [name, config[name] ?? null] as const));
      const found = await inner.find(config, await inScope(context, config));
      return found.map((each) => ({ ...each, state: { ...each.state, ...scope } }));
    },
  };
}

/** The same action, run in the scope that its attributes name. */
export function scopedAction<A extends Attributes>(definition: Action<A, Link>): AnyAction<Link> {
  const inner = definition as unknown as AnyAction<Link>;
  return {
    ...inner,
    attributes: { ...inner.attributes, ...attributesFor({ inProjects: true }) },
    plan: async (config, context) => inner.plan?.(config, await inScope(context, config as ValueMap)),
    invoke: async (config, context) => inner.invoke(config, await inScope(context, config as ValueMap)),
  };
}

/** `projects`: the project in each of the two places of the id. */
function checkScope(
  id: string,
  projects: readonly [string | null, string | null],
  { inProjects }: Scoping,
  typeName: string,
): void {
  const [before, after] = projects;
  const said = before ?? after;
  if (said === null || (inProjects && (before === null || after === null || before === after))) return;
  const detail = inProjects
    ? `It names both ${before} and ${after}.`
    : `A ${typeName} belongs to no project; leave it out.`;
  throw new DiagnosticError([failure(`The project in the import id ${JSON.stringify(id)} is wrong`, detail)]);
}

async function planInScope(
  inner: AnyResource<Link>,
  hook: PlanHook<Attributes, Link>,
  names: readonly ('remote' | 'project')[],
): Promise<void> {
  const { prior, client } = hook;
  const planned: Record<string, Value> = hook.planned;
  // Left out, it is that of the provider, which the state may name.
  if (hook.config['project'] === null) {
    const before = known((prior as ValueMap | null)?.['project']);
    const place = (named: string | null) => client?.reach.placeOf({ remote: known(planned['remote']), project: named });
    planned['project'] = before !== null && place(before) === place(null) ? before : null;
  }
  const isKnown = names.every((name) => !isUnknown(planned[name] ?? null));
  const scope = scopeOf(planned);
  if (client !== undefined && scope.remote !== null && !client.reach.remotes.includes(scope.remote)) {
    hook.add(noRemote(scope.remote, client.reach.remotes));
    return;
  }
  if (prior !== null) {
    const before = scopeOf(prior as ValueMap);
    const isSame =
      isKnown && client !== undefined
        ? await client.reach.isSamePlace(before, scope)
        : isKnown && before.remote === scope.remote && before.project === scope.project;
    if (!isSame && (hook.takenBy !== undefined || hook.isImported)) {
      const found = takenFromElsewhere(`${hook.takenBy ?? 'imported'} ${inner.typeName}`, names, before, scope);
      hook.add(hook.takenBy === undefined ? { ...found, severity: 'warning' } : found);
      if (hook.takenBy !== undefined) return;
    }
    if (!isSame) {
      for (const name of names)
        if (isUnknown(planned[name] ?? null) || before[name] !== scope[name]) hook.replace(at(name));
    }
  }
  const isElsewhere = scope.remote !== null || scope.project !== null;
  const link = !isKnown ? undefined : isElsewhere ? await client?.reach.at(scope) : client;
  if (link !== undefined && prior !== null)
    for (const found of nameCycle(inner, { planned, prior: prior as ValueMap }, link)) hook.add(found);
  if (inner.plan === undefined) return;
  await inner.plan({ ...hook, client: link });
  if (hook.differs && link !== undefined && isGantry(link)) {
    for (const found of lxdOnlyWarnings(inner.typeName, planned)) hook.add(found);
  }
}

/** Objects cannot take each other's names: the server gives a name only while it is free. */
function nameCycle(
  { typeName, identity, attributes }: AnyResource<Link>,
  { planned, prior }: { readonly planned: Readonly<Record<string, Value>>; readonly prior: ValueMap },
  link: Link,
): readonly Diagnostic[] {
  const [name, ...holders] = identity.toReversed();
  const [before, after] = [prior['name'], planned['name']];
  if (name !== 'name' || attributes[name]?.replace !== undefined || before === after) return [];
  if (typeof before !== 'string' || typeof after !== 'string') return [];
  if (holders.some((each) => prior[each] !== planned[each])) return [];
  const others = notePlannedName(
    link,
    { typeName, within: holders.map((each) => prior[each] ?? null), name: before },
    after,
  );
  if (others.length === 0) return [];
  const round = [before, ...others, before].join(' -> ');
  const detail = `The new names go round (${round}), so that none is free when its object gets it. Do it in two applies: first give this one a name that nothing has; then write the final names, each with depends_on the resource that has that name until then.`;
  return [failure(`The ${typeName} ${before} cannot become ${after} in this apply`, detail, at('name'))];
}

/** Reads options at the end first, since the text before them belongs to the resource and may hold commas and colons. */
function splitScope(
  id: string,
  { reach }: Link,
  typeName: string,
): { readonly rest: string; readonly scope: Partial<Record<'remote' | 'project', string>> } {
  const scope: Partial<Record<'remote' | 'project', string>> = {};
  let rest = id;
  for (;;) {
    const [whole = '', name, value = ''] = /,(remote|project)=([^,]*)$/.exec(rest) ?? [];
    if (whole === '' || scope[name as 'remote' | 'project'] !== undefined) break;
    scope[name as 'remote' | 'project'] = value;
    rest = rest.slice(0, -whole.length);
  }
  const [head = '', before = ''] = scope.remote === undefined ? (/^([A-Za-z0-9][\w.-]*):/.exec(rest) ?? []) : [];
  if (reach.remotes.includes(before)) {
    scope.remote = before;
    rest = rest.slice(head.length);
  } else if (before !== '' && typeName !== 'gantry_image_alias') {
    const { summary, detail } = noRemote(before, reach.remotes);
    const remedy = `An import id has a remote before its first colon; where that is part of a name, write ${id},remote=`;
    throw new DiagnosticError([failure(summary, `${detail} ${remedy}`, at('remote'))]);
  }
  const { remote: named = '' } = scope;
  if (named !== '' && !reach.remotes.includes(named)) throw new DiagnosticError([noRemote(named, reach.remotes)]);
  const given = Object.entries(scope).filter(([, value]) => value !== '');
  return { rest, scope: Object.fromEntries(given) };
}

/** The same data source, read in the scope that its attributes name. */
export function scopedData<A extends Attributes>(
  definition: DataSource<A, Link>,
  scoping: Scoping,
): AnyDataSource<Link> {
  const inner = definition as unknown as AnyDataSource<Link>;
  return {
    ...inner,
    attributes: { ...inner.attributes, ...attributesFor(scoping) },
    read: async (config, context) => inner.read(config, await inScope(context, config as ValueMap)),
  };
}
