// Finds the live objects that a command line names, on one host or several, and performs one action on each.
import { kinds, nameOfObject, type KindName } from '../../../../server/api/kinds.ts';
import type { Client } from '../../../../server/client/client.ts';
import { notesProfile } from '../../../core/kinds/notes-profile.ts';
import { codeOf, messageOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parseContainer, parseContainerOrAddress } from '../../flags/parse-values.ts';
import { selectObjects } from '../../flags/selector.ts';
import { failureCode, hostsToAsk } from '../../hosts/ask-hosts.ts';
import { eachHost, worstCode } from '../../hosts/each-host.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Context, Fleet, Output, Run } from '../../session/context.ts';
import { ownersOf, type Owner } from './owners.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface Target {
  readonly kind: KindName;
  readonly name: string;
  readonly owners: readonly Owner[];
  /** Containers only: `Running`. */
  readonly status?: string;
  /** Name of its host, when the command works on several. */
  readonly host?: string;
}

export interface ActionResult {
  /** `container/web stopped`. */
  readonly text: string;
  /** Added to the name in JSON. */
  readonly json: object;
  /** An extra line for the user. */
  readonly note?: string;
}

export interface Action<O extends HostOptions> {
  readonly verb: string;
  /** Kinds beside containers are allowed as KIND/NAME. */
  readonly takesKinds?: boolean;
  /** Throws to refuse the action before any object changes. */
  readonly prepare?: (context: Context<O>, targets: readonly Target[]) => Promise<void> | void;
  readonly act: (context: Context<O>, client: Client, target: Target) => Promise<ActionResult>;
}

export const addressOf = ({ kind, name, host }: Target): string =>
  `${kind}/${name}${host === undefined ? '' : ` on ${host}`}`;

export const runOnTargets =
  <O extends HostOptions>(action: Action<O>): Run<O> =>
  async (context, args, fleet) => {
    const words = args.map((word) => addressIn(word, action));
    if (fleet !== undefined) return runOnHosts(action, context, fleet, words);
    return withClient(context, async (client) => {
      const targets = inOrder(selectObjects(words, await listTargets(client, words, context.stop)));
      await action.prepare?.(context, targets);
      return worstCode(await runOnEach(context, targets, (one) => action.act(context, client, one)));
    });
  };

/** Works on every host that has one of the objects. Finds and approves everything before it changes the first host. */
async function runOnHosts<O extends HostOptions>(
  action: Action<O>,
  context: Context<O>,
  fleet: Fleet,
  words: readonly string[],
): Promise<ExitCode> {
  const hosts = hostsToAsk(context, fleet);
  const found = await eachHost(
    hosts,
    ({ host, context: own }) => withClient(own, (client) => listTargets(client, words, context.stop, host.name)),
    context.stop,
  );
  for (const { host, failure } of found) if (failure !== undefined) context.note(`${host.name}: ${failure.message}`);
  const all = found.flatMap((one) => (one.failure === undefined ? one.value : []));
  const isWhole = found.every(({ failure }) => failure === undefined);
  const where = isWhole ? 'no selected host has it' : 'no host that answered has it';
  const targets = inOrder(selectObjects(words, all, where));
  await action.prepare?.(context, targets);
  const codes = await eachHost(
    hosts.filter(({ host }) => targets.some((one) => one.host === host.name)),
    ({ host, context: own }) =>
      withClient(own, (client) =>
        runOnEach(
          context,
          targets.filter((one) => one.host === host.name),
          (one) => action.act(own, client, one),
        ),
      ),
    context.stop,
  );
  return worstCode([
    failureCode(found),
    ...codes.flatMap((one) => (one.failure === undefined ? one.value : [one.failure.code])),
  ]);
}

/** A word without a slash is a container. */
const addressIn = (word: string, { verb, takesKinds }: Action<never>): string =>
  takesKinds === true
    ? parseContainerOrAddress(word, `gantry snapshot ${verb}`)
    : `container/${parseContainer(word, `gantry ${verb}`)}`;

async function listTargets(
  client: Client,
  words: readonly string[],
  signal: AbortSignal,
  host?: string,
): Promise<readonly Target[]> {
  const wanted = [...new Set(words.map((word) => word.slice(0, word.indexOf('/')) as KindName))];
  const { config } = (await client.server(signal)).metadata;
  const lists = wanted.map(async (kind) => {
    const objects: readonly object[] = await client.list(kind, signal);
    const isMeant = (live: object): boolean =>
      isMatchedByPatterns(kind, live) || words.includes(`${kind}/${nameOfObject(kind, live)}`);
    return objects.filter(isMeant).map((live): Target => {
      const name = nameOfObject(kind, live);
      const { status } = live as { readonly status?: string };
      return {
        kind,
        name,
        owners: ownersOf(kind, name, live, config),
        ...(kind === 'container' && status !== undefined ? { status } : {}),
        ...withoutUndefined({ host }),
      };
    });
  });
  return (await Promise.all(lists)).flat();
}

/** A pattern leaves out what exists on every server and cannot be deleted, and the notes of sets: only their name selects them. */
function isMatchedByPatterns(kind: KindName, live: object): boolean {
  if (kind === 'network') return (live as { readonly managed?: boolean }).managed !== false;
  if (kind !== 'profile' && kind !== 'project') return true;
  return !['default', notesProfile].includes(nameOfObject(kind, live));
}

const order = Object.keys(kinds).reverse();

/** Users come before the objects that they use. */
const inOrder = (targets: readonly Target[]): readonly Target[] =>
  targets.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));

/** One after the other; a failure is reported and the others follow. */
async function runOnEach(
  context: Command,
  targets: readonly Target[],
  act: (target: Target) => Promise<ActionResult>,
): Promise<readonly ExitCode[]> {
  const codes: ExitCode[] = [];
  for (const target of targets) {
    context.stop.throwIfAborted();
    try {
      const done = await act(target);
      printDone(context, target, done);
      codes.push(exitCodes.ok);
    } catch (error) {
      if (context.stop.aborted || (targets.length === 1 && target.host === undefined)) throw error;
      const reason = messageOf(error);
      printDone(context, target, { text: '', json: { error: reason }, note: `${addressOf(target)}: ${reason}` });
      codes.push(codeOf(error));
    }
  }
  return codes;
}

function printDone(context: Output, { kind, name, host }: Target, { text, json, note }: ActionResult): void {
  const where = host === undefined ? {} : { host };
  context.jsonObjects({ ...where, kind, name, ...json });
  if (text !== '') context.out(host === undefined ? text : `${host}: ${text}`);
  if (note !== undefined) context.note(note);
}
