// `gantry show`: live objects as the API returns them, by KIND/NAME or all of them.
import { existsSync } from 'node:fs';
import { addressParts, type Address } from '../../../core/documents/document.ts';
import type { Command, Output, Run } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { Reply } from '../../../../server/client/transport/reply.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import { kindRow, listedKinds, nameOfObject, type KindName } from '../../../../server/api/kinds.ts';
import type { ShowOptions } from './object-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { parseAddress } from '../../flags/parse-values.ts';
import { paintFor } from '../../output/paint.ts';
import { fleetPlanFormat, savedPlanAt, startsAs } from '../planning/saved-plan.ts';
import { withClient } from '../../session/connect.ts';
import { renderTable } from '../../output/table.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';

/** Every server has these. */
const listed = listedKinds.filter((kind) => kindRow(kind).since === undefined);

export const show: Run<ShowOptions> = async (context, addresses) => {
  const [path = ''] = addresses;
  if (addresses.length === 1 && path !== '-' && (await startsAs(path, fleetPlanFormat)))
    return showFleetPlan(context, addresses);
  const saved = await savedPlanAt(addresses, context);
  if (saved !== undefined) {
    context.io.stdout.write(context.isJson ? `${JSON.stringify(saved.plan)}\n` : saved.text);
    return exitCodes.ok;
  }
  const parsed = addresses.map(addressOf);
  await withClient(context, async (client) => {
    if (parsed.length === 0) return showAll(context, client);
    for (const address of parsed) await showOne(context, client, address);
  });
  return exitCodes.ok;
};

/** A word such as web.plan is meant as a file. */
function addressOf(text: string): Address {
  try {
    return parseAddress(text);
  } catch (error) {
    if (!/^\.{0,2}\/|\.\w+$/.test(text)) throw error;
    const why = existsSync(text) ? `${text} is not a saved plan` : `there is no file ${text}`;
    throw usageError(`${why}: gantry plan --out ${text} saves a plan there; gantry show KIND/NAME shows a live object`);
  }
}

/** Prints equal plans of several hosts once. */
async function showFleetPlan(context: Output, args: readonly string[]): Promise<void> {
  const { fleetPlanAt } = await import('../planning/fleet-plan.ts');
  const plans = [...((await fleetPlanAt(args))?.plans ?? [])];
  if (context.isJson) return context.jsonObjects(plans.map(([host, { plan }]) => ({ host, plan })));
  const paint = paintFor(context.color);
  for (const text of new Set(plans.map(([, plan]) => plan.text))) {
    const names = plans.flatMap(([host, plan]) => (plan.text === text ? [host] : []));
    context.out(`${paint.bold(`Host${names.length === 1 ? '' : 's'} ${names.join(', ')}`)}\n${text}`);
  }
}

async function showOne(context: Command, client: Client, address: Address): Promise<void> {
  const { kind, name } = addressParts(address);
  const reply = await read(client, kind, name, context.stop).catch((error: unknown) => {
    throw isNotFound(error) ? commandError(`${address} does not exist`, error) : error;
  });
  const object = { kind, ...reply.metadata };
  if (context.isJson) return context.jsonObjects(object);
  context.out(`---\n${yamlText(object).trimEnd()}`);
}

/** Also resolves `web1@team`, unless an object has exactly that name. */
async function read(client: Client, kind: KindName, name: string, signal: AbortSignal): Promise<Reply<object>> {
  const at = name.lastIndexOf('@');
  return client.get(kind, name, signal).catch(async (error: unknown) => {
    if (at <= 0 || !isNotFound(error)) throw error;
    const project = name.slice(at + 1);
    const reply = await client.inProject(project).get(kind, name.slice(0, at), signal);
    return { ...reply, metadata: { ...reply.metadata, project } };
  });
}

async function showAll(context: Command, client: Client): Promise<void> {
  const lists = await Promise.all(listed.map((kind) => client.list(kind, context.stop)));
  const found = listed.flatMap((kind, index) => (lists[index] ?? []).map((object) => ({ kind, object })));
  if (context.isJson) return context.jsonObjects(found.map(({ kind, object }) => ({ kind, ...object })));
  const rows = found.map(({ kind, object }) => [`${kind}/${shortened(nameOfObject(kind, object))}`, summaryOf(object)]);
  context.out(renderTable(['OBJECT', 'WHAT'], rows, paintFor(context.color)));
}

/** The first digits of a fingerprint identify it and fit a row. */
const shortened = (text: string): string => (/^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : text);

const summaryOf = (object: object): string =>
  ['status', 'driver', 'type', 'target', 'description']
    .flatMap((key) => textOf(object, key) ?? [])
    .filter((text) => text !== '')
    .map(shortened)
    .join(', ');

function textOf(object: object, key: string): string | undefined {
  const value: unknown = (object as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' ? value : undefined;
}
